"""The shapes of /pooling."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from service.api.schemas.common import Accepts, Fields, Lowered, Number, Schema, decimal, trimmed

PoolingFormat = Literal["json", "svg", "png", "html", "csv", "npz", "vega"]
LEAST_WIDTH, MOST_WIDTH = 0.001, 1_000.0
MOST_QUERIES = 200
QUERIES = rf"^-?[0-9]{{1,6}}(\.[0-9]{{1,9}})?(,-?[0-9]{{1,6}}(\.[0-9]{{1,9}})?){{0,{MOST_QUERIES - 1}}}$"


def width_of(value: object) -> object:
    """Return a width as a number, or the word "learned"."""
    return value.lower() if isinstance(value, str) and value.lower() == "learned" else decimal(value)


class PoolingRequest(Fields):
    """The kernel, its width, the queries, and the form of the answer."""

    kernel: Annotated[
        Literal["average", "gaussian", "boxcar", "epanechnikov", "triangular"], Lowered
    ] = Field("gaussian", description="How the weight of a key falls with its distance from the query")  # fmt: skip
    width: Annotated[
        Literal["learned"] | Annotated[float, Field(ge=LEAST_WIDTH, le=MOST_WIDTH)],
        BeforeValidator(width_of),
        Accepts(f"learned, or a number from {LEAST_WIDTH} to {MOST_WIDTH:g}"),
    ] = Field(
        "learned",
        description="How far a query looks: the standard deviation of the Gaussian, half the window of the other "
        "kernels. `learned`: the width of the least leave-one-out error",
    )
    x: Annotated[
        Annotated[str, Field(pattern=QUERIES)] | None,
        BeforeValidator(trimmed),
        Accepts(f"1 to {MOST_QUERIES} numbers with commas between them, such as 0.5,1,2.5"),
    ] = Field(None, description="The queries, with commas between them; default: 0, 0.1, … 4.9")
    format: Annotated[PoolingFormat, Lowered] = Field("json", description="Instead of the Accept header")
    view: Annotated[Literal["heatmap", "fit"], Lowered] = Field(
        "heatmap", description="Of pictures: the weights, or the fitted curve"
    )
    theme: Annotated[Literal["light", "dark"], Lowered] = Field("light", description="Of pictures")
    scale: Number = Field(1.0, ge=0.25, le=4, description="Pixels of a PNG for each pixel of the SVG")


class PoolingResponse(Schema):
    """A fit with its weights."""

    kernel: str
    width: float
    learned: bool = Field(description="Whether the width is the learned one")
    digest: str = Field(description="SHA-256 of the graph")
    axes: list[str] = Field(description="Names of the axes of `weights`: query, key")
    queries: list[float]
    keys: list[float]
    values: list[float] = Field(description="Of the keys, with noise")
    truth: list[float] = Field(description="Of the queries: 2 sin x + x^0.8")
    fit: list[float | None] = Field(description="The weighted means; null for a query without a key in its window")
    weights: list[list[float | None]]
    error: float | None = Field(description="Mean squared distance of the fit from the truth, where the fit is known")
