"""Imported models against the implementations that they come from."""
