"""Word alignments: links, gold standards, error rates, and the attention heads they are read from."""
