"""Checks of the project itself: files that must agree, and allowed imports.

`make lint` runs them, and so does `make test`.
"""
