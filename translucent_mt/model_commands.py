"""`translucent models add`, `get` and `available`: models that somebody else trained."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from service.bundle.manifest import named
from service.cli.main import models_commands
from service.cli.models import read_bundles
from service.cli.options import FAILED, WRONG, ModelsDir, fail, read_settings, say
from service.engine import EngineError, ModelSettings, default_and_reason, info_of
from service.engine import pairs_of as language_pairs
from service.extras import installation
from service.settings import Settings

if TYPE_CHECKING:
    from training.imports.get import AddOptions, Offer
    from training.imports.source import ImportedModel

Name = Annotated[str | None, typer.Option(help="Name of the bundle. [default: such as firefox-en-es]")]
Licence = Annotated[str | None, typer.Option(help="The model's licence, where its files do not say it.")]
SevenBits = Annotated[
    bool, typer.Option("--seven-bits", help="Firefox: for a server with an x86 processor without VNNI.")
]
Text = Annotated[Path | None, typer.Option(help="Sentences of the source language, one a line: they make int8 faster.")]
NoGate = Annotated[
    bool, typer.Option("--no-gate", help="Add it even if its int8 graphs do other things than its float graphs.")
]
Architecture = Annotated[str | None, typer.Option(help="Firefox: tiny, base-memory or base. [default: the best]")]
Format = Annotated[str | None, typer.Option("--format", help="firefox or argos. [default: the best]")]


def importing() -> ModuleType:
    """Return the module that fetches and adds models; exit with what to install if it cannot be imported."""
    try:
        from training.imports import get
    except ImportError as error:
        fail(f"adding models needs the extra import ({error}): {installation('import')}.", FAILED)
    return get


@models_commands.command("add")
def add_model(
    model: Annotated[Path, typer.Argument(help="A folder of Firefox or CTranslate2, or a package of Argos.")],
    models_dir: ModelsDir = None,
    name: Name = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the source, where the files do not say it.")
    ] = None,
    target: Annotated[str | None, typer.Option("--to", help="Language to translate into, likewise.")] = None,
    spm: Annotated[Path | None, typer.Option(help="CTranslate2: the SentencePiece model of the source.")] = None,
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    licence: Licence = None,
    seven_bits: SevenBits = False,
    no_gate: NoGate = False,
    text: Text = None,
) -> None:
    """Make a bundle of a downloaded model and put it into the folder of models."""
    get = importing()
    settings = read_settings(models_dir=models_dir)
    try:
        lines = () if text is None else text.read_text("utf-8").splitlines()
        languages = [(language,) if language else () for language in (source, target)]
        known = get.ReadOptions(name, *languages, spm, target_spm, licence, seven_bits=seven_bits)
        options = get.AddOptions(known, gate=not no_gate, text=lines)
        added = get.add_model(model, settings.models_dir, options)
    except (get.ImportRefused, OSError, UnicodeDecodeError) as error:
        fail(str(error), FAILED)
    say_added(settings, *added)


@models_commands.command("get")
def get_models(
    languages: Annotated[
        list[str] | None, typer.Argument(help="Source and target, such as en es; or pairs, such as en-es es-en.")
    ] = None,
    all_to: Annotated[str | None, typer.Option(help="Get the best model of every pair into this language.")] = None,
    models_dir: ModelsDir = None,
    architecture: Architecture = None,
    format_: Format = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    if_missing: Annotated[
        bool, typer.Option("--if-missing", help="Ask the network for pairs alone that no model here translates.")
    ] = False,
    name: Name = None,
    licence: Licence = None,
    seven_bits: SevenBits = False,
    no_gate: NoGate = False,
) -> None:
    """Download published models, make bundles of them, and put them into the folder of models."""
    get = importing()
    settings = read_settings(models_dir=models_dir)
    if (all_to is None) == (not languages):
        fail("Name two languages (models get en es), pairs (models get en-es es-en) or --all-to.", WRONG)
    options = get.AddOptions(get.ReadOptions(name, licence=licence, seven_bits=seven_bits), gate=not no_gate)
    served = served_pairs(settings) if if_missing else set()
    pairs = [pair for pair in pairs_of(languages or ()) if pair not in served]
    if not pairs and not all_to:
        return
    try:
        offered = get.offers(get.catalogues(settings.models_index), say)
        wanted = get.Wanted(architecture, format_)
        chosen = get.into(offered, all_to, wanted) if all_to else []
        for pair in pairs:
            legs = get.choose(offered, *pair, wanted, settings.pivot_language)
            if len(legs) > 1:
                typer.echo(f"{' → '.join(pair)} goes through {settings.pivot}, in two models.")
            chosen += [offer for offer in legs if offer not in chosen]
        missing = [offer for offer in chosen if not get.is_installed(offer, settings.models_dir, name)]
        for offer in chosen:
            typer.echo(str(offer) if offer in missing else f"{offer.pair}: is there already")
        if missing and not yes:
            ask(len(missing))
        get_all(settings, missing, options)
    except (get.ImportRefused, OSError) as error:
        fail(str(error), FAILED)


def get_all(settings: Settings, offers: "Sequence[Offer]", options: "AddOptions") -> None:
    """Get models, one after the other, also if one of them is refused; exit with all that were."""
    get, refused = importing(), []
    for offer in offers:
        try:
            say_added(settings, *get.get_model(offer, settings.models_dir, options))
        except get.ImportRefused as error:
            refused.append(str(error))
    if refused:
        fail("\n".join(refused), FAILED)


@models_commands.command("available")
def available(
    source: Annotated[str | None, typer.Option("--from", help="Only models from this language.")] = None,
    target: Annotated[str | None, typer.Option("--to", help="Only models into this language.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the best model of each pair as a JSON list.")] = False,
) -> None:
    """List the published models that can be got, the best of each pair first."""
    get = importing()
    try:
        pairs = get.pairs_of(get.offers(get.catalogues(read_settings().models_index), say))
    except get.ImportRefused as error:
        fail(str(error), FAILED)
    pairs = {pair: some for pair, some in pairs.items() if source in (None, pair[0]) and target in (None, pair[1])}
    if as_json:
        typer.echo(json.dumps([_entry(offered[0]) for offered in pairs.values()]))
        return
    for (one, other), offered in pairs.items():
        typer.echo(f"{one} → {other}: " + ", ".join(_listed(offer) for offer in offered))


def _entry(offer: "Offer") -> dict[str, str | int | None]:
    model = offer.model
    return {"source": model.source, "target": model.target, "model": str(model), "bytes": model.size,
            "licence": offer.licence}  # fmt: skip


def _listed(offer: "Offer") -> str:
    size = offer.model.size
    return f"{offer.model}{'' if size is None else f' ({math.ceil(size / 1e6)} MB)'}"


def ask(count: int) -> None:
    """Ask whether models are to be downloaded; exit if not, or if nobody can answer."""
    question = "Get it?" if count == 1 else f"Get these {count}?"
    if not sys.stdin.isatty():
        fail(f"{question} Nobody can answer here; --yes says it.", WRONG)
    typer.confirm(question, abort=True)


def pairs_of(languages: "list[str] | tuple[()]") -> list[tuple[str, str]]:
    """Return the pairs of the command line: two languages, or each a pair with a hyphen; exit for anything else."""
    if len(languages) == 2 and not all(pair_of(word) for word in languages):
        return [(languages[0], languages[1])]
    pairs = [pair_of(word) for word in languages]
    if None in pairs:
        fail(f"{languages[pairs.index(None)][:64]!r} is no pair of languages, such as en-es.", WRONG)
    return [pair for pair in pairs if pair]


def pair_of(word: str) -> tuple[str, str] | None:
    """Return the languages of a pair: the second begins where two or three small letters follow a hyphen."""
    parts = word.split("-")
    place = next((place for place, part in enumerate(parts) if place and part.islower() and len(part) < 4), None)
    return None if place is None else ("-".join(parts[:place]), "-".join(parts[place:]))


def served_pairs(settings: Settings) -> set[tuple[str, str]]:
    """Return the pairs of the bundles in the folder of models."""
    try:
        bundles, _ = read_bundles(settings.models_dir)
    except EngineError:
        return set()  # no bundle so far
    return {pair for bundle in bundles for pair in language_pairs(info_of(bundle, ModelSettings("cpu")))}


def say_added(settings: Settings, made: Path, found: "ImportedModel") -> None:
    """Say what was added, which model is now the default of its pair and why, and how to change that."""
    sides = named(found.source_languages), named([target.language for target in found.targets])
    typer.echo(f"{made}: {' → '.join(sides)}, {found.origin.licence}")
    pair = found.source_languages[0], found.targets[0].language
    try:
        bundles, _ = read_bundles(made.parent)
        infos = [info_of(bundle, ModelSettings("cpu")) for bundle in bundles]
    except EngineError:
        return  # another bundle cannot be served, which `translucent models` says
    rivals = [info for info in infos if pair in language_pairs(info)]
    default, reason = default_and_reason(rivals, settings.default_bundles, pair)
    stays = "is" if default == made.name else "stays"
    change = "" if default == made.name else f"; TRANSLUCENT_DEFAULT_MODELS={made.name} changes that"
    typer.echo(f"{pair[0]} → {pair[1]}: {default} {stays} the default, {reason}{change}.")
    say("A running server loads it when it gets SIGHUP: kill -HUP PID")
