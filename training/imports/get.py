"""Fetches published models and adds their bundles, for `translucent models get`."""

import contextlib
import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import langcodes

from service.bundle.manifest import MANIFEST_NAME
from training.imports.add import AddOptions as AddOptions
from training.imports.add import ReadOptions as ReadOptions
from training.imports.add import add_model
from training.imports.argos import LANGUAGES
from training.imports.catalogue import Catalogue
from training.imports.catalogue import catalogues as catalogues
from training.imports.files import ImportRefused, language_tag, require_room
from training.imports.firefox import LICENCE
from training.imports.published import ListedFile, ListedModel, merged, ranking
from training.imports.source import ImportedModel, bundle_name

DOWNLOADS = ".downloads"
"""Below the folder of models: files that were fetched, whole or in part, until their bundle is written."""
_CLOSE = 5
"""Distance of two tags of one language, such as zh and zh-Hans, that may stand for each other (langcodes)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The user's choice among several models of a pair; None: the best one."""

    architecture: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be fetched, and from where."""

    model: ListedModel
    catalogue: Catalogue

    @property
    def pair(self) -> str:
        """Return the pair, for people."""
        return f"{self.model.source} → {self.model.target}"

    @property
    def licence(self) -> str | None:
        """Return the licence; None if only its package may state it."""
        return LICENCE if self.model.format == "firefox" else None

    @property
    def name(self) -> str:
        """Return the name of its bundle."""
        return bundle_name(self.model.format, self.model.source, self.model.target)

    def __str__(self) -> str:
        size = self.catalogue.size(self.model)
        scores = ", ".join(f"{metric} {score:.4g}" for metric, score in self.model.scores.items())
        return ", ".join(
            part
            for part in (
                f"{self.pair}: {self.model}",
                "size not stated" if size is None else f"{size / 1e6:.0f} MB",
                self.licence or "licence not stated in the list",
                f"FLORES: {scores}" if scores else "",
            )
            if part
        )


def offers(places: Sequence[Catalogue], warn: Callable[[str], None]) -> list[Offer]:
    """Return all models of catalogues; raises ImportRefused if none can be read."""
    listed: list[tuple[ListedModel, Catalogue]] = []
    refused: list[str] = []
    for catalogue in places:
        try:
            listed += [(model, catalogue) for model in catalogue.models()]
        except ImportRefused as error:
            refused.append(str(error))
    if not listed:
        reasons = "; ".join(refused) or "it names nothing"
        raise ImportRefused(
            f"{reasons}. TRANSLUCENT_MODELS_INDEX names another address, or a folder with lists and files"
        )
    for reason in refused:
        warn(reason)
    of = {id(model.weights): catalogue for model, catalogue in listed}
    return [Offer(model, of[id(model.weights)]) for model in merged([model for model, _ in listed])]


def pairs_of(offered: Sequence[Offer]) -> dict[tuple[str, str], list[Offer]]:
    """Return the offers of each pair, the best first."""
    pairs: dict[tuple[str, str], list[Offer]] = {}
    for offer in offered:
        pairs.setdefault((offer.model.source, offer.model.target), []).append(offer)
    for some in pairs.values():
        rank = ranking([offer.model for offer in some])
        some.sort(key=lambda offer: rank(offer.model), reverse=True)
    return dict(sorted(pairs.items()))


def choose(offered: Sequence[Offer], source: str, target: str, query: Wanted, pivot: str | None) -> list[Offer]:
    """Return the model of a pair, or the two of its legs through the pivot language.

    Raises ImportRefused, with what there is, if no model fits.
    """
    asked = [language_tag(LANGUAGES.get(code, code), "models get") for code in (source, target)]
    direct = _fitting(offered, asked[0], asked[1], query)
    if direct:
        return direct[:1]
    legs = [_fitting(offered, *leg, query)[:1] for leg in ((asked[0], pivot), (pivot, asked[1]))] if pivot else []
    if legs and all(legs):
        return [offer for leg in legs for offer in leg]
    others = _fitting(offered, asked[0], asked[1], Wanted())
    if others:
        choices = ", ".join(str(offer.model) for offer in others)
        raise ImportRefused(f"no such model from {source} to {target} is listed; there are: {choices}")
    raise ImportRefused(
        f"no model from {source} to {target} is listed"
        + (f", nor both of {source}-{pivot} and {pivot}-{target}" if pivot and pivot not in asked else "")
        + "; translucent models available shows all"
    )


def into(offered: Sequence[Offer], target: str, query: Wanted) -> list[Offer]:
    """Return the best model of each pair into a language; raises ImportRefused if there is none."""
    asked = language_tag(LANGUAGES.get(target, target), "models get")
    sources = [source for source, to in pairs_of(offered) if _same(asked, to)]
    chosen = [offer for source in sources for offer in _fitting(offered, source, asked, query)[:1]]
    if not chosen:
        raise ImportRefused(f"no model into {target} is listed; translucent models available shows all")
    return chosen


def _fitting(offered: Sequence[Offer], source: str, target: str, query: Wanted) -> list[Offer]:
    """Return the models of a pair that the user may mean, those with the very tags first, then the best first."""
    fitting = [
        offer
        for (one, second), some in pairs_of(offered).items()
        if _same(source, one) and _same(target, second)
        for offer in some
        if query.architecture in (None, offer.model.architecture) and query.format in (None, offer.model.format)
    ]
    return sorted(fitting, key=lambda offer: (offer.model.source, offer.model.target) != (source, target))


def _same(asked: str, listed: str) -> bool:
    one, second = langcodes.get(asked), langcodes.get(listed)
    return one.language == second.language and langcodes.tag_distance(asked, listed) <= _CLOSE


def is_installed(offer: Offer, models: Path, name: str | None = None) -> bool:
    """Return whether the folder of models has this very model already."""
    try:
        manifest = json.loads((models / (name or offer.name) / MANIFEST_NAME).read_text("utf-8"))
        return bool(manifest["card"]["imported"]["published"] == offer.model.identity)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def get_model(offer: Offer, models: Path, options: AddOptions) -> tuple[Path, ImportedModel]:
    """Fetch a model and add its bundle; return its folder, and the model.

    Raises ImportRefused; then no bundle has changed, and whole files that were fetched are used by the next try.
    """
    model = offer.model
    require_room(models, offer.catalogue.size(model) or 0, "the download has {}", "another folder of models")
    with _downloads(models, model) as folder:
        for file in model.files:
            path = folder / _name(model, file)
            if not path.exists():
                offer.catalogue.fetch(file, path)
        package = folder / _name(model, model.weights) if model.format == "argos" else folder
        read_options = replace(options.known, source=(model.source,), target=(model.target,))
        added = add_model(package, models, replace(options, known=read_options, listed=model))
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
    return added


def _name(model: ListedModel, file: ListedFile) -> str:
    """Return the name of a file on this machine, of which nothing comes from the list but languages."""
    ending = {"package": "argosmodel"}.get(file.kind, "spm" if "vocab" in file.kind else "bin")
    return f"{file.kind}.{model.source}-{model.target}.{ending}"


@contextlib.contextmanager
def _downloads(models: Path, model: ListedModel) -> Iterator[Path]:
    """Give the folder for the files of a model, to one process at a time."""
    description = json.dumps(
        [(file.kind, file.base, file.path, file.sha256, file.unpacked_sha256) for file in model.files]
    )
    folder = models / DOWNLOADS / hashlib.sha256(description.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ImportRefused(f"{folder}: another `models get` is fetching this model; wait for it") from error
        yield folder
