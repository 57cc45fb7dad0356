"""Shared by tests: fakes, small models, servers as processes, polling.

Test modules import from here, never from each other.
"""
