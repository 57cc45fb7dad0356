"""Makes a glossary of entries that a client or a file gives, or says what is wrong with them."""

import re
from collections.abc import Iterable, Sized

from service.engine import Glossary, InvalidInput, Term, while_wanted

SHOWN_CHARACTERS = 40  # of a term, in an error
MOST_TERMS = 5000  # of a glossary
MOST_FORMS = 100  # accepted forms of a term, which the model all considers wherever the term stands
MOST_CHARACTERS = 200  # of a term
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # categories Cc, Zl, Zp and Cs

Entry = tuple[str, tuple[str, ...]]  # a source term and the accepted forms of its target term
Entries = tuple[Entry, ...]


class InvalidGlossary(InvalidInput):
    """The glossary of a request, or a file of the operator, cannot be used."""

    def __init__(self, message: str, logged: str | None = None) -> None:
        """Keep the message for the caller, and what a log may say: the same without terms."""
        super().__init__(message)
        self.logged = logged or message


class UnknownGlossary(InvalidGlossary):
    """No glossary has this name, or not for this pair."""

    code = InvalidGlossary.code


def glossary_of(entries: Iterable[Entry]) -> Glossary:
    """Return the glossary of some entries; raise InvalidGlossary for the first one that cannot be used."""
    terms: dict[str, Term] = {}
    for source, targets in while_wanted(entries):
        _check_number(source, targets)
        term = Term(source.strip(), tuple(target.strip() for target in targets))
        _check_term(term)
        earlier = terms.setdefault(_same(term.source), term)
        if earlier.targets != term.targets:
            raise InvalidGlossary(
                f"The glossary has two translations of {_shown(term.source)}; keep one, or give both as a list of "
                "accepted forms.",
                "A term has two translations.",
            )
        check_size(terms)
    if not terms:
        raise InvalidGlossary("The glossary has no terms; give at least one, or leave glossary out.")
    return Glossary(tuple(terms.values()))


def check_size(terms: Sized) -> None:
    """Raise InvalidGlossary for too many terms."""
    if len(terms) > MOST_TERMS:
        raise InvalidGlossary(f"The glossary has more than {MOST_TERMS} terms, which is the most accepted here.")


def _check_number(source: str, targets: tuple[str, ...]) -> None:
    if len(targets) > MOST_FORMS:
        raise InvalidGlossary(
            f"The glossary has {len(targets)} translations of {_shown(source.strip())}; the most is {MOST_FORMS}.",
            f"A term has more than {MOST_FORMS} translations.",
        )


def _check_term(term: Term) -> None:
    shown = _shown(term.source)
    if not any(map(str.isalnum, term.source)):
        raise InvalidGlossary(
            f"The glossary has a source term without a letter or digit: {shown}.",
            "A source term has no letter or digit.",
        )
    if not term.targets or not all(term.targets):
        raise InvalidGlossary(
            f"The glossary has no translation of {shown}; a term cannot be left out. To keep it as it is, repeat it.",
            "A term has no translation.",
        )
    for text in (term.source, *term.targets):
        if len(text) > MOST_CHARACTERS:
            raise InvalidGlossary(
                f"The glossary has a term of {len(text)} characters ({_shown(text)}); the most is {MOST_CHARACTERS}.",
                f"A term has more than {MOST_CHARACTERS} characters.",
            )
        if _UNPRINTABLE.search(text):
            raise InvalidGlossary(
                f"The glossary entry of {shown} has a control character or a line break; remove it.",
                "A term has a control character or a line break.",
            )


def _same(source: str) -> str:
    """Return what two sources have in common if they match the same texts."""
    return source if Term(source, ()).is_exact else " ".join(source.casefold().split())


def _shown(text: str) -> str:
    """Return a term for an error message: short, and without control characters."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text[:SHOWN_CHARACTERS])
    return f'"{shown}…"' if len(text) > SHOWN_CHARACTERS else f'"{shown}"'
