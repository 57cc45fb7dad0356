"""The client side, in the HTTP process: starts engine processes and calls them."""
