"""The contract between training and service: the format of a bundle, and the rules that both sides follow.

`training` may import this package and nothing else of the service; it needs neither torch, ONNX Runtime nor HTTP.
"""

SERVICE = __name__.rpartition(".")[0]  # for `python -m`: an installed wheel has another name than a checkout
