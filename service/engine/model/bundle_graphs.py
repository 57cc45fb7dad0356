"""The graphs of a bundle as a model opens them: those of its files, or of an ensemble those of its members joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from service.bundle.load import Bundle
from service.bundle.shortlist import ShortlistArrays, read_shortlist
from service.engine.errors import BundleCorrupt
from service.engine.model.joined_graphs import MemberGraph, joined_encoder, joined_scoring, joined_step
from service.engine.model.shortlist import Shortlist
from service.engine.model.step_graph import scored_always


class BundleGraphs:
    """The graphs of a bundle in one precision; a graph is a file, or the content of one."""

    def __init__(self, bundle: Bundle, precision: str) -> None:
        self._bundle, self._precision = bundle, precision
        self._members = bundle.members or (bundle,)
        self._shares = [member.share for member in bundle.manifest.members] or [1.0]
        self.weights = bundle.folder.parent if bundle.members else bundle.folder
        """The folder from which a graph that is given as its content names the files of its weights."""

    def encoder(self) -> Path | bytes:
        """Return the encoder; raise BundleCorrupt, or BundleIncompatible for members that cannot be joined."""
        return self._graph("encoder", joined_encoder)

    def decoder(self) -> Path | bytes:
        """Return the decoder's step; raise the errors of `encoder`."""
        return self._graph("decoder", joined_step)

    def scoring(self) -> Path | bytes:
        """Return the graph that scores translations; raise the errors of `encoder`."""
        return self._graph("forced", joined_scoring)

    def scoring_of(self, member: int) -> MemberGraph:
        """Return the graph with which a member alone scores translations; 0 is the first, or the only one."""
        return self._of_member(member, "forced")

    def shortlist(self, step: Path | bytes, pad: int) -> Shortlist | None:
        """Return the shortlists of sentences for a step, whose tokens may be those of any member; None: it has none."""
        files = [member.manifest.graphs[self._precision].shortlist for member in self._members]
        arrays = [
            read_shortlist(member.path(name), member.manifest.vocabulary_size)
            for member, name in zip(self._members, files, strict=True)
            if name is not None
        ]
        if not arrays:
            return None
        always = np.concatenate([each.always for each in arrays])
        likely = np.concatenate([each.likely for each in arrays], axis=1)
        return Shortlist(ShortlistArrays(always, likely), pad, scored_always(content_of(step), self.weights))

    def _graph(self, kind: str, joined: Callable[[Sequence[MemberGraph]], bytes]) -> Path | bytes:
        if self._bundle.members:
            return joined([self._of_member(number, kind) for number in range(len(self._members))])
        return self._path(self._bundle, kind)

    def _of_member(self, number: int, kind: str) -> MemberGraph:
        member = self._members[number]
        return MemberGraph(content_of(self._path(member, kind)), member.folder, self._shares[number])

    def _path(self, member: Bundle, kind: str) -> Path:
        name: str = getattr(member.manifest.graphs[self._precision], kind)
        return member.path(name)


def content_of(graph: Path | bytes) -> bytes:
    """Return the content of a graph; raise BundleCorrupt if its file cannot be read."""
    try:
        return graph.read_bytes() if isinstance(graph, Path) else graph
    except OSError as error:
        raise BundleCorrupt(f"{graph!s}: cannot be read ({error.strerror}).") from error
