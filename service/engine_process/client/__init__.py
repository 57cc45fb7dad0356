"""The side of the process that answers HTTP: starts engine processes and calls them."""
