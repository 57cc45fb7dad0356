"""The two networks, as in their papers."""
