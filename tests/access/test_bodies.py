"""Request bodies share a limited amount of memory."""

from __future__ import annotations

from service.access.bodies import Bodies


def test_an_address_gets_a_quarter_and_all_of_them_the_whole() -> None:
    bodies = Bodies(limit=400, largest=50)
    assert bodies.reserve("a", 60)
    assert bodies.reserve("a", 40)
    assert not bodies.reserve("a", 1)
    for other in "bcd":
        assert bodies.reserve(other, 100)
    assert not bodies.reserve("e", 1)
    bodies.release("a", 60)
    assert bodies.reserve("e", 60)
    assert bodies.held == 400


def test_the_largest_body_fits_whatever_the_limit() -> None:
    bodies = Bodies(limit=10, largest=50)
    assert bodies.reserve("a", 50)
    assert not bodies.reserve("b", 1)
    bodies.release("a", 50)
    assert bodies.reserve("b", 50)
