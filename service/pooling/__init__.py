"""Attention pooling (kernel regression) on a data set of its own: the smallest model with attention weights."""
