"""Imports pretrained translators: OPUS-MT (MarianMT), CTranslate2 and Argos models become bundles."""
