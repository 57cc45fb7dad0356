"""How much of the memory bodies of requests may take up together."""

from __future__ import annotations

from collections import Counter

SHARE = 4  # what one address may have at most is this part of the whole


class Bodies:
    """Counts the bytes of bodies that are held; no address may take up all of the room."""

    def __init__(self, limit: int, largest: int) -> None:
        """Return room for `limit` bytes, in which one body of the `largest` size always fits."""
        self._limit = max(limit, largest)
        self._share = max(limit // SHARE, largest)
        self._of_address: Counter[str] = Counter()
        self.held = 0

    def take(self, address: str, size: int) -> bool:
        """Take room for bytes of an address; False, and nothing taken, where there is none."""
        if self.held + size > self._limit or self._of_address[address] + size > self._share:
            return False
        self.held += size
        self._of_address[address] += size
        return True

    def give_back(self, address: str, size: int) -> None:
        """Give room back."""
        self.held -= size
        self._of_address[address] -= size
        if not self._of_address[address]:
            del self._of_address[address]
