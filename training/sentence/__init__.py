"""Sentence encoders: structured self-attentive embeddings (Lin et al. 2017, 1703.03130), and others on reviews."""
