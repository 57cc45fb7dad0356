"""The tables of scores in README.md and models/README.md, from the cards of the shipped bundles."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"en": "English", "fr": "French", "de": "German"}
NETWORKS = {"transformer": "Transformer", "bahdanau": "recurrent network with additive attention"}
TEST_SETS = ("tatoeba", "newstest2014", "flores101")


def manifests() -> dict[str, dict[str, Any]]:
    """Return the manifests of the shipped models that were trained, by name: an ensemble has only members."""
    paths = sorted(ROOT.glob("models/*/manifest.json"))
    found = {path.parent.name: json.loads(path.read_text("utf-8")) for path in paths}
    return {name: manifest for name, manifest in found.items() if "members" not in manifest}


@dataclass(frozen=True, slots=True)
class Bundle:
    """What the tables say about one bundle."""

    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    @property
    def directions(self) -> list[str]:
        """Return its pairs as the names of test sets end, such as en-fr."""
        sources = self.manifest["source_languages"]
        return [f"{source}-{self.manifest['target_language']}" for source in sources]

    def score(self, test_set: str, direction: str, metric: str = "BLEU") -> float:
        """Return a score of the card."""
        wanted = (f"{test_set}.{direction}", metric)
        scores: list[dict[str, Any]] = self.manifest["card"]["scores"]
        return next(float(one["score"]) for one in scores if (one["test_set"], one["metric"]) == wanted)

    def cell(self, test_set: str, metric: str = "BLEU") -> str:
        """Return the score of every direction; its language precedes each if there are several."""
        scores = {each.partition("-")[0]: self.score(test_set, each, metric) for each in self.directions}
        prefixes = {language: f"{language} " if len(scores) > 1 else "" for language in scores}
        return ", ".join(f"{prefixes[language]}{score:.1f}" for language, score in scores.items())


def bundles() -> list[Bundle]:
    """Return the bundles that translate, Transformers first."""
    found = [Bundle(manifest) for manifest in manifests().values()]
    return sorted(found, key=lambda bundle: (bundle.directions[0][:2] != "en", bundle.directions, bundle.name[::-1]))


def scores() -> str:
    """Return the table of the README: the best model of each direction."""
    rows = ["| BLEU | tatoeba-test | newstest2014 | flores101 |", "|---|---|---|---|"]
    for direction in ("en-fr", "en-de", "fr-en", "de-en"):
        models = [bundle for bundle in bundles() if direction in bundle.directions]
        best = max(models, key=lambda bundle: mean(bundle.score(one, direction) for one in TEST_SETS))
        source, target = direction.split("-")
        cells = " | ".join(f"{best.score(one, direction):.1f}" for one in TEST_SETS)
        rows.append(f"| {NAMES[source]} → {NAMES[target]} | {cells} |")
    return "\n".join(rows) + "\n"


def models() -> str:
    """Return the table of models/README.md."""
    titles = ["bundle", "version", "network", "parameters", "everyday, chrF", "tatoeba-test", *TEST_SETS[1:]]
    rows = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for bundle in bundles():
        manifest = bundle.manifest
        parameters = f"{manifest['card']['parameters'] / 1e6:.1f} million"
        cells = [f"`{bundle.name}`", manifest["version"], NETWORKS[manifest["architecture"]], parameters]
        cells += [bundle.cell("everyday", "chrF"), *(bundle.cell(one) for one in TEST_SETS)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
