"""Which address a call counts for."""

import pytest

from service.access.addresses import client_address, parse_networks

PROXIES = parse_networks("10.0.0.0/8, ::1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),  # not from a proxy of ours: a claim
        ("10.0.0.1", ["203.0.113.5", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),  # two proxies, two headers, one claim
        ("10.0.0.1", ["203.0.113.5, 198.51.100.7:1234, 10.0.0.2:80"], "198.51.100.7"),  # as Azure's gateway writes it
        ("10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:x"], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.2"], "10.0.0.2"),
        ("::1", ["198.51.100.7"], "198.51.100.7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["[2001:db8:1:2::3]:1234"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["[2001:db8:1:2::3]"], "2001:db8:1:2::/64"),
        (None, ["198.51.100.7"], "unknown"),
        ("testclient", [], "unknown"),
    ],
)
def test_only_what_trusted_proxies_wrote_is_believed(peer: str | None, forwarded: list[str], expected: str) -> None:
    assert client_address(peer, forwarded, PROXIES) == expected


def test_networks_are_checked() -> None:
    assert parse_networks("") == ()
    with pytest.raises(ValueError, match="example"):
        parse_networks("example.org")
