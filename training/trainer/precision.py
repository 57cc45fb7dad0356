"""The precision of a run: that of its recipe or, for ``auto``, the fastest one in a short measurement."""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import torch
from torch import nn

from training.runs.folder import RunFolder

Precision = Literal["fp32", "bf16", "fp16"]
PLUGINS: Mapping[Precision, str] = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}
"""Lightning's names."""

Losses = Callable[[nn.Module], Iterator[torch.Tensor]]

GAIN = 1.05
"""The least speed-up over fp32 for which half precision is chosen: less may be noise, and fp32 rounds less."""
ROUNDS = 3
WAIT_SECONDS = 600.0


class PrecisionError(ValueError):
    """This machine cannot train in the requested precision."""


def require_possible(precision: str, cuda: bool) -> None:
    """Raise PrecisionError for fp16 without a GPU: PyTorch has no loss scaling for it on a CPU."""
    if precision == "fp16" and not cuda:
        raise PrecisionError("optimisation.precision fp16 needs an NVIDIA GPU: use bf16, fp32 or auto")


def candidates(cuda: bool) -> tuple[Precision, ...]:
    """Return the precisions that ``auto`` chooses from."""
    return ("fp32", "bf16", "fp16") if cuda else ("fp32", "bf16")


def quickest(seconds: Mapping[Precision, float]) -> Precision:
    """Return the fastest precision, or fp32 unless another is ``GAIN`` times as fast."""
    best = min(seconds, key=lambda precision: seconds[precision])
    return best if seconds["fp32"] >= GAIN * seconds[best] else "fp32"


def chosen_before(folder: RunFolder) -> Precision | None:
    """Return the choice of ``auto`` at the beginning of this run; None for a run that has not begun."""
    if not folder.precision.exists():
        return None
    precision: Precision = json.loads(folder.precision.read_text(encoding="utf-8"))["precision"]
    return precision


def wait_for_choice(folder: RunFolder, seconds: float = WAIT_SECONDS) -> Precision:
    """Return the choice of the first of several processes; raise PrecisionError if it does not arrive in time."""
    until = time.monotonic() + seconds
    while (found := chosen_before(folder)) is None:
        if time.monotonic() > until:
            raise PrecisionError(
                f"{folder.precision} did not appear: is the run folder on a disk that all processes share?"
            )
        time.sleep(0.2)
    return found


def choose(folder: RunFolder, network: nn.Module, losses: Losses, device: torch.device) -> tuple[Precision, str]:
    """Measure updates of ``network`` in every precision, write the choice to the run folder and log it.

    ``losses`` yields the loss of one batch after another for a given network.
    """
    seconds = measure(network, losses, device)
    precision = quickest(seconds)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    content = {"precision": precision, "seconds": seconds, "device": where, "torch": torch.__version__}
    staged = folder.precision.with_suffix(".new")
    staged.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    staged.replace(folder.precision)
    figures = ", ".join(f"{name} {value:.3g} s" for name, value in seconds.items())
    return precision, f"precision auto: {precision} ({figures} for some updates; {where})"


def measure(network: nn.Module, losses: Losses, device: torch.device) -> dict[Precision, float]:
    """Return the seconds of the updates in each precision, the least of several rounds; infinity after an overflow.

    The precisions alternate, so that other load of the machine affects all of them.
    """
    rounds: dict[Precision, list[float]] = {precision: [] for precision in candidates(device.type == "cuda")}
    own = copy.deepcopy(network).to(device).train()
    optimiser = torch.optim.AdamW(own.parameters(), lr=1e-6)
    for _ in range(ROUNDS + 1):
        for precision, seconds in rounds.items():
            seconds.append(_round(precision, own, optimiser, losses, device))
    return {precision: min(seconds[1:]) for precision, seconds in rounds.items()}  # the first round warms up


def _round(
    precision: Precision, network: nn.Module, optimiser: torch.optim.Optimizer, losses: Losses, device: torch.device
) -> float:
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    started, finite = _now(device), True
    with torch.autocast(device.type, types[precision], enabled=precision != "fp32"):
        for loss in losses(network):
            with torch.autocast(device.type, enabled=False):
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
                finite = finite and bool(torch.isfinite(loss))
    return _now(device) - started if finite else math.inf


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
