"""Beam search: hypotheses, their scores, and when a search ends."""
