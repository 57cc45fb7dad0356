"""Recognises a downloaded model and adds its bundle to a folder of models, for `translucent models add`.

Nothing here needs PyTorch: int8 graphs are compared with the float graphs of the same model in ONNX Runtime.
"""

import errno
import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from training.export.compare import ParityError
from training.export.manifest import next_version
from training.imports.argos import METADATA, read_argos
from training.imports.bundle import ImportOptions, write_import
from training.imports.ctranslate2 import MODEL, Ctranslate2Options, read_ctranslate2
from training.imports.files import ImportRefused as ImportRefused
from training.imports.firefox import TEST_SETS, FirefoxOptions, read_firefox
from training.imports.published import ListedModel
from training.imports.source import Format, ImportedModel

SOURCE_MODELS, TARGET_MODELS = ("source.spm", "sentencepiece.model", "spm.model"), ("target.spm",)
"""Names of SentencePiece models that people put beside a CTranslate2 model."""


@dataclass(frozen=True, slots=True)
class AddOptions:
    """What the user says of the model; everything may be left out if its files say it."""

    name: str | None = None
    """The bundle's name; None: format and languages, such as ``firefox-en-es``."""
    source: str | None = None
    target: str | None = None
    spm: Path | None = None
    """For CTranslate2: the SentencePiece model of the source, and of the target if it has no own one."""
    target_spm: Path | None = None
    licence: str | None = None
    listed: ListedModel | None = None
    """The entry of the list that the model was fetched by."""
    gate: bool = True
    """Whether a model whose graphs do not agree is refused; else its card says so."""
    seven_bits: bool = False
    """For Firefox: see ``FirefoxOptions``."""
    text: Sequence[str] = ()
    """Sentences of the source language, which make int8 faster."""


def add_model(path: Path, models: Path, options: AddOptions) -> tuple[Path, ImportedModel]:
    """Write the bundle of a downloaded model into a folder of models; return its folder, and the model.

    Raises ImportRefused in one sentence for what cannot be added.
    """
    if options.name is not None and not _NAME.fullmatch(options.name):
        raise ImportRefused(
            f"{options.name[:64]!r} cannot be a bundle's name: up to 64 letters, digits, dots, hyphens and underscores "
            "can, the first of them a letter or a digit"
        )
    found = format_of(path)
    model = _READERS[found](path, options)
    name = options.name or bundle_name(found, model.source_languages[0], model.targets[0].language)
    output = models / name
    made = ImportOptions(options.text, next_version(output), gate=options.gate)
    try:
        return write_import(replace(_as_listed(model, options.listed), name=name), output, made), model
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


def bundle_name(format_: str, source: str, target: str) -> str:
    """Return the name of a bundle whose user gives none."""
    return f"{format_}-{source}-{target}".lower()


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
        raise ImportRefused(
            f"{path}: it is a checkpoint of PyTorch, which is read in the training environment: "
            f"python -m training import opus-mt {path} --output models/{path.resolve().name}"
        )
    if any(path.glob("*.npz")):
        raise ImportRefused(
            f"{path}: it is a model of Marian (.npz), as Helsinki publishes OPUS-MT; make a CTranslate2 folder of it "
            f"(ct2-opus-mt-converter --model_dir {path} --output_dir FOLDER), put its .spm files there, and add that"
        )
    raise ImportRefused(
        f"{path}: it is no model that can be added: Firefox (model.….bin), CTranslate2 ({MODEL}) or Argos "
        f"({METADATA}, model/{MODEL})"
    )


def _firefox(path: Path, options: AddOptions) -> ImportedModel:
    return read_firefox(
        path, FirefoxOptions("firefox", options.source, options.target, options.licence, options.seven_bits)
    )


def _argos(path: Path, options: AddOptions) -> ImportedModel:
    return read_argos(path, None, options.licence)


def _ctranslate2(path: Path, options: AddOptions) -> ImportedModel:
    if options.source is None or options.target is None:
        raise ImportRefused(f"{path}: a CTranslate2 model does not say its languages; give --from and --to")
    source = options.spm or _first(path, SOURCE_MODELS)
    target = options.target_spm or (None if options.spm else _first(path, TARGET_MODELS))
    known = Ctranslate2Options("ctranslate2", (options.source,), (options.target,), source, target, options.licence)
    return read_ctranslate2(path, known)


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


_READERS = {"firefox": _firefox, "argos": _argos, "ctranslate2": _ctranslate2}
