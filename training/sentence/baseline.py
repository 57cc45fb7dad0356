"""The baseline of the classifiers: logistic regression on a bag of words, without order and without attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier

from training.sentence.data import Batches, SentenceFolder
from training.sentence.recipe import SentenceRecipe


def bag_of_words(recipe: SentenceRecipe, text: SentenceFolder, updates: int) -> dict[str, float]:
    """Return the accuracies on held-out sentences of classifiers that see the batches of that many updates.

    A word is a subword of the network's own vocabulary, so that both read the same tokens; weights are TF-IDF.
    """
    batches = Batches(recipe, text)
    sentences: list[str] = []
    labels: dict[str, list[int]] = {"language": [], "domain": []}
    for update in range(updates):
        batch = batches.draw(update)
        ids, lengths = batch.ids.tolist(), batch.lengths.tolist()
        sentences += [_words(row[: length - 1]) for row, length in zip(ids, lengths, strict=True)]
        labels["language"] += batch.keys.languages.tolist()
        labels["domain"] += batch.keys.domains.tolist()
    held = text.load_held_out()
    tokenizer = text.load_tokenizer()
    sides = [pair.first for pair in held] + [pair.second for pair in held]
    wanted = {
        "language": [recipe.languages.index(pair.first_language) for pair in held]
        + [recipe.languages.index(pair.second_language) for pair in held],
        "domain": [recipe.domains.index(pair.domain) for pair in held] * 2,
    }
    vectorizer = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
    seen = vectorizer.fit_transform(sentences)
    held_out = vectorizer.transform([_words(encoding.ids) for encoding in tokenizer.encode_batch_fast(sides)])
    return {
        name: _accuracy(SGDClassifier(loss="log_loss", alpha=1e-6, random_state=recipe.seed), (seen, labels[name]),
                        (held_out, wanted[name]))
        for name in labels
    }  # fmt: skip


def _accuracy(
    classifier: SGDClassifier, seen: tuple[object, Sequence[int]], held: tuple[object, Sequence[int]]
) -> float:
    classifier.fit(*seen)
    return float(np.mean(classifier.predict(held[0]) == np.asarray(held[1])))


def _words(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))
