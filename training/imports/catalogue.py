"""Where models are fetched from: published lists at addresses, or a folder that mirrors them."""

import contextlib
import glob
import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from training.imports.download import Downloader, is_listed
from training.imports.files import HEAD, ImportRefused, refuse_placeholder
from training.imports.published import ListedFile, ListedModel, read_list

MOST_BYTES = 64 << 20
"""Of a list."""
PACKED = (".gz", ".zst")
_RECORDS = "/buckets/"
"""What an address of Remote Settings has behind the address of its server."""


class Address:
    """A list at an address."""

    def __init__(self, url: str) -> None:
        self._url, self._downloader = url, Downloader(url)

    def models(self) -> list[ListedModel]:
        """Return the models of the list; raises ImportRefused in one sentence."""
        content = _parsed(self._downloader.content(self._url, MOST_BYTES), self._url)
        return read_list(content, self._url, self._base())

    def _base(self) -> str:
        """Return where the files are if the list does not say: for Remote Settings, what its server states."""
        server, separator, _ = self._url.partition(_RECORDS)
        if not separator:
            return urljoin(self._url, ".")
        with contextlib.suppress(ImportRefused, KeyError, TypeError):
            stated = _parsed(self._downloader.content(f"{server}/", MOST_BYTES), server)
            return f"{str(stated['capabilities']['attachments']['base_url']).rstrip('/')}/"
        return urljoin(self._url, "/")

    def size(self, model: ListedModel) -> int | None:
        """Return the bytes that the list or the server says; None if neither does."""
        sizes = [
            self._downloader.size(file.base + file.path) if file.size is None else file.size for file in model.files
        ]
        return None if None in sizes else sum(size for size in sizes if size)

    def fetch(self, file: ListedFile, path: Path) -> None:
        """Put a file at a path, whole and as the list says; raises ImportRefused."""
        self._downloader.fetch(file, path)


class Folder:
    """Lists in a folder, with the files by the paths that the lists name; or one list of a folder."""

    def __init__(self, path: Path) -> None:
        """Take the folder, or one list in it."""
        self._lists = [path] if path.is_file() else sorted(path.glob("*.json"))
        self._where, self._folder = path, path.parent if path.is_file() else path

    def models(self) -> list[ListedModel]:
        """Return the models of all lists in the folder."""
        listed: list[ListedModel] = []
        refused = ImportRefused(f"{self._where}: there is no such file or folder with lists (.json) of models")
        for path in self._lists:
            try:
                listed += read_list(_parsed(path.read_bytes(), str(path)), str(path))
            except ImportRefused as error:
                refused = error
        if not listed:
            raise refused
        return listed

    def size(self, model: ListedModel) -> int | None:
        """Return the bytes of the files in the folder."""
        return sum(self.find(file).stat().st_size for file in model.files)

    def fetch(self, file: ListedFile, path: Path) -> None:
        """Put a link to a file."""
        path.symlink_to(self.find(file).resolve())

    def find(self, file: ListedFile) -> Path:
        """Return where a file is: at the list's own path, packed as there or not, else the only one of its name.

        Raises ImportRefused for a file that is missing, is another one, or could be any of several.
        """
        listed = Path(file.path)
        plain = listed.with_suffix("") if listed.suffix in PACKED else listed
        names = dict.fromkeys((listed.name, plain.name, *(plain.name + ending for ending in PACKED)))
        placed = [self._folder / listed.with_name(name) for name in names]
        paths = [path for path in placed if path.is_file()]
        paths = paths or [path for name in names for path in sorted(self._folder.rglob(glob.escape(name)))]
        stated = file.sha256 or file.unpacked_sha256
        right = [path for path in paths if is_listed(path, file)]
        if len(right) == 1 or (right and stated):
            return right[0]
        if not paths:
            raise ImportRefused(f"{self._folder}: {plain.name} is missing; the list has it at {file.base}{file.path}")
        if right:
            raise ImportRefused(
                f"{self._folder}: it has {len(right)} files {plain.name}; put the right one where the list has it: "
                f"{file.path}"
            )
        raise ImportRefused(
            f"{paths[0]}: its SHA-256 is not the one of the list; download {file.base}{file.path} again"
        )


Catalogue = Address | Folder
"""Published models, and their files."""


def catalogues(places: str) -> list[Catalogue]:
    """Return the catalogues of the setting: addresses, files and folders, separated by commas."""
    entries = [place.strip() for place in places.split(",") if place.strip()]
    return [Address(entry) if "://" in entry else Folder(Path(entry)) for entry in entries]


def _parsed(content: bytes, where: str) -> Any:
    refuse_placeholder(where, content[:HEAD])
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{where}: it is not valid JSON") from error
