"""Runs eflomal, a statistical aligner: attention is compared with its links, and a head is chosen by them.

eflomal is under the GPL, so it is not a dependency. Its command is called if it is installed (``pip install eflomal``).
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which

import numpy as np

from training.alignment.gold import AlignmentError, Gold, Links, read_pharaoh
from training.data.dataset import epoch_entries, load_corpora
from training.data.words import words_of
from training.runs.folder import RunFolder

FAST = ("--n-samplers", "1", "--length", "0.5")
"""One sampler of half the usual length: three cost six times as much."""

Texts = tuple[list[str], list[str]]
"""Source and target lines, whose words are separated by spaces."""


def split_words(text: str) -> str:
    """Separate words and punctuation with spaces; a French elision (l'ami) is two words, an English one (don't) one."""
    return " ".join(words_of(text).texts)


def training_text(run: Path, count: int) -> Texts:
    """Return at most ``count`` pairs of the mix that a run was trained on, with separated words."""
    folder = RunFolder(run)
    recipe, tokenizer = folder.load_recipe(), folder.load_tokenizer()
    corpora = load_corpora(recipe, folder)
    entries = epoch_entries([len(c) for c in corpora], [min(1.0, c.weight) for c in recipe.corpora], recipe.seed, 0)
    chosen = np.random.default_rng(recipe.seed).permutation(entries)[:count].tolist()
    sides = [[side[i] for side in (corpora[c].source, corpora[c].target)] for c, i in chosen]
    sources, targets = (
        [split_words(text) for text in tokenizer.decode_batch([pair[side].tolist() for pair in sides])]
        for side in (0, 1)
    )
    return sources, targets


def development_text(run: Path) -> Texts:
    """Return a run's held-out pairs, with separated words."""
    rows = RunFolder(run).load_development()
    return [split_words(source) for _, source, _ in rows], [split_words(target) for _, _, target in rows]


def align_both_ways(measured: Texts, training: Texts, options: Sequence[str] = ()) -> list[tuple[Links, Links]]:
    """Return the links of the ``measured`` pairs in both directions; eflomal learns from both texts.

    ``options`` are passed to eflomal-align.
    Raises AlignmentError when eflomal is missing or fails.
    """
    installed = Path(sys.executable).with_name("eflomal-align")
    command = str(installed) if installed.exists() else which("eflomal-align")
    if command is None:
        raise AlignmentError("eflomal-align is not installed: run `pip install eflomal`")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, lines in enumerate(zip(measured, training, strict=True)):
            text = "".join(f"{line.lower()}\n" for line in (*lines[0], *lines[1]))
            (folder / str(side)).write_text(text, encoding="utf-8")
        files = ["-s", "0", "-t", "1", "-f", "forward", "-r", "reverse"]
        result = subprocess.run([command, *files, *options], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise AlignmentError(f"eflomal-align failed: {result.stderr.strip()[-500:]}")
        forward, reverse = (read_pharaoh(folder / way)[: len(measured[0])] for way in ("forward", "reverse"))
    return list(zip(forward, reverse, strict=True))


def word_links(sources: list[str], targets: list[str]) -> list[Links]:
    """Return the symmetrised links of lines; raises AlignmentError when eflomal is missing or fails."""
    return [grow_diagonal(*both) for both in align_both_ways((sources, targets), ([], []), FAST)]


def silver(forward: Links, reverse: Links) -> Gold:
    """Return gold from both directions: links that both found are sure, links that one found are possible."""
    return Gold(forward & reverse, forward | reverse)


_NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def grow_diagonal(forward: Links, reverse: Links) -> Links:
    """Return the symmetrised links by grow-diag-final-and (Koehn et al. 2003)."""
    links, union = set(forward & reverse), forward | reverse
    sources, targets = {source for source, _ in links}, {target for _, target in links}

    def add(link: tuple[int, int]) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = True
    while grown:
        grown = False
        for link in [link for link in _around(links) if link in union]:
            if link[0] not in sources or link[1] not in targets:
                add(link)
                grown = True
    for link in (*sorted(forward), *sorted(reverse)):
        if link[0] not in sources and link[1] not in targets:
            add(link)
    return frozenset(links)


def _around(links: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for source, target in sorted(links):
        yield from ((source + down, target + right) for down, right in _NEIGHBOURS)


def gold_line(gold: Gold) -> str:
    """Return one line of ``i-j`` (sure) and ``ipj`` (possible), 1-based."""
    kinds = [(link, "-" if link in gold.sure else "p") for link in sorted(gold.possible | gold.sure)]
    return " ".join(f"{source + 1}{kind}{target + 1}" for (source, target), kind in kinds)
