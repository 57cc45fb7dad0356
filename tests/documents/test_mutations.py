"""Valid files, changed at random: each is a document or is refused with a sentence, and is written if it was read.

MUTATIONS=2000 changes each of them so many times, otherwise than before in each run.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from service.documents.encodings import name_of_encoding
from service.documents.errors import DocumentError
from service.documents.format import Limits, ReadOptions, check_segments, format_of
from tests.support.growth import processor_seconds
from tests.support.mutations import CHANGES, Change, mutated
from tests.support.valid_documents import valid_documents

OWN = os.environ.get("MUTATIONS")
EXAMPLES = int(OWN or 12)
SECONDS = 4.0  # of a processor; a usual file takes a hundredth
UNCHANGED = frozenset({"txt", "csv", "json", "properties", "strings", "android", "stringsdict", "srt", "vtt"})
"""Formats whose files keep every byte if nothing is translated and no language is named."""


def read_and_written(name: str, data: bytes) -> None:
    """Assert that a file is refused with a sentence, or is read and can be written as it was."""
    options = ReadOptions("", Limits())
    form = format_of(name)
    try:
        document = form.read(data, options)
        check_segments(document.segments, options.limits)
    except DocumentError as error:
        assert error.message.endswith(".")  # noqa: PT017 - refusal is as good as success
        assert len(error.message) < 250  # noqa: PT017
        return
    written = document.write([*document.segments])
    if form.name in UNCHANGED:
        is_old = name_of_encoding(data) == "Windows-1252"  # most formats write its translation in UTF-8
        assert written in ({data, data.decode("cp1252").encode()} if is_old else {data})
    document.write([f"{segment} more" for segment in document.segments])


def names() -> list[str]:
    return [name for name in valid_documents() if name != "a.pdf" or OWN]  # it is read by a program


@pytest.mark.parametrize("name", names())
@settings(
    max_examples=EXAMPLES,
    derandomize=not OWN,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(changes=CHANGES)
def test_a_changed_file_is_read_or_refused(name: str, changes: list[Change]) -> None:
    data = mutated(valid_documents()[name], changes)
    assert processor_seconds(lambda: read_and_written(name, data), SECONDS) < SECONDS


@pytest.mark.parametrize("name", valid_documents())
def test_a_file_without_changes_has_text(name: str) -> None:
    assert format_of(name).read(valid_documents()[name], ReadOptions("fr")).segments
