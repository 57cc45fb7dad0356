"""`translucent translate`: its options; `service.cli.translate` does the work."""

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from service.cli import documents
from service.cli import translate as bulk
from service.cli.find_model import ModelQuery
from service.cli.open_models import BulkOptions, LineOptions
from service.cli.options import (
    FAILED,
    INTERRUPTED,
    WRONG,
    Device,
    IntraThreads,
    ModelsDir,
    Precision,
    fail,
    read_settings,
    with_fields,
)
from service.cli.source_language import sample_of, with_source
from service.documents.format import limits_of
from service.engine import EngineError, InvalidOption, UnsupportedPair
from service.glossaries.checks import InvalidGlossary
from service.logs import configure_logging

Texts = Annotated[
    list[str] | None, typer.Argument(help="Texts to translate, or names of documents (docx, html, po, …), or a folder.")
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        "-f",
        help="Language of the text; auto detects it. [default: the only possible one, unless the text is surely in "
        "another one; detected if several are possible]",
    ),
]
Target = Annotated[str | None, typer.Option("--to", "-t", help="Language to translate into.")]
Model = Annotated[
    str | None,
    typer.Option(
        help="A bundle's folder, a model's name in the folder of models, or with --to an architecture. "
        "[default: the best measured model of the languages]"
    ),
]
Pivot = Annotated[
    str | None,
    typer.Option(
        help="Language to translate through, in two legs, if no model translates the pair; off: through none. "
        "[default: en] [env: TRANSLUCENT_PIVOT]"
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Columns of a table (csv) to translate, by name or number from 1, separated by commas."),
]
Header = Annotated[bool, typer.Option("--header", help="Translate the first row of a table (csv), too.")]
Metadata = Annotated[
    bool,
    typer.Option(
        "--metadata/--no-metadata",
        help="Translate what describes a page beside its text: alt, title, placeholder and description of html, title "
        "of epub, title and description of md.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count the words and characters of each document; nothing is translated.")
]


@with_fields(LineOptions)
def translate(
    texts: Texts = None,
    source: Source = None,
    target: Target = None,
    model: Model = None,
    pivot: Pivot = None,
    *,
    columns: Columns = None,
    header: Header = False,
    metadata: Metadata = True,
    dry_run: DryRun = False,
    models_dir: ModelsDir = None,
    device: Device = None,
    precision: Precision = None,
    intra_threads: IntraThreads = None,
    **fields: Any,
) -> None:
    """Translate texts, documents, or a file line by line, or score and align translations that you have.

    There is one line out for each line in, and empty lines stay empty. Text in a language that is not translated ends
    with an error, unless --from names one. A file named - is standard input or output. A
    document keeps its format: translucent translate report.docx --to fr writes report.fr.docx.
    """
    settings = read_settings(
        models_dir=models_dir,
        pivot=pivot,
        device=device,
        precision=precision,
        intra_threads=intra_threads,
    )
    configure_logging("warning", "console", sys.stderr)
    options = BulkOptions(
        wanted=ModelQuery(model, source, target, settings.default_bundles, settings.pivot_language),
        models_dir=settings.models_dir,
        texts=tuple(texts or ()),
        device=settings.device,
        precision=settings.chosen_precision,
        intra_threads=settings.intra_threads,
        max_rows=0 if settings.max_rows == "auto" else settings.max_rows,
        **fields,
    )
    try:
        if documents.are_documents(options.texts):
            chosen = tuple(name.strip() for name in (columns or "").split(",") if name.strip())
            documents.run(options, documents.DocumentOptions(limits_of(settings), chosen, header, metadata, dry_run))
        elif dry_run:
            raise InvalidOption("--dry-run counts documents; name some, or a folder.")
        else:
            bulk.run(replace(options, wanted=with_source(options.wanted, options.models_dir, lambda: _sample(options))))
    except (InvalidOption, InvalidGlossary, UnsupportedPair) as error:
        fail(error.message, WRONG)
    except EngineError as error:
        fail(error.message, FAILED)
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)


def _sample(options: BulkOptions) -> str:
    """Return the beginning of what is translated, to detect its language."""
    return "\n".join(options.texts) if options.texts else sample_of(options.input)
