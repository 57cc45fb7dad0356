"""Measures our engine and our service against the libraries that people use instead; not part of the tests."""
