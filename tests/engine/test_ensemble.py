"""An ensemble translates as any model does: values, beginnings, alternatives, details, scores, attention of each."""

import asyncio
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from service.bundle.load import load_bundle
from service.engine import AttentionOptions, InvalidOption, TranslationOptions, open_translator
from service.engine.translation.translator import Translator
from tests.support.paths import MODELS
from training.export.ensemble import write_ensemble

NAMES = ("transformer-en-fr", "bahdanau-en-fr")
TEXT = "The little dog sleeps in the garden."


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Translator]:
    folder = tmp_path_factory.mktemp("models")
    for name in NAMES:
        shutil.copytree(MODELS / name, folder / name)
    made = write_ensemble([folder / name for name in NAMES], folder / "ensemble-en-fr", default=False)
    translator = open_translator(made)
    asyncio.run(translator.model.start())
    yield translator
    asyncio.run(translator.model.stop(1))


async def test_values_and_alternatives_and_details_are_those_of_one_search(ensemble: Translator) -> None:
    text = "The train to Lyon leaves at 14:35 on track 7 and costs 27.50 euros. See https://example.org/a?b=1."
    options = TranslationOptions(alternatives=2, details=True)
    [found] = await ensemble.translate([text], options)
    for value in ("14", "35", "7", "27,50", "https://example.org/a?b=1"):
        assert value in found.text
    assert len(found.alternatives) == 2
    assert all(sentence.alignment for sentence in found.sentences)
    [again] = await ensemble.translate([text], TranslationOptions())
    assert again.text == found.text


async def test_a_translation_continues_a_beginning(ensemble: Translator) -> None:
    [found] = await ensemble.translate([TEXT], TranslationOptions(target_prefix="Dans le jardin"))
    assert found.text.startswith("Dans le jardin")
    assert "chien" in found.text


async def test_forced_scores_are_between_those_of_its_members_or_above(ensemble: Translator) -> None:
    pair = (TEXT, "Le petit chien dort dans le jardin.")
    [together] = await ensemble.score_batch([pair])
    own = []
    for name in NAMES:
        member = open_translator(load_bundle(MODELS / name))
        [scored] = await member.score_batch([pair])
        own.append(scored.token_logprobs)
        await member.model.stop(1)
    assert (np.array(together.token_logprobs) > np.mean(own, axis=0) - 1e-5).all()
    np.testing.assert_allclose(together.token_logprobs, np.mean(own, axis=0), atol=0.2)


async def test_attention_is_that_of_the_member_that_is_named(ensemble: Translator) -> None:
    default = await ensemble.attention(TEXT, None, AttentionOptions())
    maps = [await ensemble.attention(TEXT, None, AttentionOptions(member=name)) for name in NAMES]
    assert [found.model for found in (default, *maps)] == [NAMES[0], *NAMES]
    assert {found.ensemble for found in maps} == {"ensemble-en-fr"}
    [text] = {found.target_text for found in maps}  # one translation, of all members
    np.testing.assert_array_equal(default.weights, maps[0].weights)
    assert maps[0].token_logprobs == maps[1].token_logprobs == default.token_logprobs
    for name, found in zip(NAMES, maps, strict=True):
        member = open_translator(load_bundle(MODELS / name))
        alone = await member.attention(TEXT, text, AttentionOptions())
        await member.model.stop(1)
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-5)
        assert found.alignment == alone.alignment


async def test_the_scores_behind_the_weights_of_each_member(ensemble: Translator) -> None:
    for name in NAMES:
        found = await ensemble.attention(TEXT, None, AttentionOptions(member=name, stage="scores"))
        assert found.scores is not None
        known = ~np.isnan(found.scores.scores).any(-1)
        raised = np.exp(found.scores.scores[known])
        np.testing.assert_allclose(raised / raised.sum(-1, keepdims=True), found.weights[known], atol=1e-5)


async def test_a_member_that_it_does_not_have_is_refused_with_those_it_has(ensemble: Translator) -> None:
    with pytest.raises(InvalidOption, match="has no member 'x': its members are transformer-en-fr, bahdanau-en-fr"):
        await ensemble.attention(TEXT, None, AttentionOptions(member="x"))


async def test_what_a_member_lacks_is_refused_for_that_member(ensemble: Translator) -> None:
    found = await ensemble.attention(TEXT, None, AttentionOptions(kind="encoder"))
    assert found.weights.ndim == 2
    with pytest.raises(InvalidOption, match="no encoder self-attention"):
        await ensemble.attention(TEXT, None, AttentionOptions(kind="encoder", member=NAMES[1]))


async def test_a_recorded_search_shows_the_mean(ensemble: Translator) -> None:
    found = await ensemble.attention(TEXT, None, AttentionOptions(trace=True))
    assert found.search is not None
    best = found.search.trace.best
    total = found.search.trace.hypotheses[best[-1]].total
    assert total / (len(best) - 1) == pytest.approx(found.score, abs=0.2)  # the search's are over a shortlist
