"""A word in quotation marks or brackets, or behind a bar, is translated as anywhere else."""

import pytest

from service.engine.translation.translator import Translator

CASES = [
    ('She said "yes".', "« oui »"),
    ('What does "house" mean?', "« maison »"),
    ('The word "time" has four letters.', "« temps »"),
    ("Why did you say “never”?", "« jamais »"),
    ("He works in London (England).", "(Angleterre)"),
    ("Bring a pen (or a pencil) and paper.", "(ou un crayon)"),
    ("Yes/No", "Oui/non"),
]


@pytest.mark.parametrize(("text", "part"), CASES)
async def test_a_word_behind_a_sign_is_translated(shipped: Translator, text: str, part: str) -> None:
    [translation] = await shipped.translate([text])
    assert part in translation.text.replace("\u00a0", " ").replace("\u202f", " ")
