"""Prepares a run folder from the corpora of a recipe: vocabulary, encoded pairs, development text."""

import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer

from service.bundle.manifest import TARGET_TOKENIZER_NAME
from training.data.augmentation import joins, variants
from training.data.cleaning import Pair, clean, first_of_each_source
from training.data.dataset import EncodedPairs, encode_pairs, epoch_entries
from training.data.made_up_grammar import made_up_pairs
from training.data.names import people_renamed
from training.data.noun_templates import noun_pairs
from training.data.number_templates import number_pairs
from training.data.own_text import own_pairs
from training.data.reading import read_corpus, read_pairs
from training.data.split import held_out, split, subset
from training.data.subwords import train_tokenizer
from training.data.titles import titles
from training.data.wrapping import Aligner, wrapped
from training.files import write_json, write_lines
from training.git_folder import local_folder
from training.recipe import CorpusConfig, Recipe
from training.runs.fingerprint import Fingerprint, Prepared, PreparedError, hash_of, prepared_part, require_same
from training.runs.folder import RunFolder

_BY_RULE: dict[str, Callable[[str, str, int, int], Iterator[Pair]]] = {
    "number_templates": number_pairs,
    "noun_templates": noun_pairs,
    "made_up_grammar": made_up_pairs,
}


def prepare(
    recipe: Recipe, folder: RunFolder, mirror: Path | None, cache: Path, align: Aligner | None = None
) -> dict[str, object]:
    """Read, clean, split and encode all corpora of a recipe; returns the statistics, which are also written.

    ``align`` finds the parts of ``wrapped`` variants. Development sentences of one corpus are held out of all corpora.
    If an error occurs, the folder stays unchanged.
    Raises PreparedError if nothing would be held out, or if the folder has checkpoints of other text.
    """
    if not any(corpus.development for corpus in recipe.corpora):
        raise PreparedError(
            f"recipe {recipe.name} holds no sentences out: give at least one corpus `development: 500` or so, "
            "or training could not tell how good it is"
        )
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.path.parent, prefix=".prepare-") as name:
        made = RunFolder(Path(name))
        counts = _make(recipe, made, (mirror, cache), align)
        now = fingerprint_of(made)
        if folder.has_parameters and folder.tokenizer.exists():
            require_same(fingerprint_of(folder), now, f"{folder.path}: its checkpoints")
        Prepared(prepared_part(recipe), now).save(made.prepared)
        folder.path.mkdir(exist_ok=True)
        for path in sorted(made.path.iterdir(), key=lambda path: path == made.prepared):  # the record is written last
            path.replace(folder.path / path.name)
    return counts


def fingerprint_of(folder: RunFolder) -> Fingerprint:
    """Return the hashes of the prepared text in a run folder: vocabulary, development pairs, every corpus."""
    corpora = sorted(folder.path.glob("corpus-*.npz"))
    return {
        "vocabulary": hash_of(folder.tokenizer.read_bytes()),
        "development": hash_of(folder.development.read_bytes()),
        **{f"corpus {path.stem.removeprefix('corpus-')}": EncodedPairs.load(path).fingerprint for path in corpora},
    }


def _make(
    recipe: Recipe, folder: RunFolder, places: tuple[Path | None, Path], align: Aligner | None
) -> dict[str, object]:
    """Write vocabulary, pairs, recipe and statistics into an empty folder."""
    texts = [corpus for corpus in recipe.corpora if corpus.origin is None]
    left_out: dict[str, Counter[str]] = {corpus.name: Counter() for corpus in recipe.corpora}
    corpora = [_clean_corpus(corpus, recipe, places, left_out[corpus.name]) for corpus in texts]
    chosen = [held_out(pairs, c.development) for c, pairs in zip(texts, corpora, strict=True)]
    everywhere = set().union(*chosen)
    training: dict[str, list[Pair]] = {}
    development: list[tuple[str, Pair]] = []
    for config, pairs, chosen_pairs in zip(texts, corpora, chosen, strict=True):
        kept, held = split(pairs, everywhere)
        training[config.name] = list(joins(kept, config.join, recipe.cleaning.longest(config.max_words), recipe.seed))
        development += [(config.name, pair) for pair in split(held, chosen_pairs)[1]]
    if not any(training.values()):
        raise PreparedError(
            f"recipe {recipe.name}: every pair is development data, and none is left to train on: give more text, or a "
            "lower `development`"
        )
    tokenizer = _vocabulary(recipe, training, texts, places[1])
    for corpus in recipe.corpora:
        if corpus.variants_of is not None and corpus.max_pairs is not None:
            training[corpus.name] = _variants(corpus, training[corpus.variants_of], corpus.max_pairs, recipe, align)
        elif corpus.same_pairs_as is not None:
            training[corpus.name] = training[corpus.same_pairs_as]
    tokenizer.save(str(folder.tokenizer))
    counts = _write_pairs(training, development, tokenizer, recipe, folder, left_out)
    folder.save_recipe(recipe)
    write_json(folder.environment, {"python": platform.python_version(), "torch": torch.__version__})
    write_json(folder.statistics, counts)
    return counts


def _clean_corpus(
    config: CorpusConfig, recipe: Recipe, places: tuple[Path | None, Path], left_out: Counter[str]
) -> list[Pair]:
    name, language = config.corpus or config.name, recipe.language_of(config)
    rule = next((make for key, make in _BY_RULE.items() if getattr(config, key)), None)
    if rule is not None and config.max_pairs is not None:
        pairs = rule(language, recipe.target_language, config.max_pairs, recipe.seed)
    elif config.topics:
        pairs = own_pairs(language, recipe.target_language, config.topics)
    elif config.path is None:
        pairs = read_corpus(name, language, recipe.target_language, *places)
    else:
        pairs = read_pairs(config.path, config.target_path, left_out=left_out)
    pairs = islice(pairs, config.first_pairs)
    cleaned = list(clean(pairs, recipe.cleaning, recipe.cleaning.longest(config.max_words), left_out))
    if config.one_translation:
        cleaned = list(first_of_each_source(cleaned))
    if not cleaned:
        raise ValueError(f"corpus {config.name}: no pair is left after cleaning; loosen max_words or cleaning")
    return subset(cleaned, config.max_pairs)


def _variants(config: CorpusConfig, pairs: list[Pair], count: int, recipe: Recipe, align: Aligner | None) -> list[Pair]:
    languages = (recipe.language_of(config), recipe.target_language)
    match config.kind:
        case "typed":
            made = variants(pairs, count, recipe.seed)
        case "names":
            made = people_renamed(pairs, count, recipe.seed)
        case "titles":
            made = titles(pairs, languages, count, recipe.seed)
        case "wrapped":
            if align is None:
                raise PreparedError(f"corpus {config.name}: pairs in signs need an aligner, and none is given")
            made = wrapped(pairs, languages, count, recipe.seed, align)
    return list(made)


def _vocabulary(recipe: Recipe, training: dict[str, list[Pair]], corpora: list[CorpusConfig], cache: Path) -> Tokenizer:
    if recipe.vocabulary.same_as is None:
        return train_tokenizer(_vocabulary_text(training, corpora, recipe.seed), recipe.vocabulary)
    given = local_folder(recipe.vocabulary.same_as, cache)
    given_run = RunFolder(given)
    if not given_run.tokenizer.exists():
        raise FileNotFoundError(
            f"vocabulary.same_as: {given} is neither a run folder nor a bundle (no {given_run.tokenizer.name})"
        )
    if (given / TARGET_TOKENIZER_NAME).exists():
        raise PreparedError(
            f"vocabulary.same_as: {given} was imported and cuts the texts of its two sides differently, but a run has "
            "one vocabulary for both: leave same_as out. With `start_from` the rows of equal subwords are copied"
        )
    return given_run.load_tokenizer()


def _vocabulary_text(training: dict[str, list[Pair]], corpora: list[CorpusConfig], seed: int) -> Iterator[str]:
    """Yield the text of one epoch, so that the vocabulary fits the training mix."""
    texts = [training[corpus.name] for corpus in corpora]
    entries = epoch_entries([len(pairs) for pairs in texts], [corpus.weight for corpus in corpora], seed, 0)
    for corpus, pair in entries.tolist():
        yield from texts[corpus][pair]


def _write_pairs(
    training: dict[str, list[Pair]],
    development: list[tuple[str, Pair]],
    tokenizer: Tokenizer,
    recipe: Recipe,
    folder: RunFolder,
    left_out: dict[str, Counter[str]],
) -> dict[str, object]:
    counts: dict[str, object] = {}
    for config in recipe.corpora:
        encoded = encode_pairs(training[config.name], tokenizer, recipe.max_tokens, config.subword_dropout)
        encoded.save(folder.corpus(config.name))
        left_out[config.name]["too many subwords"] = len(training[config.name]) - len(encoded)
        counts[config.name] = _count(encoded, config) | {"left_out": dict(+left_out[config.name])}
    fitting = [(name, pair) for name, pair in development if len(tokenizer.encode(pair[0]).ids) < recipe.max_tokens]
    if not fitting:
        raise PreparedError(f"no held-out sentence has fewer than {recipe.max_tokens} subwords: raise max_tokens")
    write_lines(folder.development, ("\t".join((name, *pair)) for name, pair in fitting))
    held = encode_pairs([pair for _, pair in fitting], tokenizer, recipe.max_tokens)
    held.save(folder.development_pairs)
    counts["development"] = len(held)
    return counts


def _count(encoded: EncodedPairs, config: CorpusConfig) -> dict[str, object]:
    return {
        "pairs": len(encoded),
        "weight": config.weight,
        "source_tokens": int(encoded.source.offsets[-1]),
        "target_tokens": int(encoded.target.offsets[-1]),
    }
