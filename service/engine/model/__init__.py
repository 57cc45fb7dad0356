"""Running a model's graphs with ONNX Runtime: sessions, devices, decoder state."""
