"""The translation engine as a library: text in, translation out, no HTTP."""
