"""The engine in processes of its own: Python lets one thread of a process run at a time, and HTTP would hold it up."""
