"""Beam search: hypotheses, their scores, and the end of a search."""
