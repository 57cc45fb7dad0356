"""Which models are in memory: each is opened once it is needed, and closed when memory runs short or its place goes."""
