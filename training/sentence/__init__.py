"""Structured self-attentive sentence embeddings (Lin et al. 2017, arXiv 1703.03130): trained, exported, evaluated."""
