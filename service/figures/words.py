"""The words of figures in the languages of the page; texts of users and names of models stay as they are."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from service.figures.panels import Figure

LanguageName = Literal["en", "de", "fr"]
CAUTION = "Attention is evidence about what the model computed, not an explanation of why it chose a word."
# A phrase, and what it is in German and in French.
WORDS = {
    CAUTION: (
        "Attention zeigt, was das Modell berechnet hat. Sie erklärt nicht, warum es ein Wort gewählt hat.",
        "L'attention montre ce que le modèle a calculé\u202f; elle n'explique pas pourquoi il a choisi un mot.",
    ),
    "The same as a table": ("Dasselbe als Tabelle", "La même chose en tableau"),
    "aligned words": ("alignierte Wörter", "mots alignés"),
    "alignment head": ("Alignment-Kopf", "tête d’alignement"),
    "alignment layer": ("Alignment-Schicht", "couche d’alignement"),
    "all heads": ("alle Köpfe", "toutes les têtes"),
    "all layers": ("alle Schichten", "toutes les couches"),
    "bar": ("Balken", "barre"),
    "columns": ("Spalten", "colonnes"),
    "cross-attention": ("Cross-Attention", "attention croisée"),
    "dashed": ("gestrichelt", "en pointillé"),
    "decoder self-attention": ("Self-Attention des Decoders", "auto-attention du décodeur"),
    "difference": ("Differenz", "différence"),
    "encoder self-attention": ("Self-Attention des Encoders", "auto-attention de l’encodeur"),
    "first": ("erste", "première"),
    "head": ("Kopf", "tête"),
    "layer": ("Schicht", "couche"),
    "left out": ("weggelassen", "omis"),
    "left out with": ("weggelassen mit", "omis avec"),
    "log-probability lost": ("verlorene Log-Wahrscheinlichkeit", "log-probabilité perdue"),
    "mean of all heads": ("Mittel aller Köpfe", "moyenne de toutes les têtes"),
    "mean of heads": ("Mittel der Köpfe", "moyenne des têtes"),
    "mean of layers": ("Mittel der Schichten", "moyenne des couches"),
    "minus": ("minus", "moins"),
    "not known": ("nicht bekannt", "inconnu"),
    "occlusion: what a target token loses if a source word is removed": (
        "Okklusion: was ein Zieltoken verliert, wenn ein Quellwort fehlt",
        "occlusion : ce que perd un token cible quand un mot source est retiré",
    ),
    "of the weight": ("des Gewichts", "du poids"),
    "of the weight on": ("des Gewichts auf", "du poids sur"),
    "outlined": ("umrandet", "encadré"),
    "probability of the token": ("Wahrscheinlichkeit des Tokens", "probabilité du token"),
    "read one step later": ("einen Schritt später gelesen", "lue un pas plus tard"),
    "rows": ("Zeilen", "lignes"),
    "rows rescaled": ("Zeilen neu skaliert", "lignes remises à l’échelle"),
    "score": ("Score", "score"),
    "scores before the softmax": ("Scores vor dem Softmax", "scores avant le softmax"),
    "second": ("zweite", "deuxième"),
    "source": ("Quelle", "source"),
    "target": ("Ziel", "cible"),
    "target read so far": ("bisher gelesenes Ziel", "cible lue jusqu’ici"),
    "the model’s first choice": ("erste Wahl des Modells", "premier choix du modèle"),
    "the model’s own": ("vom Modell", "celle du modèle"),
    "weight": ("Gewicht", "poids"),
    "yours": ("Ihre", "la vôtre"),
}
# The longest phrase that fits, and no part of a name such as `two-head-en-fr`.
_PHRASES = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(WORDS, key=len, reverse=True)))})(?![\w-])")
_PLACES: Mapping[str, int] = {"de": 0, "fr": 1}


def translated_label(text: str, language: str) -> str:
    """Return a text of a figure in a language."""
    at = _PLACES.get(language)
    return text if at is None else _PHRASES.sub(lambda match: WORDS[match[0]][at], text)


def in_language(figure: Figure, language: LanguageName) -> Figure:
    """Return a figure with its own words in a language."""
    panels = tuple(
        replace(
            panel,
            title=translated_label(panel.title, language),
            row_title=translated_label(panel.row_title, language),
            column_title=translated_label(panel.column_title, language),
            quantity=translated_label(panel.quantity, language),
            layer=translated_label(panel.layer, language),
            head=translated_label(panel.head, language),
        )
        for panel in figure.panels
    )
    notes = tuple(translated_label(note, language) for note in figure.notes)
    return replace(figure, notes=notes, panels=panels, language=language)
