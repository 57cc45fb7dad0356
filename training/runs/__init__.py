"""A run folder: its files, the record of what it was prepared from, and its stages of training."""
