"""Trains translation models with attention and exports them as bundles."""

__version__ = "0.1.0"
