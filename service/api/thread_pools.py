"""The threads of the HTTP side: one pool for each kind of work, so that none starves another; all of them bounded."""

from __future__ import annotations

from service.engine import BoundedPool

DETECTION = BoundedPool("language detection", 2, 2048)
REPRESENTATIONS = BoundedPool("large answers", 2, 32)  # CSV, JSON, pages: megabytes each, so few are made at a time
