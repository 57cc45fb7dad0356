"""Captions of pictures by attention (Xu et al. 2015, 1502.03044), in a made-up world of shapes."""
