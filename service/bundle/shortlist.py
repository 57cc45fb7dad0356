"""The shortlist file of a bundle: the likely target tokens of each source token.

It is an .npz of two arrays. ``likely`` [V, E]: the target tokens for each source token, padded to the same length.
``always`` [A]: the tokens that every sentence may use in addition. It is empty in present bundles, because their steps
score such tokens without a list.
"""

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.errors import BundleCorrupt

SHORTLIST_NAME = "shortlist.npz"
SCORED = "scored_tokens"
"""The entry of a step's metadata that lists the tokens which it scores for every sentence, with spaces between them."""


class ShortlistArrays(NamedTuple):
    """The content of a shortlist file."""

    always: npt.NDArray[np.int64]  # [A]
    likely: npt.NDArray[np.int64]  # [V, E]


def write_shortlist(path: Path, likely: npt.NDArray[np.uint16]) -> None:
    """Write a shortlist file from the likely target tokens of each source token, [V, E].

    Rows are sorted, and the archive is compressed by LZMA, which numpy reads but does not write: a sixth smaller.
    """
    arrays = {"always": np.zeros(0, np.uint16), "likely": np.sort(likely, axis=1)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # without a date, so that equal arrays make equal files
            entry.compress_type = zipfile.ZIP_LZMA
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_shortlist(path: Path, vocabulary: int) -> ShortlistArrays:
    """Return the content of a shortlist file; raise BundleCorrupt if it does not fit the vocabulary."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            always, likely = (arrays[name].astype(np.int64) for name in ("always", "likely"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BundleCorrupt(f"{path}: cannot be read as a shortlist ({error}).") from error
    if always.ndim != 1 or likely.ndim != 2 or len(likely) != vocabulary:
        raise BundleCorrupt(f"{path}: the arrays of the shortlist do not fit a vocabulary of {vocabulary}.")
    if (
        max(always.max(initial=0), likely.max(initial=0)) >= vocabulary
        or min(always.min(initial=0), likely.min(initial=0)) < 0
    ):
        raise BundleCorrupt(f"{path}: a token of the shortlist lies outside the vocabulary of {vocabulary}.")
    return ShortlistArrays(always, likely)
