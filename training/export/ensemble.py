"""Writes an ensemble: a bundle of a manifest, a card and graphs, which names models beside it whose weights it uses."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from service.bundle.ensemble import parse_ensemble
from service.bundle.load import Bundle, load_bundle
from service.bundle.manifest import FORMAT_VERSION, Manifest
from service.bundle.write import write_manifest
from training.export.graphs.network import GRAPH_KINDS
from training.export.joined import MemberGraph, joined_graph
from training.export.manifest import next_version
from training.export.running import ON_GPU, write_running

README = """# {name}

{names} decide together: each step of one search takes the mean of their log-probabilities. This folder has no
weights: the folders of its members stand beside it, and `manifest.json` says which versions they are. Their cards
([{first}](../{first}/README.md), …) say what they were trained on, with licences and credits, which hold here, too.

Made with `python -m training ensemble`, whose `--tests` adds scores to `manifest.json`;
docs/benchmarks/ensembles.md has what two models bring and cost.
"""


def write_ensemble(
    members: Sequence[Path],
    output: Path,
    version: str | None = None,
    scores: Sequence[Mapping[str, Any]] = (),
    weights: Sequence[float] = (),
    *,
    default: bool,
) -> Bundle:
    """Write an ensemble of bundles that stand beside it; raise ValueError or BundleError.

    One that is there already is replaced; it is then one version later.
    """
    folder = output.parent.resolve()
    if apart := [str(member) for member in members if member.resolve().parent != folder]:
        raise ValueError(f"{', '.join(apart)}: the members of an ensemble stand beside it, in {output.parent}")
    bundles = [load_bundle(member) for member in members]
    if misnamed := [str(bundle.folder) for bundle in bundles if bundle.folder.name != bundle.manifest.name]:
        raise ValueError(f"{', '.join(misnamed)}: the folder of a member has the name of its bundle")
    if weights and len(weights) != len(members):
        raise ValueError(f"{len(weights)} weights were given for {len(members)} members; give one for each, or none")
    named: list[dict[str, Any]] = [
        {"name": bundle.manifest.name, "version": bundle.manifest.version, "digest": bundle.digest}
        for bundle in bundles
    ]
    for bundle, weight in zip(named, weights, strict=False):
        bundle["weight"] = weight
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "name": output.name,
        "version": version or next_version(output),
        "members": named,
        "default": default,
        "decoding": bundles[0].manifest.raw["decoding"],
        "card": {"parameters": sum(bundle.manifest.card["parameters"] for bundle in bundles), "scores": [*scores]},
    }
    manifest = parse_ensemble(document | {"files": {}}, [bundle.manifest for bundle in bundles])
    graphs = {name: graph for precision in manifest.graphs for name, graph in _graphs(bundles, manifest, precision)}
    output.mkdir(exist_ok=True)
    for path in output.glob("*.onnx"):
        path.unlink()
    for name, graph in graphs.items():
        (output / name).write_bytes(graph)
    on_gpu = manifest.graphs.get(ON_GPU)
    if on_gpu is not None:
        write_running(output, on_gpu, manifest.special_ids)
    names = [bundle.manifest.name for bundle in bundles]
    text = README.format(name=output.name, names=" and ".join(names), first=names[0])
    readme = "\n\n".join(textwrap.fill(part, 100, break_on_hyphens=False) for part in text.split("\n\n")) + "\n"
    (output / "README.md").write_text(readme, encoding="utf-8")
    write_manifest(output, document)
    return load_bundle(output)


def _graphs(bundles: Sequence[Bundle], manifest: Manifest, precision: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the contents of the graphs that run all members in one precision."""
    for kind in GRAPH_KINDS:
        members = [
            MemberGraph(_model(bundle, precision, kind), bundle.folder.name, own.share)
            for bundle, own in zip(bundles, manifest.members, strict=True)
        ]
        name = getattr(manifest.graphs[precision], kind)
        yield name, joined_graph(kind, members).SerializeToString(deterministic=True)


def _model(bundle: Bundle, precision: str, kind: str) -> onnx.ModelProto:
    path = bundle.path(getattr(bundle.manifest.graphs[precision], kind))
    return onnx.load(str(path), load_external_data=False)
