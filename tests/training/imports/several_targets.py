"""A small MarianMT model of two targets: it has learnt to say in French or in German what animals do."""

import json
from itertools import product
from pathlib import Path

from tests.training.imports.marian_models import MarianShape
from tests.training.imports.toy_marian import SIDES, train
from tests.training.imports.toy_text import sentencepiece_model

TOKENS = (">>fra<<", ">>deu<<")
ANIMALS = {
    "cat": ("Le chat", "Die Katze"),
    "dog": ("Le chien", "Der Hund"),
    "bird": ("L'oiseau", "Der Vogel"),
    "horse": ("Le cheval", "Das Pferd"),
    "cow": ("La vache", "Die Kuh"),
}
VERBS = {
    "sleeps": ("dort", "schläft"),
    "eats": ("mange", "isst"),
    "sings": ("chante", "singt"),
    "waits": ("attend", "wartet"),
    "drinks": ("boit", "trinkt"),
}
# English, French, German.
SENTENCES = [
    (f"The {animal} {verb}.", f"{ANIMALS[animal][0]} {VERBS[verb][0]}.", f"{ANIMALS[animal][1]} {VERBS[verb][1]}.")
    for animal, verb in product(ANIMALS, VERBS)
]


def train_several_targets(folder: Path) -> None:
    folder.mkdir(parents=True)
    english, *others = zip(*SENTENCES, strict=True)
    for side, texts in zip(SIDES, (english, [*others[0], *others[1]]), strict=True):
        (folder / f"{side}.spm").write_bytes(sentencepiece_model(texts, vocab_size=120, model_type="bpe"))
    pairs = [(token, texts[0], texts[number]) for texts in SENTENCES for number, token in enumerate(TOKENS, 1)]
    train(folder, MarianShape(language_tokens=TOKENS, layers=(1, 1)), pairs, updates=300, rate=5e-3)
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "mul"}))
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage:\n- en\n- fr\n- de\n---\n# opus-mt-en-mul\n")
