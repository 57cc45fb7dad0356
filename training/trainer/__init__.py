"""The training loop, which is built on Lightning."""
