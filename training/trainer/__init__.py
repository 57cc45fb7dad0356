"""The training loop, carried by Lightning."""
