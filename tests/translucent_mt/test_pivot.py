"""A pair without a model goes through English."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest

from service.engine.types import SentenceQuality, Translation
from tests.support.fake_engine import info_of
from tests.support.paths import ROOT
from tests.support.server import running
from translucent_mt import InvalidInput, Translator, local


def test_a_pair_without_a_model_goes_through_english_in_both_places() -> None:
    models = ROOT / "models"
    with running("-m", "service", "serve", "--models-dir", str(models), "--device", "cpu") as server:
        for translator in (
            Translator.load(source="de", target="fr", models_dir=models),
            Translator.connect(server.url, source="de", target="fr"),
        ):
            with translator:
                result = translator("Der Hund schläft.")
                assert result.pivot is not None
                assert "dog" in result.pivot.text
                assert "chien" in result.text
                assert (result.language, translator.model.source, translator.model.target) == ("de", "de", "fr")
                first, second = result.pivot.attention, result.attention
                assert (first.source, first.target) == (result.source, result.pivot.text)
                assert (second.source, second.target) == (result.pivot.text, result.text)
                with pytest.raises(InvalidInput, match=r"leg|each of the two translations"):
                    translator.score("Der Hund schläft.", "Le chien dort.")
                with pytest.raises(InvalidInput, match="glossary"):
                    translator("Der Hund schläft.", glossary={"Hund": "chien"})


async def test_the_register_of_a_pivoted_translation_is_judged_by_its_last_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Sie` at the start is no polite form where the English sentence between both has no "you"."""
    lost = SentenceQuality("They have lost.", "Sie haben verloren.", 0, None, ())
    found = AsyncMock(return_value=[Translation(lost.target_text, qualities=(lost,))])
    monkeypatch.setattr(local, "translate_in_legs", found)
    legs = [SimpleNamespace(info=info_of(f"transformer-{pair}")) for pair in ("fr-en", "en-de")]
    backend = local.LocalBackend(cast(Any, legs))
    [translated] = await backend.translate(["Ils ont perdu."], {"formality": "prefer_less"})
    assert translated.warnings == ()
