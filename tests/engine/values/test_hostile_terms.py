"""Glossaries of strangers: what they cost grows with the text and with the terms, never with both, and off the loop."""

import asyncio
import itertools
import time
from collections.abc import Callable

import pytest

from service.engine.translation.translator import Translator
from service.engine.types import TranslationOptions
from service.engine.values.terms import Glossary, Term

Case = Callable[[int], tuple[list[str], str]]  # from a number of terms to the terms and a text


def of_one_beginning(terms: int) -> tuple[list[str], str]:
    return [f"a b{number}" for number in range(terms)], "a " * (4 * terms)


def of_one_beginning_and_many_words(terms: int) -> tuple[list[str], str]:
    return ["a " * 30 + f"b{number}" for number in range(terms)], "a " * terms


def of_one_word_but_for_its_umlauts(terms: int) -> tuple[list[str], str]:
    words = ["".join(letters) for letters in itertools.islice(itertools.product("aä", repeat=12), terms)]
    return words, (words[3] + " ") * terms


def of_the_same_words_in_singular_and_plural(terms: int) -> tuple[list[str], str]:
    words = [" ".join(each) for each in itertools.islice(itertools.product(("cat", "cats"), repeat=12), terms)]
    return words, ("Cats " + "cat " * 11) * (terms // 4)


def of_one_word_in_many_signs(terms: int) -> tuple[list[str], str]:
    return ["!" * (number % 100) + "a" + "?" * (number // 100) for number in range(terms)], "a " * (4 * terms)


@pytest.mark.parametrize(
    "case",
    [
        of_one_beginning,
        of_one_beginning_and_many_words,
        of_one_word_but_for_its_umlauts,
        of_the_same_words_in_singular_and_plural,
        of_one_word_in_many_signs,
    ],
)
def test_twice_as_many_terms_and_twice_the_text_take_twice_the_time(case: Case) -> None:
    def seconds(terms: int) -> float:
        sources, text = case(terms)
        glossary = Glossary([Term(source, ("x",)) for source in sources])
        began = time.process_time()
        glossary.find(text, "de")
        return time.process_time() - began

    growth = min(seconds(2_000) / seconds(500) for _ in range(3))  # 4 if it is linear, 16 by the square
    assert growth < 9


async def test_a_large_glossary_keeps_no_other_request_from_the_event_loop(translator: Translator) -> None:
    glossary = Glossary([Term("a " * 30 + f"b{number}", ("x",)) for number in range(2_000)])
    all_threads, loop = time.process_time(), time.thread_time()
    await translator.translate(["a " * 200], TranslationOptions(glossary=glossary))
    all_threads, loop = time.process_time() - all_threads, time.thread_time() - loop
    assert loop < all_threads / 4


@pytest.mark.parametrize("way", ["client", "deadline"])
async def test_work_on_a_text_ends_when_nobody_waits_for_it(translator: Translator, way: str) -> None:
    glossary = Glossary([Term("a " * 90 + f"b{number}", ("x",)) for number in range(50)])
    options = TranslationOptions(glossary=glossary)
    deadline = time.monotonic() + 0.2 if way == "deadline" else None
    waiting = asyncio.create_task(translator.translate(["a " * 1_000_000], options, deadline=deadline))
    await asyncio.sleep(0.2)
    waiting.cancel()
    await asyncio.wait([waiting])
    began = time.process_time()
    [other] = await translator.translate(["I lost my dog. " * 100])
    assert other.text.startswith("I lost my dog.")
    await asyncio.sleep(0.5)
    assert time.process_time() - began < 2  # twenty if the text were read to its end
