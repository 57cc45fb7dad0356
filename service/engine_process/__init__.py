"""Runs the engine in separate processes: Python runs one thread of a process at a time, and HTTP would delay it."""
