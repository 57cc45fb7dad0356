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
    Manifest,
    Member,
    TokenLimits,
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
    for member in members:
        _check_alike(first, member)
    weights = [entry.get("weight", 1.0) for entry in document["members"]]
    named = tuple(
        Member(entry["name"], entry["version"], entry["digest"], weight / sum(weights), member.attention)
        for entry, weight, member in zip(document["members"], weights, members, strict=True)
    )
    limits = [member.limits for member in members]
    section = document.get("confidence")
    return replace(
        first,
        name=document["name"],
        version=document["version"],
        architecture=ARCHITECTURE,
        limits=TokenLimits(min(limit.source_tokens for limit in limits), min(limit.target_tokens for limit in limits)),
        graphs=_joined_graphs(members),
        decoding=DecodingDefaults(**document["decoding"]),
        files=document["files"],
        card={"data": _data(members)} | document["card"],
        raw={"attention": first.raw["attention"]} | document,
        confidence=None if section is None else Confidence.of(section),
        members=named,
        may_be_default=document.get("default", True),
    )


def _check_alike(first: Manifest, second: Manifest) -> None:
    """Raise BundleIncompatible unless two members read and write the same tokens of the same languages."""
    if second.members:
        raise BundleIncompatible(f"its member {second.name} is an ensemble itself; name the members of that one")
    facts: dict[str, Callable[[Manifest], object]] = {
        "tokenizer": lambda manifest: manifest.files[TOKENIZER_NAME],
        "tokenizer of the target": lambda manifest: manifest.files.get(manifest.target_tokenizer or TOKENIZER_NAME),
        "vocabulary": lambda manifest: (manifest.vocabulary_size, manifest.special_ids, manifest.source_end),
        "languages": lambda manifest: (manifest.source_languages, manifest.source_prefixes, manifest.targets),
    }
    for what, of in facts.items():
        if of(first) != of(second):
            raise BundleIncompatible(
                f"its members {first.name} and {second.name} differ in their {what}; "
                "only models of one vocabulary and language pair can decide together"
            )


def _joined_graphs(members: Sequence[Manifest]) -> Mapping[str, GraphSet]:
    """Return the graph sets that all members have, with the arrays of all; raise BundleIncompatible without any.

    File names are those of the first member.
    """
    joined: dict[str, GraphSet] = {}
    for precision, first_graphs in members[0].graphs.items():
        sets = [member.graphs[precision] for member in members if precision in member.graphs]
        if len(sets) < len(members) or len({graph_set.device for graph_set in sets}) > 1:
            continue
        if len({graph_set.shortlist is None for graph_set in sets}) > 1:
            raise BundleIncompatible("some of its members have a shortlist and others have none; export them alike")
        joined[precision] = replace(
            first_graphs,
            memory=tuple(_named(array, number) for number, graph_set in enumerate(sets) for array in graph_set.memory),
            state=tuple(_named(array, number) for number, graph_set in enumerate(sets) for array in graph_set.state),
        )
    if not joined:
        names = ", ".join(member.name for member in members)
        raise BundleIncompatible(f"its members {names} have no precision in common; export them in the same one")
    return joined


def _named(array: ArraySpec, member: int) -> ArraySpec:
    return replace(array, name=array_name(array.name, member))


def _data(members: Sequence[Manifest]) -> list[Mapping[str, Any]]:
    """Return the training data of all members, whose credits go with the ensemble, each with its largest size."""
    data: dict[str, Mapping[str, Any]] = {}
    for entry in (entry for member in members for entry in member.card.get("data", ())):
        if entry["name"] not in data or data[entry["name"]]["pairs"] < entry["pairs"]:
            data[entry["name"]] = entry
    return list(data.values())
