"""Attention of a translation: alignments, maps for display, and quality signals read from them."""
