"""A folder as another revision of this repository has it: the models that the shipped ones began from."""

import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from training.network_config import Section


class GitFolder(Section):
    """A folder in the history of the repository that one works in."""

    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """The whole hash, so that a clone without history can fetch this revision alone."""
    path: Path
    """Relative to the working directory, as every path of a starting point."""


Place = Annotated[
    Annotated[Path, Tag("folder")] | Annotated[GitFolder, Tag("git")],
    Discriminator(lambda value: "git" if isinstance(value, (dict, GitFolder)) else "folder"),
]
"""A folder of the working tree, or of another revision."""


def local_folder(place: Path | GitFolder, downloads: Path) -> Path:
    """Return a folder to read; one of another revision is taken out of git into ``downloads``, once.

    Raises FileNotFoundError, with what to do, if git does not have it.
    """
    if isinstance(place, Path):
        return place
    folder = downloads / f"{place.path.name}-{place.revision[:8]}"
    if not folder.exists():
        downloads.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=downloads) as name:
            archive = Path(name) / "archive.tar"
            _write_archive(place, archive)
            with tarfile.open(archive) as content:
                content.extractall(name, filter="data")
            if not folder.exists():  # another process may have been first
                (Path(name) / place.path).rename(folder)
    return folder


def _write_archive(place: GitFolder, archive: Path) -> None:
    command = ["git", "archive", f"--output={archive}", place.revision, "--", place.path.as_posix()]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{place.path} of revision {place.revision} needs git, which is not installed"
        ) from error
    except subprocess.CalledProcessError as error:
        raise FileNotFoundError(
            f"git does not have {place.path} of revision {place.revision} ({error.stderr.strip()}). A clone without "
            f"history gets it with `git fetch --depth 1 origin {place.revision}`"
        ) from error
