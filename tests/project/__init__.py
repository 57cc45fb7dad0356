"""Checks of the project itself: files that must agree, and who may import whom.

`make lint` runs them, and so does `make test`.
"""
