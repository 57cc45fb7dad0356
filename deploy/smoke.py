"""Use an installed wheel as a stranger would: serve, translate, look at the attention, from Python and over HTTP.

Run by the Python of the environment, from an empty folder; the argument is the folder of a bundle. Somebody else's
`service` and `training` are importable meanwhile.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from translucent_mt import Translator

DECOYS = ("service", "training")


@contextlib.contextmanager
def serving(models: Path) -> Iterator[str]:
    """Yield the address of a server of the installed program."""
    program = Path(sys.executable).with_name("translucent")
    variables = {**os.environ, "TRANSLUCENT_PORT": "0"}
    command = [str(program), "serve", "--models-dir", str(models)]
    server = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        url, lines = "", []
        for line in server.stdout:
            lines.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            url = event.get("url", url)
            if event.get("event") == "ready":
                break
        assert url, f"the server did not start: {''.join(lines)}"
        yield url
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert server.returncode == 0, f"the server ended with {server.returncode}"


def check(bundle: Path) -> None:
    """Raise AssertionError unless everything works, and both places give the same."""
    assert [importlib.import_module(name).OWNER for name in DECOYS] == ["somebody else"] * len(DECOYS)

    text = "I lost."
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder)
        (models / bundle.name).symlink_to(bundle.resolve(), target_is_directory=True)
        with Translator.load(str(bundle)) as local, serving(models) as url, Translator.connect(url) as remote:
            here, there = local(text), remote(text)
            assert here.text == there.text
            assert here.text not in ("", text)
            assert here.attention.plot().svg == there.attention.plot().svg
            probe = [sys.executable, "-m", "translucent_mt.service.cli.probe"]
            port = url.rstrip("/").rpartition(":")[2]
            subprocess.run(probe, env={**os.environ, "TRANSLUCENT_PORT": port}, check=True)
    print(f"{sys.version.split()[0]}: {text} → {here.text}")  # noqa: T201 - the result


def main() -> None:
    """Check the bundle of the command line beside other people's packages."""
    bundle = Path(sys.argv[1])
    if os.environ.get("SMOKE_BESIDE_OTHERS") != "1":
        with tempfile.TemporaryDirectory() as folder:
            for name in DECOYS:
                (Path(folder) / f"{name}.py").write_text('OWNER = "somebody else"\n', encoding="utf-8")
            variables = {**os.environ, "SMOKE_BESIDE_OTHERS": "1", "PYTHONPATH": folder}
            command = [sys.executable, str(Path(__file__).resolve()), str(bundle.resolve())]
            raise SystemExit(subprocess.run(command, cwd=folder, env=variables, check=False).returncode)
    check(bundle)


if __name__ == "__main__":
    main()
