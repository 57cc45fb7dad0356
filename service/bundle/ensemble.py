"""The manifest of an ensemble: it names other bundles, its members, and describes one model that they make together.

An ensemble has graphs, which run those of its members, and no weights of its own. Its members stand in folders beside
it, and their digests say which versions they are. Everything that its own manifest does not say is that of its members,
in which they must agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.bundle.confidence import Confidence
from service.bundle.errors import BundleIncompatible
from service.bundle.manifest import (
    TOKENIZER_NAME,
    ArraySpec,
    DecodingDefaults,
    GraphSet,
    Limits,
    Manifest,
    Member,
)

ARCHITECTURE = "ensemble"


def array_name(name: str, member: int) -> str:
    """Return the name that an array of a member has among those of all members; the first keeps its names."""
    return f"{name}@{member}" if member else name


def parse_ensemble(document: dict[str, Any], members: Sequence[Manifest]) -> Manifest:
    """Return the manifest of an ensemble that has passed check_manifest; raise BundleIncompatible.

    What the members need not agree in, such as how to wrap long sentences, is that of the first one.
    """
    first = members[0]
    for other in members:
        _check_alike(first, other)
    weights = [own.get("weight", 1.0) for own in document["members"]]
    named = tuple(
        Member(own["name"], own["version"], own["digest"], weight / sum(weights), each.attention)
        for own, weight, each in zip(document["members"], weights, members, strict=True)
    )
    limits = [each.limits for each in members]
    section = document.get("confidence")
    return replace(
        first,
        name=document["name"],
        version=document["version"],
        architecture=ARCHITECTURE,
        limits=Limits(min(own.source_tokens for own in limits), min(own.target_tokens for own in limits)),
        graphs=_joined_graphs(members),
        decoding=DecodingDefaults(**document["decoding"]),
        files=document["files"],
        card={"data": _data(members)} | document["card"],
        raw={"attention": first.raw["attention"]} | document,
        confidence=None if section is None else Confidence.of(section),
        members=named,
        may_be_default=document.get("default", True),
    )


def _check_alike(first: Manifest, other: Manifest) -> None:
    """Raise BundleIncompatible unless two members read and write the same tokens of the same languages."""
    if other.members:
        raise BundleIncompatible(f"its member {other.name} is an ensemble itself; name the members of that one")
    facts: dict[str, Callable[[Manifest], object]] = {
        "tokenizer": lambda each: each.files[TOKENIZER_NAME],
        "tokenizer of the target": lambda each: each.files.get(each.target_tokenizer or TOKENIZER_NAME),
        "vocabulary": lambda each: (each.vocabulary_size, each.special_ids, each.source_end),
        "languages": lambda each: (each.source_languages, each.targets),
    }
    for what, of in facts.items():
        if of(first) != of(other):
            raise BundleIncompatible(
                f"its members {first.name} and {other.name} differ in their {what}; "
                "only models of one vocabulary and language pair can decide together"
            )


def _joined_graphs(members: Sequence[Manifest]) -> Mapping[str, GraphSet]:
    """Return the graph sets that all members have, with the arrays of all; raise BundleIncompatible without any.

    File names are those of the first member.
    """
    joined: dict[str, GraphSet] = {}
    for precision, own in members[0].graphs.items():
        sets = [each.graphs[precision] for each in members if precision in each.graphs]
        if len(sets) < len(members) or len({each.device for each in sets}) > 1:
            continue
        if len({each.shortlist is None for each in sets}) > 1:
            raise BundleIncompatible("some of its members have a shortlist and others have none; export them alike")
        joined[precision] = replace(
            own,
            memory=tuple(_named(array, number) for number, each in enumerate(sets) for array in each.memory),
            state=tuple(_named(array, number) for number, each in enumerate(sets) for array in each.state),
        )
    if not joined:
        names = ", ".join(each.name for each in members)
        raise BundleIncompatible(f"its members {names} have no precision in common; export them in the same one")
    return joined


def _named(array: ArraySpec, member: int) -> ArraySpec:
    return replace(array, name=array_name(array.name, member))


def _data(members: Sequence[Manifest]) -> list[Mapping[str, Any]]:
    """Return the training data of all members, whose credits go with the ensemble, each with its largest size."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in (entry for each in members for entry in each.card.get("data", ())):
        if entry["name"] not in found or found[entry["name"]]["pairs"] < entry["pairs"]:
            found[entry["name"]] = entry
    return list(found.values())
