"""Which language a text is in, of those that the models of a folder translate: `--from auto`, and without `--from`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from service.bundle.load import read_bundle
from service.bundle.repository import find_bundles
from service.cli.find_model import ModelQuery, folder_of
from service.cli.lines import STANDARD
from service.cli.options import say
from service.detection import Detector, has_evidence
from service.engine import InvalidInput, Languages, ModelSettings, info_of

AUTO = "auto"
SAMPLE = 8192  # bytes


def served_languages(models_dir: Path, pivot: str | None = None) -> Languages:
    """Return the languages of a folder of models; raise BundleError."""
    bundles = find_bundles(models_dir, read_bundle)
    return Languages.of([info_of(bundle, ModelSettings("cpu")) for bundle in bundles], pivot)


def sample_of(path: Path | None) -> str:
    """Return the beginning of a file of lines; standard input is looked into and stays to be read."""
    try:
        if path is None or path == STANDARD:
            peek = getattr(sys.stdin.buffer, "peek", None)
            data = b"" if peek is None else peek(SAMPLE)
        else:
            with path.open("rb") as file:
                data = file.read(SAMPLE)
    except OSError as error:
        raise InvalidInput(f"the input {path} cannot be read: {error.strerror}.") from error
    return data.decode("utf-8", "ignore")


def with_source(wanted: ModelQuery, models_dir: Path, sample: Callable[[], str]) -> ModelQuery:
    """Return a query with the language of a text as its source if that is to be detected.

    It is with `auto`; without a source if several are possible, of a named model too, or if the text is surely not in
    the only one. Raise InvalidInput if the language is not recognised or not translated, and BundleError.
    """
    is_auto = (wanted.source or "").lower() == AUTO
    if not is_auto and (wanted.source or not (wanted.model or wanted.target)):
        return wanted
    target: str | None = wanted.target
    if wanted.model and not is_auto:
        folder = folder_of(wanted.model, models_dir)
        info = info_of(read_bundle(folder), ModelSettings("cpu")) if folder else None
        if info is None or len(info.targets) > 1:
            return wanted
        known, target = Languages.of([info]), info.target_language
    else:
        known = served_languages(models_dir, wanted.pivot)
    direct = sorted({source for source in known.targets if known.pair(source, target or source, direct=True)})
    text = sample()
    if not is_auto and (not has_evidence(text) or not direct):
        return wanted
    detector = Detector(known.primary)
    sources = [each for each in direct if each != known.match(target or "")]
    if not is_auto and len(sources) == 1:
        found = detector.other_than(text, sources[0])
        if found is None:
            return wanted
        source = known.primary(found)
        if source is None or source == known.match(target or "") or not known.pair(source, target or ""):
            raise InvalidInput(
                f"The text seems to be in another language ({found}), which is not translated into {target} here. "
                f"--from {sources[0]} translates it all the same."
            )
    else:
        guess = detector.detect(text)[0]
        source = guess.language if guess.confidence else None
        if source is None and is_auto:
            raise InvalidInput(
                f"The language of the text was not recognised; name it with --from: {', '.join(sorted(known.targets))}."
            )
        if source is None:
            return wanted
    say(f"detected {source}")
    return replace(wanted, source=source)
