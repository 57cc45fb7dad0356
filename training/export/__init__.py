"""Turns a trained network into a bundle: ONNX graphs over one weights file, a manifest and a model card."""

import os

# ONNX Runtime's Linux packages send telemetry unless this is set before the first import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
