"""Published lists of models, read as they are: Mozilla's records of Remote Settings and `models.json`, Argos' index.

Everything in a list comes from a stranger: what has another form is left out, and a path never leads upwards.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from training.imports.argos import LANGUAGES
from training.imports.files import ImportRefused, language_tag

NEWEST = 3
"""Major version of Firefox's models; a later one may have files of another form."""
ARCHITECTURES = ("tiny", "base-memory", "base")
"""Of Firefox's models, each better and larger than the one before."""
METRICS = {"comet": "COMET", "comet22": "COMET", "chrf": "chrF", "bleu": "BLEU"}
"""Of `models.json`, the most telling first, and as a model card names them."""
_KINDS = {"model": "model", "lexicalShortlist": "lex", "vocab": "vocab", "srcVocab": "srcvocab", "trgVocab": "trgvocab"}
_EVERYBODY = ("", "env.appinfo.OS == 'Android'", "env.appinfo.OS != 'Android'")
"""Filters of records that are released; others are for people who test Firefox."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a model, as a list names it."""

    kind: str
    """`model`, `lex`, `vocab`, `srcvocab`, `trgvocab`, or `package` for Argos."""
    path: str
    """Its path below `base`, and in a folder that mirrors the list."""
    base: str = ""
    """The address that the list states; empty: none."""
    size: int | None = None
    """Bytes, packed as it is."""
    sha256: str | None = None
    """Packed as it is."""
    unpacked_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that can be fetched."""

    format: Literal["firefox", "argos"]
    source: str
    """A BCP 47 tag, as the target's."""
    target: str
    files: tuple[ListedFile, ...]
    architecture: str = ""
    version: str = ""
    variant: str = ""
    released: bool = True
    scores: Mapping[str, float] = field(default_factory=dict)
    """What its authors measured on FLORES, by metric of the card."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the version as numbers; a version before a release (`3.0a1`) comes before it."""
        parts = [part.partition("a")[0] for part in self.version.split(".")]
        return *(int(part) if part.isdecimal() else -1 for part in parts), -("a" in self.version)

    @property
    def size(self) -> int | None:
        """Return the bytes of all files; None if the list does not say them all."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size)

    @property
    def weights(self) -> ListedFile:
        """Return the file that makes the model another one."""
        return next(file for file in self.files if file.kind in ("model", "package"))

    @property
    def identity(self) -> dict[str, str]:
        """Return the entries of a card by which the same model is known again."""
        named = {"architecture": self.architecture, "version": self.version, "variant": self.variant}
        return {name: value for name, value in named.items() if value} | {"path": self.weights.path}

    def __str__(self) -> str:
        parts = (self.format, self.architecture, self.variant, self.version)
        return " ".join(part for part in parts if part) + ("" if self.released else " (not released)")


def read_list(content: Any, where: str, base: str = "") -> list[ListedModel]:
    """Return the models of a list; raises ImportRefused for what is none of the three.

    `base`: the address of the files, where the list does not state it.
    """
    models: list[ListedModel] = []
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        models = [*_of_records(_objects(content["data"]), base, where)]
    elif isinstance(content, dict) and isinstance(content.get("models"), dict):
        stated = content.get("baseUrl")
        models = [*_of_registry(content["models"], f"{stated}/" if isinstance(stated, str) else base, where)]
    elif isinstance(content, list):
        models = [*_of_argos(_objects(content), where)]
    if not models:
        raise ImportRefused(
            f"{where}: it is no list of models: records of Firefox's Remote Settings, Mozilla's models.json or Argos' "
            "index.json can be read"
        )
    return models


def merged(models: Sequence[ListedModel]) -> list[ListedModel]:
    """Return the models of several lists, each once, with the scores that any of the lists states.

    The first list that has a model says where its files are.
    """
    scores = {sha256: model.scores for model in models if model.scores and (sha256 := model.weights.unpacked_sha256)}
    kept: list[ListedModel] = []
    seen: set[tuple[str, str, str]] = set()
    for model in models:
        sha256 = model.weights.unpacked_sha256 or ""
        key = model.source, model.target, sha256
        if not sha256 or key not in seen:
            kept.append(replace(model, scores=model.scores or scores.get(sha256, {})))
        seen.add(key)
    return kept


def ranking(models: Sequence[ListedModel]) -> Callable[[ListedModel], tuple[Any, ...]]:
    """Return what a model of a pair is compared by with the others; the best one has the largest.

    Released ones come before others, Firefox's before Argos', which states neither scores nor licences. Then the
    scores decide if all have one of the same metric, else the architecture, then the newer version.
    """
    firefox = [model for model in models if model.format == "firefox" and model.released]
    metric = next((name for name in METRICS.values() if all(name in model.scores for model in firefox)), "")

    def key(model: ListedModel) -> tuple[Any, ...]:
        supported = model.architecture in ARCHITECTURES
        rank = ARCHITECTURES.index(model.architecture) if supported else -1
        plain = model.released, not model.variant, model.format == "firefox"
        return *plain, model.scores.get(metric, 0.0), rank, model.numbers

    return key


def _of_records(records: Sequence[Mapping[str, Any]], base: str, where: str) -> Iterator[ListedModel]:
    """Yield a model for each group of records that have all in common but the kind of file."""
    groups: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for record in sorted(records, key=lambda record: _number(record, "last_modified") or 0):
        languages = [_text(record, new) or _text(record, old) for new, old in _LANGUAGES]
        names = [_text(record, name) for name in ("architecture", "version", "variant", "filter_expression")]
        if isinstance(record.get("attachment"), dict):
            groups.setdefault((*languages, *names), {})[_text(record, "fileType")] = record
    for (source, target, architecture, version, variant, filters), group in groups.items():
        files = [_of_record(kind, record, base, where) for kind, record in group.items() if kind in _KINDS.values()]
        made = _firefox((source, target), files, architecture=architecture, version=version, variant=variant,
                        released=filters in _EVERYBODY)  # fmt: skip
        if made is not None and made.numbers[0] <= NEWEST:
            yield made


_LANGUAGES = (("sourceLanguage", "fromLang"), ("targetLanguage", "toLang"))
"""As the second and the first version of the records call them."""


def _of_record(kind: str, record: Mapping[str, Any], base: str, where: str) -> ListedFile:
    attachment, unpacked = record["attachment"], _text(record, "decompressedHash")
    path = _path(_text(attachment, "location") or _text(attachment, "filename"), where)
    return ListedFile(kind, path, base, _number(attachment, "size"), _text(attachment, "hash") or None,
                      unpacked or None)  # fmt: skip


def _of_registry(pairs: Mapping[str, Any], base: str, where: str) -> Iterator[ListedModel]:
    for entry in _objects([entry for entries in pairs.values() if isinstance(entries, list) for entry in entries]):
        listed = entry["files"] if isinstance(entry.get("files"), dict) else {}
        files = [
            ListedFile(kind, _path(_text(listed[name], "path"), where), base,
                       unpacked_sha256=_text(listed[name], "uncompressedHash") or None)
            for name, kind in _KINDS.items() if isinstance(listed.get(name), dict)
        ]  # fmt: skip
        sets = entry["metrics"] if isinstance(entry.get("metrics"), dict) else {}
        metrics: dict[str, Any] = next(
            (scores for name, scores in sets.items() if name.startswith("flores") and isinstance(scores, dict)), {}
        )
        scores = {METRICS[name]: float(value) for name, value in metrics.items()
                  if name in METRICS and isinstance(value, int | float)}  # fmt: skip
        made = _firefox(
            (_text(entry, "sourceLanguage"), _text(entry, "targetLanguage")),
            files,
            architecture=_text(entry, "architecture"),
            released=_text(entry, "releaseStatus").startswith("Release"),
            scores=scores,
        )
        if made is not None:
            yield made


def _firefox(pair: tuple[str, str], files: Sequence[ListedFile], **known: Any) -> ListedModel | None:
    """Return a model if its languages are some and no file is missing."""
    kinds = {file.kind for file in files}
    try:
        source, target = (language_tag(code, "") for code in pair)
    except ImportRefused:
        return None
    if "model" not in kinds or not ("vocab" in kinds or {"srcvocab", "trgvocab"} <= kinds):
        return None
    return ListedModel("firefox", source, target, tuple(files), **known)


def _of_argos(packages: Sequence[Mapping[str, Any]], where: str) -> Iterator[ListedModel]:
    for package in packages:
        links = package["links"] if isinstance(package.get("links"), list) else []
        link = next((link for link in links if str(link).startswith(("https:", "http:"))), None)
        try:
            source, target = (language_tag(LANGUAGES.get(code, code), "")
                              for code in (_text(package, "from_code"), _text(package, "to_code")))  # fmt: skip
        except ImportRefused:
            continue  # a package of another kind, such as one that only splits sentences
        if link:
            address = urlsplit(str(link))
            file = ListedFile(
                "package", _path(address.path.lstrip("/"), where), f"{address.scheme}://{address.netloc}/"
            )
            yield ListedModel("argos", source, target, (file,), version=_text(package, "package_version"))


def _objects(entries: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [entry for entry in entries if isinstance(entry, dict)]


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _number(entry: Mapping[str, Any], name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and value >= 0 else None


def _path(path: str, where: str) -> str:
    """Return a path of a list; raises ImportRefused for one that leads out of its folder."""
    if not path or path.startswith("/") or "\\" in path or ".." in PurePosixPath(path).parts or ":" in path:
        raise ImportRefused(f"{where}: it names the file {path!r}; a path below the list's address is needed")
    return path
