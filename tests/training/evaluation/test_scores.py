"""Metrics against numbers worked out by hand or by sacreBLEU itself, and the signatures that make them repeatable."""

import pytest
import sacrebleu

from training.evaluation.scores import bigram_bleu, score, score_by_length, score_teaching

REFERENCES = ["Le chat est assis sur le tapis rouge.", "Il pleut depuis ce matin à Paris."]
CLOSE = ["Le chat est assis sur un tapis rouge.", "il pleut depuis ce matin à Paris."]


def test_cased_scores_are_sacrebleus() -> None:
    bleu, chrf = score(CLOSE, REFERENCES)
    assert bleu.score == sacrebleu.corpus_bleu(CLOSE, [REFERENCES]).score
    assert chrf.score == sacrebleu.corpus_chrf(CLOSE, [REFERENCES]).score
    assert "case:mixed" in bleu.signature
    assert "tok:13a" in bleu.signature
    assert "version:" in chrf.signature
    with pytest.raises(ValueError, match="0 translations"):
        score([], [])


def test_the_tokenised_family_ignores_case_and_does_not_tokenise() -> None:
    (bleu, _) = score(["un chat noir dort ici ."], ["Un chat noir dort ici ."], "tokenised")
    assert bleu.score == pytest.approx(100)
    assert "case:lc" in bleu.signature
    assert "tok:none" in bleu.signature


@pytest.mark.parametrize(
    ("prediction", "label", "expected"),
    [
        ("va !", "va !", 1.0),
        ("il est riche .", "il est calme .", (3 / 4) ** 0.5 * (1 / 3) ** 0.25),
        ("j'ai perdu", "j'ai perdu .", 2.718281828 ** (1 - 3 / 2)),
        ("je suis", "il est calme .", 0.0),
        ("va", "va !", 2.718281828**-1),
        ("", "va !", 0.0),
    ],
)
def test_bigram_bleu_by_hand(prediction: str, label: str, expected: float) -> None:
    assert bigram_bleu(prediction.split(), label.split()) == pytest.approx(expected)


def test_teaching_sentences_accept_every_listed_answer() -> None:
    rows = score_teaching(["Allez !", "J’ai perdu.", "Il est calme\u202f!", "Je suis à la maison."], "fr")
    assert [row.right for row in rows] == [True, True, False, True]
    assert rows[1].bigram_bleu == 1.0


def test_buckets_cover_every_length_once() -> None:
    sources = ["w " * n for n in (1, 10, 11, 20, 31, 90)]
    buckets = score_by_length(sources, ["x y z w v"] * 6, ["x y z w v"] * 6)
    assert [(b.label, b.sentences) for b in buckets] == [("1–10", 2), ("11–20", 2), ("21–30", 0), ("over 30", 2)]
    assert [b.bleu for b in buckets] == [pytest.approx(100), pytest.approx(100), None, pytest.approx(100)]
