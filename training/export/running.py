"""Writes the graphs of a running batch on a GPU into a bundle, made of the graph of its step (`graphs.choice`)."""

import json
from pathlib import Path
from typing import Any

import onnx

from service.bundle.ensemble import parse_ensemble
from service.bundle.load import load_bundle
from service.bundle.manifest import MANIFEST_NAME, GraphSet, SpecialIds, parse_manifest
from service.bundle.write import write_manifest
from training.export.graphs.choice import join_graph, run_graph
from training.export.manifest import graph_file

ON_GPU = "fp16"
"""The precision of graphs for a GPU."""


def write_running(folder: Path, graphs: GraphSet, special: SpecialIds) -> dict[str, str]:
    """Write both graphs beside the others; return the entries of the manifest that name them."""
    step = onnx.load_model(str(folder / graphs.decoder), load_external_data=False)
    files = {kind: graph_file(kind, ON_GPU) for kind in ("run", "join")}
    for kind, model in (("run", run_graph(step, graphs, special)), ("join", join_graph(graphs))):
        (folder / files[kind]).write_bytes(model.SerializeToString(deterministic=True))
    return files


def is_ensemble(folder: Path) -> bool:
    """Return whether a bundle names others, which have the weights."""
    return "members" in _document(folder)


def add_running(folder: Path) -> bool:
    """Write the graphs for a GPU of a bundle that has none, or others; return whether it has any of this precision.

    Nothing else changes but the manifest. An ensemble comes after its members, whose present versions it then names.
    """
    document = _document(folder)
    if "members" in document:
        members = [load_bundle(folder.parent / member["name"]) for member in document["members"]]
        for named, member in zip(document["members"], members, strict=True):
            named["digest"] = member.digest
        manifest = parse_ensemble(document, [member.manifest for member in members])
    else:
        manifest = parse_manifest(document)
    if ON_GPU not in manifest.graphs:
        return False
    files = write_running(folder, manifest.graphs[ON_GPU], manifest.special_ids)
    if "graphs" in document:
        document["graphs"][ON_GPU] |= files
    write_manifest(folder, document)
    load_bundle(folder)
    return True


def _document(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    return document
