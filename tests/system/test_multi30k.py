"""The Multi30k model kept for tests translates captions, given by its folder."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.main import cli

BUNDLES = sorted(path.parent for path in (Path(__file__).parents[1] / "data" / "bundles").glob("*/manifest.json"))
CAPTIONS = {
    "a man in a blue shirt is standing on a ladder .": ("mann", "blauen", "leiter"),
    "two dogs are running through the snow .": ("zwei hunde", "schnee"),
    "a little girl is sitting on a bench .": ("mädchen", "bank"),
}


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda folder: folder.name)
def test_captions_are_translated(bundle: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "captions", tmp_path / "translations"
    source.write_text("".join(f"{caption}\n" for caption in CAPTIONS), encoding="utf-8")
    done = CliRunner().invoke(
        cli, ["translate", "--model", str(bundle), "--input", str(source), "--output", str(target), "--beam-size", "5"]
    )
    assert done.exit_code == 0, done.output
    for words, line in zip(CAPTIONS.values(), target.read_text(encoding="utf-8").splitlines(), strict=True):
        assert line.endswith(" .")
        assert all(word in line for word in words), line
