"""Translation with a PyTorch network: greedy and beam search that work as in the service."""
