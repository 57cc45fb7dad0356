"""The commands of the training package as a user types them, and what `import --check` writes down."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from service.bundle.load import load_bundle
from training.__main__ import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def call(*arguments: object) -> str:
    """Run a command; return what it prints, or raise its error."""
    found = run(*arguments)
    if found.exception:
        raise found.exception
    return found.output


def refusal(*arguments: object) -> BaseException | None:
    """Run a command, which should fail; return its error."""
    return run(*arguments).exception


def lines(path: Path, texts: Iterable[str]) -> Path:
    """Write a file with a text a line."""
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def verdict(bundle: Path) -> dict[str, Any]:
    """Return what the last check of a bundle found."""
    checked: dict[str, Any] = load_bundle(bundle).manifest.card["imported"]["checked"]
    return checked


def figures(bundle: Path) -> dict[tuple[str, str | None], float]:
    """Return the figures of the last check by what was compared and in which precision."""
    return {(each["what"], each.get("precision")): each["value"] for each in verdict(bundle)["figures"]}
