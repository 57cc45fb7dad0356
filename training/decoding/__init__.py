"""Translating with a PyTorch network: greedy and beam search, as the service searches."""
