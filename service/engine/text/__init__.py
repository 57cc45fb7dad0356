"""Text before and after the model: normalisation, segmentation into sentences, tokens."""
