"""What every import reads of a model's folder: JSON objects, checksums, language tags, the licence; and its error."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import langcodes
import yaml
from langcodes.tag_parser import LanguageTagError

from service.bundle.checksums import checksum_of


class ImportRefused(ValueError):
    """A model cannot be imported; the message has the file, what was found, and what is accepted."""


def require_room(folder: Path, needed: int, what: str, instead: str) -> None:
    """Raise ImportRefused if a disk has no room for so many bytes; ``what`` has ``{}`` in the place of their number."""
    place = next(ancestor for ancestor in (folder.absolute(), *folder.absolute().parents) if ancestor.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise ImportRefused(
            f"{place}: {what.format(f'{needed / 1e6:.0f} MB')}, and {free / 1e6:.0f} MB are free; make room, or name "
            f"{instead}"
        )


HEAD = 64
"""Bytes at the beginning of a file, which show what has come in its place."""


def refuse_placeholder(where: object, head: bytes) -> None:
    """Raise ImportRefused for what a download has brought in the place of a file."""
    if head.startswith(b"version https://git-lfs."):
        raise ImportRefused(
            f"{where}: it is a pointer of Git LFS in the place of the file; fetch the file with git lfs pull, or the "
            "model with translucent models get"
        )
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ImportRefused(f"{where}: it is a web page in the place of the file; download the file again")


_READ = (".json", ".spm", ".safetensors", ".bin", ".model", ".argosmodel", ".txt", ".md", ".gz", ".zst")


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; raises ImportRefused if there is no such file or object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ImportRefused(f"{path}: there is no such file; the folder of the model needs it") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path}: it is not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise ImportRefused(f"{path}: a JSON object is needed")
    return content


def read_optional_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, empty if there is no such file; raises ImportRefused as ``read_object``."""
    return read_object(path) if path.is_file() else {}


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a model's folder that an import may read, by name."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _READ]
    return {path.name: checksum_of(path) for path in files}


_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def language_tag(code: str, where: str) -> str:
    """Return the shortest BCP 47 tag of a language code: ``fra`` is ``fr``, ``cmn_Hans`` is ``zh-Hans``.

    Raises ImportRefused for anything else.
    """
    code = code.strip()
    if not _TAG.fullmatch(code):
        raise ImportRefused(f"{where}: {code!r} is no language code; give it as --from or --to, e.g. fr or pt-BR")
    try:
        return langcodes.standardize_tag(code, macro=True)
    except LanguageTagError as error:
        raise ImportRefused(
            f"{where}: {code!r} is no language code ({error}); give it as --from or --to, e.g. fr or pt-BR"
        ) from error


OPUS_LICENCE = "CC-BY-4.0"
_TEMPLATE = "apache-2.0"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---", re.DOTALL)


def stated_licence(folder: Path, given: str | None, opus: bool = False) -> str:
    """Return the licence that the caller gives, or that a model's card states; raises ImportRefused without either.

    The hub's converter wrote ``apache-2.0`` into every card of an ``opus`` model, while OPUS-MT publishes its models
    under CC BY 4.0: there the caller has to give the licence.
    """
    licence = given or card_licence(folder / "README.md")
    if licence is None:
        raise ImportRefused(f"{folder}: it does not state a licence; find it out and give it as --licence")
    if opus and not given and licence.lower() == _TEMPLATE:
        raise ImportRefused(
            f"{folder}: its card says {licence}, which the hub's converter wrote into every card, but OPUS-MT "
            f"publishes its models under {OPUS_LICENCE}; give the licence that you follow as --licence {OPUS_LICENCE}"
        )
    return licence


def card_licence(path: Path) -> str | None:
    """Return the licence in the front matter of a hub card; None if there is none."""
    if not path.is_file():
        return None
    match = _FRONT_MATTER.match(path.read_text(encoding="utf-8", errors="replace"))
    try:
        content = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return None
    licence = content.get("license") if isinstance(content, dict) else None
    return str(licence) if licence else None


def non_commercial(licence: str) -> bool:
    """Return whether a licence forbids commercial use."""
    return bool(re.search(r"\bnc\b|non-?commercial", licence, re.IGNORECASE))
