"""Benchmarks of our engine and our service against the usual libraries; not part of the tests."""
