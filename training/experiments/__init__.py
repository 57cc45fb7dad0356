"""Experiments over recipes: a grid of variants, and the report of a run."""
