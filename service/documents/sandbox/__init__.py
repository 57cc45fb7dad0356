"""Strangers' documents are read and written in processes of their own, within limits; what they cost ends with them.

The server asks a zygote, which has loaded the libraries of the formats, for a child for each document.
"""
