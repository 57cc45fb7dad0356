"""Serves translation models: an engine library, an HTTP API over it, and a command line."""

__version__ = "0.1.0"
