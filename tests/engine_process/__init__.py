"""The engine in processes of its own: the wire, the workers at its ends, and what happens when one of them goes."""
