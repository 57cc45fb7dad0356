"""Short strings in translations of a shipped model."""

from service.engine.translation.translator import Translator
from service.engine.types import TranslationOptions
from service.engine.values.terms import Glossary, Term


async def texts_of(translator: Translator, *texts: str, options: TranslationOptions | None = None) -> list[str]:
    return [each.text for each in await translator.translate(texts, options)]


async def test_capitals_marks_ends_and_bullets_are_kept(shipped: Translator) -> None:
    [small, capitals] = await texts_of(shipped, "Open the window", "OPEN THE WINDOW")
    assert capitals == small.upper()
    [plain, marked, bullet] = await texts_of(shipped, "Street", "&Street…", "• Street:")
    assert marked.replace("&", "") == f"{plain}…"
    assert marked.count("&") == 1
    assert bullet == f"• {plain} :"


async def test_values_of_a_title_stay_as_they_are_and_terms_are_in_capitals(shipped: Translator) -> None:
    options = TranslationOptions(glossary=Glossary([Term("window", ("hublot",))]))
    [values, terms] = await texts_of(shipped, "OPEN ALL 25 FILES OF {name}", "OPEN THE WINDOW", options=options)
    assert values.count("{name}") == values.count("25") == 1
    assert values.replace("{name}", "").isupper()
    assert "HUBLOT" in terms
    assert terms.isupper()


async def test_the_model_alone_answers_with_values_off(shipped: Translator) -> None:
    alone = await texts_of(shipped, "OPEN THE WINDOW", options=TranslationOptions(values="off"))
    assert alone != await texts_of(shipped, "OPEN THE WINDOW")
