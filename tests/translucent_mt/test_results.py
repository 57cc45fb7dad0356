"""What Python programs do with results: strings, columns, files."""

import json
import pickle
import pydoc
from collections.abc import Iterator

import pytest

import translucent_mt
from service.engine import BundleMissing, InvalidOption
from translucent_mt import AsyncTranslator, Translation, Translator, list_models


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load("models/transformer-en-fr") as found:
        yield found


def test_a_result_is_a_string_that_can_be_kept(translator: Translator) -> None:
    found = translator("I have lost my keys.")
    assert found == "J'ai perdu mes clés."
    assert isinstance(found, str)
    kept = pickle.loads(pickle.dumps(found))
    assert (kept, kept.source, kept.tokens) == (found, found.source, found.tokens)
    with pytest.raises(InvalidOption, match="no translator at hand"):
        _ = kept.attention
    assert translator.attention(kept).target == found.text
    read = json.loads(json.dumps(found.to_dict()))
    assert read["sentences"][0]["tokens"][0]["token"]
    assert len(repr(Translation("a" * 9_000, "b" * 9_000, (), (), None, "en"))) < 250


def test_a_column_keeps_its_missing_values(translator: Translator) -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["The dog sleeps.", None, float("nan"), pandas.NA, "I lost."], dtype=object)
    found = pandas.Series(translator(column), dtype=object)
    assert [*found.isna()] == [False, True, True, True, False]
    assert found.str.len()[0] == len(translator("The dog sleeps."))
    assert len(translator(column).to_pandas()) == len(column)


def test_a_name_alone_says_what_to_call() -> None:
    with pytest.raises(InvalidOption, match=r"Translator\.load\('transformer-en-fr'\)"):
        Translator("transformer-en-fr")
    assert translucent_mt.__version__


@pytest.mark.parametrize(
    ("call", "options"),
    [
        (Translator.load, ["source", "models_dir", "precision"]),
        (Translator.connect, ["source", "api_key"]),
        (Translator.__call__, ["beam_size", "glossary", "formality"]),
        (Translator.attention, ["kind", "layer"]),
        (AsyncTranslator.__call__, ["beam_size"]),
    ],
)
def test_help_lists_the_options(call: object, options: list[str]) -> None:
    shown = pydoc.plain(pydoc.render_doc(call))
    assert [each for each in options if f"{each}: " not in shown] == []


def test_models_are_listed_with_their_languages() -> None:
    found = {each.name: (each.source, each.target) for each in list_models("models")}
    assert found["transformer-fr-en"] == ("fr", "en")
    assert list_models() == list_models("models")
    with pytest.raises(BundleMissing, match="there is no such folder"):
        list_models("/nowhere")
