"""`make gpu-check`: checks and measures a bundle on an NVIDIA GPU, and writes docs/benchmarks.md.

It checks that models really run on the GPU, that translations, log-probabilities and attention are those of the CPU,
and that a sentence is translated alone as in company. Then it measures speed and memory against CTranslate2 in float16
and PyTorch in half precision at batch 1 to 512, for the bundle and a base model of 74 million parameters with random
weights, and the service under load. It ends with 1 if a check failed.
`--device cpu` rehearses all of it without a GPU; those figures mean nothing.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import sacrebleu

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.engine.__main__ import table as speed_table
from benchmarks.engine.engines import Ids, Setting
from benchmarks.engine.isolated import IsolatedEngine
from benchmarks.engine.measure import Row, Text, compare
from benchmarks.gpu.base_model import write_base
from benchmarks.gpu.checks import (
    PRECISION,
    Check,
    exactness,
    invariance,
    nodes_of,
    open_on,
    parity,
    placement,
    provider,
    translated,
)
from benchmarks.gpu.memory import gpu_megabytes, gpu_name
from benchmarks.gpu.steps import step_check
from benchmarks.gpu.whole import write_whole
from benchmarks.load.servers import process_tree, serving
from benchmarks.machine import heading
from benchmarks.tables import markdown, put
from service.bundle.load import Bundle, load_bundle
from service.bundle.manifest import Precision
from service.engine import own_providers
from service.engine.model.device import CUDA
from service.engine.text.tokenizer import Tokenizer, load_tokenizers

BATCHES = (1, 8, 32, 64, 128, 256, 512)
BEAMS = (1, 4)


def main() -> None:
    """Check, measure, publish."""
    options = _options()
    if options.device == "cuda" and CUDA not in own_providers():
        sys.exit(
            f"There is no GPU to check: ONNX Runtime has {', '.join(own_providers())}. On a machine with an NVIDIA "
            "GPU, `make gpu-check` installs what is needed; `--device cpu` rehearses the checks here."
        )
    checks = [*placed(options), *checked(options), *served(options)]
    bundle = load_bundle(options.bundle)
    rows = measured(bundle, options) + ([] if options.skip_base else measured_base(bundle, options))
    load = [] if options.skip_load else [under_load(options)]
    text = "\n\n".join([report(checks), speed_table(rows), *load])
    if options.publish:
        put("gpu", f"{heading()}; {_device_name(options)}\n\n{text}")
    print(text)  # noqa: T201
    sys.exit(not all(check.passed for check in checks))


def checked(options: argparse.Namespace) -> list[Check]:
    """Return the checks of the engine: where it runs, parity with the CPU, and the same alone as in company."""
    bundle = load_bundle(options.bundle)
    tokenizer = load_tokenizers(bundle).source
    sources = [tokenizer.encode(text) for text in load_corpus("tatoeba", "en-fr", options.sentences).sources]
    model, on_cpu = open_on(bundle, options.device), open_on(bundle, "cpu")
    with tempfile.TemporaryDirectory() as folder:
        whole = write_whole(bundle, Path(folder) / bundle.folder.name)
        exact = [exactness(whole, sources, beam) for beam in BEAMS]
    found = [provider(model, options.device), *step_check(bundle, model, sources), *exact]
    for beam in BEAMS:
        together = translated(model, bundle, sources, beam)
        found.append(parity(together, translated(on_cpu, bundle, sources, beam), bundle, beam))
        found.append(invariance(translated(model, bundle, sources, beam, together=False), together, bundle, beam))
    return found


def placed(options: argparse.Namespace) -> list[Check]:
    """Return for every shipped bundle whether its nodes ran on the device while it translated, scored and explained."""
    found = []
    for manifest in sorted(ROOT.glob("models/*/manifest.json")):
        bundle = load_bundle(manifest.parent)
        found.append(placement(nodes_of(bundle, options.device), options.device, bundle.manifest.name))
    return found


def served(options: argparse.Namespace) -> list[Check]:
    """Return the checks of the server: it is ready with this device, says so, and takes so much memory."""
    with serving("translucent", [options.bundle], options.device) as server:
        address = f"http://127.0.0.1:{server.port}"
        [model] = httpx.get(f"{address}/models").json()["models"]
        fields = {"q": "I lost.", "source": "en", "target": "fr"}
        status = httpx.post(f"{address}/translate", json=fields, timeout=60).status_code
        memory = f"{server.megabytes():.0f} MB"
        if options.device == "cuda":
            memory += f", on the GPU {gpu_megabytes(process_tree(server.pid)):.0f} MB"
    passed = (model["device"], status) == (options.device, 200)
    measured = (
        f"{model['device']}, {model['provider']}, {model['precision']}; ready after {server.seconds_to_ready:.1f} s"
    )
    return [Check("the server", passed, f"{measured}; {memory}", f"{options.device}, answers 200")]


def measured(bundle: Bundle, options: argparse.Namespace) -> list[Row]:
    """Return the speed of the engines at each batch size, on the same sentences in turns."""
    tokenizer = load_tokenizers(bundle).source
    precisions = {
        "cuda": (f"{PRECISION}@cuda", "float16@cuda", "eager@cuda"),
        "cpu": ("int8@cpu", "int8@cpu", "eager@cpu"),
    }
    names = zip(("translucent", "ctranslate2", "torch"), precisions[options.device], strict=True)
    engines = {name: IsolatedEngine(name[0], bundle.folder, name[1]) for name in names}
    rows: list[Row] = []
    try:
        for beam in BEAMS:
            for batch in options.batches:
                corpus = load_corpus("tatoeba", "en-fr", max(options.sentences, 2 * batch))
                sources = [tokenizer.encode(source) for source in corpus.sources]
                text = Text(bundle.manifest.name, corpus.name, sources, bleu_of(tokenizer, corpus.references))
                rows += compare(engines, text, Setting(beam, batch, 1), options.rounds)
                print(speed_table(rows[-len(engines) :]), flush=True)  # noqa: T201
    finally:
        for engine in engines.values():
            engine.close()
    return rows


def measured_base(bundle: Bundle, options: argparse.Namespace) -> list[Row]:
    """Return the same for the base model, whose products are large enough for a GPU."""
    precision: Precision = PRECISION if options.device == "cuda" else "int8"
    with tempfile.TemporaryDirectory() as folder:
        return measured(load_bundle(write_base(bundle, Path(folder) / "base", precision)), options)


def bleu_of(tokenizer: Tokenizer, references: Sequence[str]) -> Callable[[Sequence[Ids]], float]:
    """Return a function that gives the BLEU score of translations."""

    def score(found: Sequence[Ids]) -> float:
        texts = [tokenizer.locate(ids).text for ids in found]
        return float(sacrebleu.corpus_bleu(texts, [list(references)]).score)

    return score


def under_load(options: argparse.Namespace) -> str:
    """Return the tables of `benchmarks.load` for the services with this device."""
    command = [sys.executable, "-m", "benchmarks.load", str(options.bundle), "--device", options.device, "--quick"]
    command += ["--services", "translucent", "ctranslate2 x1", "--output", str(ROOT / "runs/bench/gpu-load.json")]
    command += ["--seconds", str(options.load_seconds), "--first-rate", str(options.first_rate)]
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return "\n".join(line for line in printed.splitlines() if line.startswith("|") or not line)


def report(checks: Sequence[Check]) -> str:
    """Return a table of checks."""
    rows = [[each.name, "yes" if each.passed else "**no**", each.measured, each.asked] for each in checks]
    return markdown(("check", "passed", "measured", "asked"), rows)


def _device_name(options: argparse.Namespace) -> str:
    return gpu_name() if options.device == "cuda" else "**a rehearsal without a GPU**"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", nargs="?", type=Path, default=ROOT / "models" / "transformer-en-fr")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--first-rate", type=float, default=100.0, help="requests a second of the service")
    parser.add_argument("--load-seconds", type=float, default=6.0, help="at each rate")
    parser.add_argument("--skip-base", action="store_true", help="leave the model of 74 million parameters out")
    parser.add_argument("--skip-load", action="store_true", help="leave the service under load out")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--short", action="store_true", help="for a GPU that is lent for some minutes")
    options = parser.parse_args()
    if options.short:
        options.sentences, options.batches, options.rounds, options.load_seconds = 256, (1, 32, 128, 512), 1, 3.0
    return options


if __name__ == "__main__":
    main()
