"""Encoders of sentences, structured self-attention (Lin et al. 2017, 1703.03130) among them, compared on reviews."""
