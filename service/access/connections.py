"""The number of open connections, in total and of each address, and its limits; without HTTP."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from service.access.addresses import Network, client_address, is_trusted

MOST_OF_ADDRESS = 512  # for IPv6: of one /64 network
Refusal = Literal["too_many_connections", "too_many_from_address"]


@dataclass(eq=False, slots=True)
class ConnectionPlace:
    """The place of one open connection; `network` is None if its address has no limit."""

    network: str | None
    close: Callable[[], None]
    held: bool = True


class Connections:
    """Counts open connections; at the limit, the connection that has been idle for longest is closed."""

    def __init__(self, limit: int, trusted: Sequence[Network] = (), address_limit: int = MOST_OF_ADDRESS) -> None:
        """Set the limits; `trusted` proxies have no address limit, because they connect for many clients."""
        self._limit = limit
        self._address_limit = address_limit
        self._trusted = trusted
        self._of_network: Counter[str] = Counter()
        self._idle: dict[ConnectionPlace, None] = {}  # in the order in which they became idle
        self.open = 0

    def enter(self, peer: str | None, close: Callable[[], None]) -> ConnectionPlace | Refusal:
        """Return a place for a new, idle connection, or the refusal. `close` is called to make room later."""
        network = None if is_trusted(peer, self._trusted) else client_address(peer, (), ())
        if network is not None and self._of_network[network] >= self._address_limit:
            return "too_many_from_address"
        if self.open >= self._limit and not self._make_room():
            return "too_many_connections"
        place = ConnectionPlace(network, close)
        self.open += 1
        if network is not None:
            self._of_network[network] += 1
        self._idle[place] = None
        return place

    def leave(self, place: ConnectionPlace) -> None:
        """Release a place; a second call has no effect."""
        if not place.held:
            return
        place.held = False
        self._idle.pop(place, None)
        self.open -= 1
        if place.network is not None:
            self._of_network[place.network] -= 1
            if not self._of_network[place.network]:
                del self._of_network[place.network]

    def idle(self, place: ConnectionPlace) -> None:
        """Record that a connection waits for the head of a request from now on."""
        if place.held:
            self._idle.pop(place, None)
            self._idle[place] = None

    def busy(self, place: ConnectionPlace) -> None:
        """Record that a request is being answered on a connection."""
        self._idle.pop(place, None)

    def _make_room(self) -> bool:
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.close()
        return True
