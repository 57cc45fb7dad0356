"""The ONNX graphs of both networks: one builder, blocks that they share, and the arithmetic of each precision."""
