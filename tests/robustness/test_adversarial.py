"""Runs of combining marks, composed a part at a time: every character leads back to the text as it was written."""

import pytest

from service.engine.text.nfc import LONGEST_RUN, nfc_edits, normalize_nfc
from tests.robustness.inputs import ADVERSARIAL


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_every_character_leads_back_to_the_text_as_it_was_written(kind: str) -> None:
    text = ADVERSARIAL[kind][:5000]
    edits = nfc_edits(text)
    places = [edits.to_old(place, place + 1) for place in range(len(edits.edited(text)))]
    assert all(0 <= start <= end <= len(text) for start, end in places)
    assert places == sorted(places)
    covered = {place for start, end in places for place in range(start, end)}
    assert covered == set(range(len(text)))


def test_a_run_of_marks_is_cut_where_unicode_says_and_what_is_written_is_not() -> None:
    usual = "a" + "\u0301" * LONGEST_RUN
    assert "\u034f" not in normalize_nfc(usual)
    text = "b" + usual + "\u0301c"
    edits, cut = nfc_edits(text), normalize_nfc(text)
    assert cut.count("\u034f") == 1
    places = [edits.to_old(place, place + 1) for place in range(len(cut))]
    assert places[-3:] == [(32, 32), (32, 33), (33, 34)], "the joiner stands alone"
