"""The formats: one module each, with a function `read`."""
