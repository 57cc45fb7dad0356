"""Lazy loading: models are opened at their first use, and closed when memory runs short."""
