"""The threads that make large answers: a separate pool, so that other work does not wait for them."""

from __future__ import annotations

from service.engine import BoundedPool

EMBEDDINGS = BoundedPool("embeddings", 1, 256)  # the embedding model: its runs share one thread
REPRESENTATIONS = BoundedPool("large answers", 2, 32)  # CSV, JSON, pages: megabytes each, so few are made at a time
