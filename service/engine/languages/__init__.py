"""Language tags, and which of several models translates a pair by default."""
