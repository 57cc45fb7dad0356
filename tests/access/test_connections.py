"""Which clients get a connection when there are many."""

from service.access.addresses import parse_networks
from service.access.connections import ConnectionPlace, Connections


def entered(connections: Connections, peer: str, closed: list[str] | None = None) -> ConnectionPlace:
    """Return the place of one more connection; fail if there is none."""
    place = connections.enter(peer, lambda: (closed if closed is not None else []).append(peer))
    assert isinstance(place, ConnectionPlace)
    return place


def refusal(connections: Connections, peer: str) -> object:
    return connections.enter(peer, lambda: None)


def test_an_address_has_its_share_and_gets_it_back() -> None:
    connections = Connections(limit=10, address_limit=2)
    first = entered(connections, "192.0.2.1")
    entered(connections, "::ffff:192.0.2.1")
    assert refusal(connections, "192.0.2.1") == "too_many_from_address"
    entered(connections, "192.0.2.2")
    connections.leave(first)
    connections.leave(first)
    entered(connections, "192.0.2.1")
    assert refusal(connections, "192.0.2.1") == "too_many_from_address"
    assert connections.open == 3


def test_an_ipv6_network_counts_as_one_address_and_a_trusted_proxy_brings_the_connections_of_many() -> None:
    connections = Connections(limit=10, address_limit=1, trusted=parse_networks("10.0.0.0/8"))
    for address in ("2001:db8:1:2::1", "2001:db8:1:3::1", "10.0.0.1", "10.0.0.1"):
        entered(connections, address)
    assert refusal(connections, "2001:db8:1:2:ffff::9") == "too_many_from_address"


def test_a_full_house_closes_what_has_been_idle_for_longest_and_refuses_where_everybody_is_busy() -> None:
    connections = Connections(limit=3, address_limit=10)
    closed: list[str] = []
    places = [entered(connections, f"192.0.2.{number}", closed) for number in range(3)]
    connections.busy(places[0])
    connections.idle(places[1])  # again, so number 2 has been idle for longer
    last = entered(connections, "198.51.100.1", closed)
    assert closed == ["192.0.2.2"]
    connections.leave(places[2])  # as its connection does when it is lost
    assert connections.open == 3
    for place in (places[1], last):
        connections.busy(place)
    assert refusal(connections, "198.51.100.1") == "too_many_connections"
