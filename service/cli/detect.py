"""`translucent detect`: the language of each text or line, among those of the models."""

import json
from typing import Annotated

import typer

from service.cli.lines import read_lines
from service.cli.options import FAILED, Input, ModelsDir, fail, read_settings
from service.cli.source_language import served_languages
from service.detection import NOTHING, Detector
from service.engine import EngineError

UNDETERMINED = "und"  # ISO 639-2


def detect(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts; without any, the lines of the input.")] = None,
    input: Input = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every language of each text, as /detect.")] = False,
    models_dir: ModelsDir = None,
) -> None:
    """Print the language of each text, and how sure that is from 0 to 100: en, fr, …; und if none is recognised."""
    settings = read_settings(models_dir=models_dir)
    try:
        detector = Detector(served_languages(settings.models_dir, settings.pivot_language).primary)
        with read_lines(input, "the input") as lines:
            for text in texts or lines:
                guesses = detector.detect(text)
                if as_json:
                    typer.echo(
                        json.dumps([{"language": guess.language, "confidence": guess.confidence} for guess in guesses])
                    )
                else:
                    named = UNDETERMINED if guesses == [NOTHING] else guesses[0].language
                    typer.echo(f"{named}\t{guesses[0].confidence}")
    except EngineError as error:
        fail(error.message, FAILED)
