"""The contract between training and service: the format of a bundle, and the rules that both sides follow.

`training` may import this package and nothing else of the service; it needs neither torch, ONNX Runtime nor HTTP.
"""
