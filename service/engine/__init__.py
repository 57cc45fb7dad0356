"""The translation engine as a library: text in, translation out, no HTTP."""

import os

# ONNX Runtime's Linux packages report to their maker unless this is set before the first import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
