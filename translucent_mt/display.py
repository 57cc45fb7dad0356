"""How results look in a notebook: HTML without scripts, in the colours of the notebook itself.

Every text is escaped.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from service.engine import SentenceDetail

_UNSURE = "#d9730d"  # under the tokens of low probability
_CELL = 'style="text-align:left;vertical-align:top"'


def card(source: str, text: str, start: int, sentences: Sequence[SentenceDetail], quality: float | None) -> str:
    """Return a text above its translation, which begins at `start` of the whole one, with the tokens of its sentences.

    A token's underline is stronger the less probable it was, and its tooltip has the number.
    """
    facts = [f"score {each.score:.2f}" for each in sentences if len(sentences) == 1]
    if quality is not None:
        facts.append(f"quality {quality:.0%}")
    below = f"<small>{' · '.join(facts)}</small>" if facts else ""
    return f"<div><div>{escape(source)}</div><div><b>{_written(text, start, sentences)}</b></div>{below}</div>"


def table(shown: Iterable[tuple[str, str, float | None]]) -> str:
    """Return a table with one row for each text: source, translation, quality."""
    rows = "".join(
        f"<tr><td {_CELL}>{escape(source)}</td><td {_CELL}>{escape(text)}</td>"
        f"<td>{'' if quality is None else f'{quality:.0%}'}</td></tr>"
        for source, text, quality in shown
    )
    head = "<tr><th>source</th><th>translation</th><th>quality</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _written(text: str, start: int, sentences: Sequence[SentenceDetail]) -> str:
    parts, end = [], start
    for first, last, markup in (found for each in sentences for found in _tokens(each)):
        parts += [escape(text[end - start : first - start]), markup]
        end = last
    return "".join([*parts, escape(text[end - start :])])


def _tokens(sentence: SentenceDetail) -> Iterator[tuple[int, int, str]]:
    """Yield each written token: where it begins and ends, and its markup."""
    links: dict[int, list[str]] = {}
    for source, target in sentence.alignment:
        links.setdefault(target, []).append(sentence.source_tokens[source].text.strip())
    for number, (token, logprob) in enumerate(zip(sentence.target_tokens, sentence.token_logprobs, strict=False)):
        if not token.special:
            yield token.start, token.end, _token(token.text, math.exp(logprob), links.get(number, []))


def _token(text: str, probability: float, aligned: Sequence[str]) -> str:
    tip = f"{probability:.0%}" + (f", aligned with {' '.join(aligned)}" if any(aligned) else "")
    width = round(3 * (1 - probability), 1)
    return f'<span title="{escape(tip)}" style="border-bottom:{width}px solid {_UNSURE}">{escape(text)}</span>'
