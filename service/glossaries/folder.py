"""The glossaries of a folder, by name and language pair, which a server reads again when it reads its models again."""

from pathlib import Path
from typing import NamedTuple

from service.engine import Glossary, canonical
from service.glossaries.checks import Entry, InvalidGlossary, UnknownGlossary, glossary_of
from service.glossaries.files import ENDINGS, Pair, name_of, names_languages, pair_of_name, read_entries
from service.logs import get_logger

log = get_logger(__name__)


class NamedGlossary(NamedTuple):
    """One glossary that is served, for one language pair."""

    name: str
    source: str
    target: str
    terms: int


class GlossaryFolder:
    """The glossaries of a folder; None: there is none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._by_name: dict[str, dict[Pair, Glossary]] = {}

    def reload(self) -> None:
        """Read the folder; a file that cannot be used is logged, and its glossary is served as it was."""
        if self._folder is None:
            return
        files: dict[str, list[Path]] = {}
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix in ENDINGS)
        except OSError as error:
            log.error("glossaries cannot be read; see TRANSLUCENT_GLOSSARIES_DIR", reason=error.strerror)
            return
        for path in paths:
            try:
                files.setdefault(name_of(path), []).append(path)
            except InvalidGlossary as error:
                log.error("glossary refused", file=path.name, reason=error.message)
        by_name: dict[str, dict[Pair, Glossary]] = {}
        refused = 0
        for name, own in files.items():
            glossary = self._read(own)
            refused += glossary is None
            if glossary is None:
                glossary = self._by_name.get(name)
            if glossary is not None:
                by_name[name] = glossary
        self._by_name = by_name
        log.info("glossaries read", served=len(by_name), refused=refused)

    def get(self, name: str, pair: Pair) -> Glossary:
        """Return a glossary for a language pair; raise UnknownGlossary."""
        by_pair = self._by_name.get(name)
        if by_pair is None:
            served = ", ".join(sorted(self._by_name)) or "none"
            raise UnknownGlossary(f"There is no glossary of this name; GET /glossaries lists them: {served}.")
        tags = canonical(pair[0]), canonical(pair[1])
        glossary = by_pair.get(tags) or by_pair.get((_language(tags[0]), _language(tags[1])))
        if glossary is None:
            pairs = ", ".join(f"{source} to {target}" for source, target in sorted(by_pair))
            raise UnknownGlossary(f"The glossary {name} is for {pairs}, not for {pair[0]} to {pair[1]}.")
        return glossary

    def served(self) -> list[NamedGlossary]:
        """Return every glossary and pair, in order."""
        return [
            NamedGlossary(name, *pair, len(glossary.terms))
            for name, pairs in sorted(self._by_name.items())
            for pair, glossary in sorted(pairs.items())
        ]

    def _read(self, paths: list[Path]) -> dict[Pair, Glossary] | None:
        """Return a glossary from its files; None if one of them cannot be used, with the reason in the log."""
        entries: dict[Pair, list[Entry]] = {}
        files = ""
        try:
            for path in paths:
                files = path.name
                for pair, some in read_entries(path, pair_of_name(path)).items():
                    glossary_of(some)
                    entries.setdefault(pair, []).extend(some)
            files = ", ".join(path.name for path in paths)
            return {pair: glossary_of(some) for pair, some in entries.items()}
        except InvalidGlossary as error:
            reason = error.logged
        except OSError as error:
            reason = str(error.strerror)
        # Logged after the exception: if a log handler fails, Python prints what is being handled, here with its terms.
        log.error("glossary refused", file=files, reason=reason)
        return None


def _language(tag: str) -> str:
    """Return a language without its region: a glossary for fr serves fr-CA."""
    return tag.partition("-")[0]


def glossary_in_file(path: Path, pair: Pair) -> Glossary:
    """Return the glossary of one file for a pair, which a table of two columns need not name; raise InvalidGlossary."""
    tags = canonical(pair[0]), canonical(pair[1])
    try:
        stated = pair_of_name(path)
        if stated not in (None, tags):
            raise InvalidGlossary(f"The file is for {stated[0]} to {stated[1]}, not for {tags[0]} to {tags[1]}.")
        entries = read_entries(path, None if stated is None and names_languages(path) else tags)
        chosen = entries.get(tags) or entries.get((_language(tags[0]), _language(tags[1])))
        if not chosen:
            raise InvalidGlossary(f"The file has no terms from {tags[0]} to {tags[1]}.")
    except OSError as error:
        raise InvalidGlossary(f"The glossary {path} cannot be read: {error.strerror}.") from None
    except InvalidGlossary as error:
        raise InvalidGlossary(f"{path}: {error.message}") from None
    return glossary_of(chosen)
