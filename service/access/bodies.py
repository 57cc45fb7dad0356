"""The memory that the bodies of all requests may use together."""

from __future__ import annotations

from collections import Counter

SHARE = 4  # one address may use a quarter of the whole


class Bodies:
    """Counts the bytes of bodies in memory; one address cannot use all of it."""

    def __init__(self, limit: int, largest: int) -> None:
        """Allow `limit` bytes, in which one body of the `largest` size always fits."""
        self._limit = max(limit, largest)
        self._share = max(limit // SHARE, largest)
        self._of_address: Counter[str] = Counter()
        self.held = 0

    def reserve(self, address: str, size: int) -> bool:
        """Reserve bytes for an address; return False and reserve nothing if they do not fit."""
        if self.held + size > self._limit or self._of_address[address] + size > self._share:
            return False
        self.held += size
        self._of_address[address] += size
        return True

    def release(self, address: str, size: int) -> None:
        """Release reserved bytes."""
        self.held -= size
        self._of_address[address] -= size
        if not self._of_address[address]:
            del self._of_address[address]
