"""The graphs of a bundle as a model opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime

from service.bundle.load import Bundle
from service.bundle.shortlist import SCORED, ShortlistArrays, read_shortlist
from service.engine.errors import BundleCorrupt
from service.engine.model.shortlist import Shortlist


class BundleGraphs:
    """The graphs of a bundle in one precision."""

    def __init__(self, bundle: Bundle, precision: str) -> None:
        self._bundle, self._precision = bundle, precision
        self._members = bundle.members or (bundle,)
        self.weights = bundle.folder.parent if bundle.members else bundle.folder
        """The folder from which a graph that is given as its content names the files of its weights."""

    def graph(self, kind: Literal["encoder", "decoder", "forced", "run", "join"]) -> Path | bytes:
        """Return a graph as its file or, where its weights are in other folders, as its content."""
        name: str = getattr(self._bundle.manifest.graphs[self._precision], kind)
        return _content(self._bundle.folder / name) if self._bundle.members else self._bundle.path(name)

    def explain(self, member: int) -> Path | None:
        """Return the graph that explains the weights of a member, or of the only model; None: there is none."""
        bundle = self._members[member]
        name = bundle.manifest.graphs[self._precision].explain
        return None if name is None else bundle.path(name)

    def shortlist(self, step: onnxruntime.InferenceSession, pad: int) -> Shortlist | None:
        """Return the shortlists of sentences for a step, whose tokens may be those of any member; None: it has none."""
        files = [member.manifest.graphs[self._precision].shortlist for member in self._members]
        arrays = [
            read_shortlist(member.path(name), member.manifest.vocabulary_size)
            for member, name in zip(self._members, files, strict=True)
            if name is not None
        ]
        if not arrays:
            return None
        always = np.concatenate([array.always for array in arrays])
        likely = np.concatenate([array.likely for array in arrays], axis=1)
        scored = step.get_modelmeta().custom_metadata_map.get(SCORED, "").split()
        return Shortlist(ShortlistArrays(always, likely), pad, np.array(scored, np.int64))


def _content(path: Path) -> bytes:
    """Return the content of a graph; raise BundleCorrupt if its file cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleCorrupt(f"{path}: cannot be read ({error.strerror}).") from error
