"""Our engine against CTranslate2 (Transformer) and PyTorch (Bahdanau) on the same weights and sentences."""
