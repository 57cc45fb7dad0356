"""What an import costs: time and memory of the import itself, and of a server with the bundle."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora import ROOT
from benchmarks.load.servers import Server, serving
from service.bundle.load import load_bundle

LONGEST = 24
"""Tokens of a translation: random weights do not know where to end."""


class Cost(NamedTuple):
    """Resources of a command that has ended."""

    seconds: float
    processor_seconds: float
    megabytes: float
    """Peak memory."""


class Serving(NamedTuple):
    """Start and memory of a server, in seconds and megabytes."""

    ready: float
    at_ready: float
    after_translations: float
    after_attention: float


def import_checkpoint(checkpoint: Path, bundle: Path, text: Path) -> Cost:
    """Import a MarianMT checkpoint and have CTranslate2 convert it, too; return the cost of our import."""
    command = [sys.executable, "-m", "training", "import", "opus-mt", str(checkpoint), "--output", str(bundle)]
    cost = _run([*command, "--text", str(text), "--source", "en", "--target", "fr"])
    folder = bundle.with_name(f"{bundle.name}.ctranslate2")
    shutil.rmtree(folder, ignore_errors=True)
    code = "import sys; from ctranslate2.converters import TransformersConverter as C; "
    code += "C(sys.argv[1]).convert(sys.argv[2], quantization='int8')"
    _run([sys.executable, "-c", code, str(checkpoint), str(folder)])
    return cost


def bundle_megabytes(bundle: Path) -> float:
    """Return the size of all files of a bundle."""
    return sum(path.stat().st_size for path in bundle.iterdir()) / 2**20


def measure_serving(bundles: Sequence[Path], texts: Sequence[str]) -> Serving:
    """Start a server with some bundles and measure it; requests are for the last one."""
    name = load_bundle(bundles[-1]).manifest.name
    begun = time.perf_counter()
    with serving("translucent", list(bundles), TRANSLUCENT_CONNECTION_LIMIT="1000") as server:
        _wait_until_ready(server, name)
        ready = time.perf_counter() - begun
        _post(server, "/detect", {"q": "warm up"})  # the detector is loaded in the background, with and without imports
        at_ready = server.megabytes()
        fields = {"source": "en", "target": "fr", "model": name, "max_length": LONGEST}
        for text in texts:
            _post(server, "/translate", {"q": text, **fields})
        after_translations = server.megabytes()
        _post(server, "/attention", {"text": texts[0], "target_text": texts[0], **fields})
        return Serving(ready, at_ready, after_translations, server.megabytes())


def _wait_until_ready(server: Server, model: str) -> None:
    """Wait for one model: the server is ready as soon as any of them is."""
    for _ in range(6000):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/v2/models/{model}/ready", timeout=5):
                return
        except urllib.error.HTTPError:
            time.sleep(0.02)
    raise RuntimeError(f"{model} did not get ready")


def _post(server: Server, path: str, fields: dict[str, object]) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}", json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()


def _run(command: Sequence[str]) -> Cost:
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[2:5]} ended with {process.returncode}")
    return Cost(time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
