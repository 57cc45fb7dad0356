"""Reading a run's checkpoints."""

from __future__ import annotations

from pathlib import Path

import torch

from training.prepare import RunFolder

Parameters = dict[str, torch.Tensor]


def newest_checkpoint(folder: RunFolder) -> Path | None:
    """The checkpoint of the latest update, or None in a fresh folder."""
    found = list(folder.checkpoints.glob("[0-9]*.ckpt"))
    return max(found, key=lambda path: int(path.stem)) if found else None


def average_checkpoints(folder: RunFolder, last: int) -> Parameters:
    """The mean of the ``last`` checkpoints' network parameters (1706.03762, section 6.1).

    Older ones may lie there too, from before ``keep_checkpoints`` was changed. Raises FileNotFoundError when there is
    none.
    """
    paths = sorted(folder.checkpoints.glob("[0-9]*.ckpt"), key=lambda path: int(path.stem))[-last:]
    if not paths:
        raise FileNotFoundError(f"no checkpoint in {folder.checkpoints}: train first")
    total: Parameters = {}
    for path in paths:
        for name, value in load_parameters(path).items():
            total[name] = total[name] + value if name in total else value.clone()
    return {name: value / len(paths) for name, value in total.items()}


def load_parameters(checkpoint: Path) -> Parameters:
    """The network's parameters in a checkpoint, or in a file of parameters alone."""
    content = torch.load(checkpoint, map_location="cpu", weights_only=False)
    parameters: Parameters = content.get("state_dict", content)
    prefix = "network."
    if "state_dict" not in content:
        return parameters
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}
