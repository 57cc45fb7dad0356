"""Documents in, documents out: formats, safe reading, translation in small windows, and jobs on disk.

A format extracts segments as fragments (text with numbered inline tags), and writes their translations back.
"""
