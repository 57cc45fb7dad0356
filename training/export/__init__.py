"""Turns a trained network into a bundle: ONNX graphs over one weights file, a manifest and a model card."""
