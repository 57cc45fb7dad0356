"""Jobs: the translation of documents in the background, kept on disk."""
