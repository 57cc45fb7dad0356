"""The shapes of /translate_file and /jobs."""

from typing import Annotated, Literal

from pydantic import Field

from service.api.schemas.common import (
    ApiKey,
    Fields,
    Flag,
    FormalityField,
    Glossary,
    Model,
    OptionalWholeNumber,
    Schema,
    Text,
)
from service.engine import MAX_BEAM_SIZE


class DocumentRequest(Fields):
    """The fields beside the document."""

    source: Text = Field(description="Language of the document, such as `en`, or `auto`")
    target: Text = Field(description="Target language, such as `fr` or `pt-BR`")
    model: Model = None
    beam_size: OptionalWholeNumber = Field(None, ge=1, le=MAX_BEAM_SIZE, description="Beam size; 1 is greedy search")
    glossary: Glossary = None
    formality: FormalityField = "default"
    columns: str | None = Field(
        None, description="csv only: columns to translate, by name or number from 1, separated by commas; default: all"
    )
    header: Flag = Field(False, description="csv only: translate the first row, too; it has the names of the columns")
    metadata: Flag = Field(
        True,
        description="Translate what describes a page beside its text: alt, title, placeholder and description of html, "
        "title of epub, title and description of md",
    )
    api_key: ApiKey = None


class JobProgress(Schema):
    """The progress of a job."""

    segments: int = Field(description="Segments of the document: paragraphs, cells, cues; 0 until it has been read")
    segments_done: int = Field(description="Segments that are translated")


class JobError(Schema):
    """Why a job failed."""

    error: str = Field(description="What went wrong, and what to do")
    code: str = Field(description="A stable word for programs")


class DoubtfulSegment(Schema):
    """A segment that a person should check."""

    segment: int = Field(ge=1, description="Its number in the document, from 1")
    quality: float = Field(ge=0, le=1)
    translation: str = Field(description="The beginning of its translation, by which it can be found in the file")


class JobQuality(Schema):
    """How far the translation can be relied on."""

    mean: float = Field(ge=0, le=1, description="Share of the document that is expected to be usable")
    doubtful: list[DoubtfulSegment] = Field(
        description="Segments with a quality below 0.3, the worst first, at most 100"
    )


class JobSchema(Schema):
    """A job."""

    id: str = Field(description="Random; needed for every further request about the job")
    state: Literal["queued", "running", "done", "failed"]
    format: str
    source: str
    target: str
    detected: str | None = Field(None, description="The language that was recognised; only for `source=auto`")
    created: str = Field(description="ISO 8601, UTC")
    expires: str = Field(description="When its files are deleted, if nothing changes until then")
    progress: JobProgress
    quality: Annotated[JobQuality | None, Field(description="Once the job is done, if the model gives a quality")] = (
        None
    )
    formality_note: str | None = Field(
        None, description="Once the job is done: how many segments do not have the formality that was asked for"
    )
    error: Annotated[JobError | None, Field(description="Only if it failed")] = None
    file: str | None = Field(None, description="Path of the translated document, once the job is done")
