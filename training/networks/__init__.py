"""The two networks, as their papers describe them."""
