"""Recognises a downloaded model and adds its bundle to a folder of models, for `translucent models add`.

Nothing here needs PyTorch: int8 graphs are compared with the float graphs of the same model in ONNX Runtime.
"""

import errno
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from training.export.compare import ParityError
from training.export.manifest import next_version
from training.imports.argos import METADATA, read_argos
from training.imports.bundle import ImportOptions, write_import
from training.imports.ctranslate2 import MODEL, read_ctranslate2
from training.imports.files import ImportRefused as ImportRefused
from training.imports.files import read_optional_object
from training.imports.firefox import TEST_SETS, read_firefox
from training.imports.opennmt import ENDINGS, refusal_of
from training.imports.published import ListedModel
from training.imports.source import Format, ImportedModel, Reader
from training.imports.source import ReadOptions as ReadOptions

READERS: dict[Format, Reader] = {"firefox": read_firefox, "argos": read_argos, "ctranslate2": read_ctranslate2}
"""The readers that need no PyTorch."""


@dataclass(frozen=True, slots=True)
class AddOptions:
    """What the user says of the model, and how its bundle is made."""

    known: ReadOptions = field(default_factory=ReadOptions)
    listed: ListedModel | None = None
    """The entry of the list that the model was fetched by."""
    gate: bool = True
    """Whether a model whose graphs do not agree is refused; else its card says so."""
    text: Sequence[str] = ()
    """Sentences of the source language, which make int8 faster."""


def read_model(path: Path, options: ReadOptions, readers: Mapping[Format, Reader] = READERS) -> ImportedModel:
    """Read a downloaded model of any format; raises ImportRefused in one sentence for what cannot be imported."""
    file_format = format_of(path)
    if file_format not in readers:
        raise ImportRefused(
            f"{path}: it is a checkpoint of PyTorch, which is read in the training environment: "
            f"python -m training import {path} --output models/{path.resolve().name}"
        )
    return readers[file_format](path, options)


def add_model(path: Path, models: Path, options: AddOptions) -> tuple[Path, ImportedModel]:
    """Write the bundle of a downloaded model into a folder of models; return its folder, and the model.

    Raises ImportRefused in one sentence for what cannot be added.
    """
    name = options.known.name
    if name is not None and not _NAME.fullmatch(name):
        raise ImportRefused(
            f"{name[:64]!r} cannot be a bundle's name: up to 64 letters, digits, dots, hyphens and underscores "
            "can, the first of them a letter or a digit"
        )
    model = read_model(path, options.known)
    output = models / model.name
    made = ImportOptions(options.text, next_version(output), gate=options.gate)
    try:
        return write_import(_as_listed(model, options.listed), output, made), model
    except ParityError as error:
        failed = "; ".join(line for line in str(error).splitlines() if "FAIL" in line)
        raise ImportRefused(
            f"{path}: its int8 graphs do not do what its float graphs do, so it was not added; --no-gate adds it, and "
            f"its card says so. {failed}"
        ) from error
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise ImportRefused(
            f"{tempfile.gettempdir()} or {models}: no space is left; make room, or name other places by TMPDIR and "
            "--models-dir"
        ) from error


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""As the manifest's schema has it."""


def _as_listed(model: ImportedModel, listed: ListedModel | None) -> ImportedModel:
    """Return a model with what its list says of it."""
    if listed is None:
        return model
    stated = {f"{TEST_SETS[0]} {metric.lower()}": score for metric, score in listed.scores.items()}
    origin = replace(
        model.origin, name=f"{listed} {listed.source}-{listed.target}", published=listed.identity,
        stated={**model.origin.stated, **stated},
    )  # fmt: skip
    return replace(model, origin=origin)


def format_of(path: Path) -> Format:
    """Return the format of a downloaded model by its files; raises ImportRefused for all that cannot be added."""
    if path.is_file() and path.suffix in ENDINGS:
        raise refusal_of(path)
    if path.is_file() and zipfile.is_zipfile(path):
        return "argos"
    if not path.is_dir():
        missing = "there is no such file or folder" if not path.exists() else "it is no package"
        raise ImportRefused(f"{path}: {missing}; the folder of a downloaded model, or an .argosmodel, is needed")
    if (path / METADATA).is_file() and (path / "model" / MODEL).is_file():
        return "argos"
    if (path / MODEL).is_file():
        return "ctranslate2"
    if any(path.glob("model.*.bin*")):
        return "firefox"
    if (path / "pytorch_model.bin").is_file() or any(path.glob("*.safetensors")):
        is_m2m = read_optional_object(path / "config.json").get("model_type") == "m2m_100"
        return "m2m-100" if is_m2m else "opus-mt"
    raise _refusal(path)


def _refusal(path: Path) -> ImportRefused:
    """Return why a folder of no format is refused, with what to do about it."""
    if any(path.glob("*.npz")):
        return ImportRefused(
            f"{path}: it is a model of Marian (.npz), as Helsinki publishes OPUS-MT; make a CTranslate2 folder of it "
            f"(ct2-opus-mt-converter --model_dir {path} --output_dir FOLDER), put its .spm files there, and add that"
        )
    for checkpoint in sorted(path.iterdir()):
        if checkpoint.suffix in ENDINGS:
            return refusal_of(checkpoint)
    return ImportRefused(
        f"{path}: it is no model that can be added: Firefox (model.….bin), CTranslate2 ({MODEL}) or Argos "
        f"({METADATA}, model/{MODEL})"
    )
