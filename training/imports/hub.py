"""Fetches models from the Hugging Face hub, or from a mirror that speaks its protocol (``HF_ENDPOINT``)."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from training.imports.checkpoint import PICKLE, SAFETENSORS, SAFETENSORS_INDEX
from training.imports.files import ImportRefused

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SMALL = ("*.json", "*.spm", "*.model", "README.md")


def fetch_model(source: str, revision: str | None = None) -> Path:
    """Return the path of a model: ``source`` itself where it is one, else the hub's files in the local cache.

    Downloads are resumed, shown with a progress bar, and compared with the hub's checksums; cached files are not
    fetched again. ``HF_ENDPOINT``, ``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` work as everywhere. Raises
    ImportRefused.
    """
    path = Path(source)
    if path.exists():
        return path
    if not _NAME.fullmatch(source):
        raise ImportRefused(f"{source}: there is no such file or folder, and it is no name such as ORGANISATION/MODEL")
    return _download(source, revision)


def _download(name: str, revision: str | None) -> Path:
    # Imported here: it takes half a second, which no other command has to pay.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        if constants.is_offline_mode():
            return _cached(name, revision)
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*_SMALL, *_weights(name, revision)]))
        _check(name, folder)
        return folder
    except RevisionNotFoundError as error:
        raise ImportRefused(f"{name}: it has no revision {revision!r} at {constants.ENDPOINT}") from error
    except RepositoryNotFoundError as error:
        raise ImportRefused(
            f"{name}: there is no such model at {constants.ENDPOINT}, or it needs a key (HF_TOKEN)"
        ) from error
    except ImportRefused:
        raise
    except Exception as error:  # those of its HTTP client, which is another one from version to version
        reason = str(error).splitlines()[0]
        raise ImportRefused(
            f"{name}: it could not be fetched from {constants.ENDPOINT} ({reason}); give a folder, or run the command "
            "again, which goes on where it stopped"
        ) from error


def _cached(name: str, revision: str | None) -> Path:
    """Return what earlier runs have fetched; the cache is told the same files, or it misses the other formats."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    for weights in (SAFETENSORS, "model-*.safetensors", PICKLE):
        try:
            names = [*_SMALL, weights]
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=names, local_files_only=True))
        except LocalEntryNotFoundError:
            continue
        if any(folder.glob(weights)):
            return folder
    raise ImportRefused(f"{name}: HF_HUB_OFFLINE is set, and the local cache does not hold the whole model")


def _weights(name: str, revision: str | None) -> Sequence[str]:
    """Return the files of one checkpoint: a model often has its weights in several formats."""
    from huggingface_hub import HfApi

    files = HfApi().list_repo_files(name, revision=revision)
    if SAFETENSORS in files:
        return [SAFETENSORS]
    return ["model-*.safetensors"] if SAFETENSORS_INDEX in files else [PICKLE]


def _check(name: str, folder: Path) -> None:
    """Compare every file with the hub's checksum; raise ImportRefused after deleting those that differ."""
    from huggingface_hub import HfApi

    damaged = HfApi().verify_repo_checksums(name, revision=folder.name).mismatches
    for file in damaged:
        (folder / file["path"]).resolve().unlink()
    if damaged:
        names = ", ".join(file["path"] for file in damaged)
        raise ImportRefused(f"{name}: {names} arrived damaged; it was deleted, so run the command again")
