"""The values of a sentence as constraints on the tokens of its translation, and the trie of their tokens.

Each value has forms: sequences of tokens, for the start of a word and perhaps for its inside. The forms of all values
make one trie. A hypothesis is at one of its nodes, with the set of the values that it has written. At the root any
token may follow, except the reserved ones, which only values may hold. Inside a value only its next tokens may follow.
A node may end one value and be on the way to another (1 and 12): the next token decides.

A soft value, such as a term, consists of ordinary words. A hypothesis may leave it before its end or continue its last
word ("pays" in "paysage"); the value is still to be written then.
"""

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

MOST_VALUES = 24  # of one sentence: a set of values is a number of 64 bits, and a search with more would be slow
MOST_FORMS = 500  # of all values of a sentence together
ROOT = 0


@dataclass(frozen=True, slots=True)
class TokenClasses:
    """The classes of a vocabulary's tokens that the search needs: a bit for each token, as numpy.packbits packs it."""

    size: int
    digits: bytes  # tokens with a decimal digit
    openers: bytes  # tokens after which a value may follow without a space, such as brackets
    continuing: bytes  # tokens that continue a word


class Form(NamedTuple):
    """One way to write a value: its tokens, and whether they follow the token before them without a space."""

    tokens: tuple[int, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class ValueConstraints:
    """The values that a translation must hold exactly once each, in the order of the source."""

    forms: tuple[tuple[Form, ...], ...]  # of each value
    whole_words: tuple[bool, ...]  # whether no letter may follow the value
    digits_reserved: bool  # whether tokens with digits may stand in values only
    classes: TokenClasses
    soft: tuple[bool, ...] = ()  # whether the tokens of a value may stand outside of it too, as those of terms do

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return every token of every form, which a shortlist must hold."""
        return tuple(sorted({token for forms in self.forms for form in forms for token in form.tokens}))


Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Node:
    """A node of the trie: where tokens lead, and the values that end here (a bit each)."""

    following: dict[tuple[int, bool], int] = field(default_factory=dict)
    ends: int = 0


class Edge(NamedTuple):
    """An edge of the trie."""

    start: int
    token: int
    end: int
    values: int  # bits of the values whose forms take it
    inside: bool  # only after an opening token, from the root


@functools.lru_cache(maxsize=64)
def unpacked(classes: bytes, size: int) -> Flags:
    """Return one flag for each token of a vocabulary."""
    flags: Flags = np.unpackbits(np.frombuffer(classes, np.uint8), count=size).astype(bool)
    return flags


@dataclass(frozen=True, slots=True)
class Automaton:
    """The trie of a sentence's values as lists: edges by their number, and the values that end at each node."""

    edges: tuple[Edge, ...]
    ends: tuple[int, ...]
    whole_words: int  # bits of the values that no letter may follow
    soft: int  # bits of the values whose tokens may stand elsewhere
    soft_nodes: tuple[bool, ...]  # the nodes on the way to soft values alone
    every: int  # the bits of all values


def compile_values(constraints: ValueConstraints) -> Automaton:
    """Return the automaton of a sentence's values."""
    nodes = [_Node()]
    values: dict[tuple[int, int, bool], int] = {}
    for number, forms in enumerate(constraints.forms):
        for form in forms:
            at = ROOT
            for place, token in enumerate(form.tokens):
                key = token, form.inside and place == 0
                if key not in nodes[at].following:
                    nodes[at].following[key] = len(nodes)
                    nodes.append(_Node())
                edge = at, *key
                values[edge] = values.get(edge, 0) | 1 << number
                at = nodes[at].following[key]
            nodes[at].ends |= 1 << number
    edges = tuple(
        Edge(start, token, end, values[start, token, inside], inside)
        for start, node in enumerate(nodes)
        for (token, inside), end in node.following.items()
    )
    closed = sum(1 << number for number, whole in enumerate(constraints.whole_words) if whole)
    soft = sum(1 << number for number, is_soft in enumerate(constraints.soft) if is_soft)
    through = [0] * len(nodes)
    for each in edges:
        through[each.end] |= each.values
    soft_nodes = tuple(bits != 0 and bits & ~soft == 0 for bits in through)
    every = (1 << len(constraints.forms)) - 1
    return Automaton(edges, tuple(node.ends for node in nodes), closed & ~soft, soft, soft_nodes, every)
