"""Keys and limits without HTTP."""
