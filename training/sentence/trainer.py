"""The training loop: one network, one process, a checkpoint and a measurement every so many updates."""

import logging
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.files import write_json
from training.sentence.data import Batches, SentenceFolder
from training.sentence.loss import losses
from training.sentence.measures import held_out_measures
from training.sentence.network import SentenceNetwork
from training.sentence.recipe import SentenceOptimisation, SentenceRecipe

_log = logging.getLogger(__name__)


def rate_factor(update: int, config: SentenceOptimisation) -> float:
    """Return the factor of the peak learning rate at an update (0-based): a linear rise, then a linear fall to 0."""
    rise = (update + 1) / config.warmup_updates
    fall = (config.max_updates - update) / max(1, config.max_updates - config.warmup_updates)
    return max(0.0, min(1.0, rise, fall))


def build(recipe: SentenceRecipe, vocabulary: int) -> SentenceNetwork:
    """Return a network with fresh parameters, which depend on the recipe's seed."""
    torch.manual_seed(recipe.seed)
    return SentenceNetwork(recipe.network, vocabulary, len(recipe.languages), len(recipe.domains))


def train(recipe: SentenceRecipe, folder: SentenceFolder, text: SentenceFolder) -> list[dict[str, float]]:
    """Train in ``folder`` on the prepared ``text``, or resume; returns the measurements, which are also written."""
    tokenizer = text.load_tokenizer()
    network = build(recipe, tokenizer.get_vocab_size())
    config = recipe.optimisation
    optimiser = torch.optim.Adam(network.parameters(), config.peak_rate, betas=(0.9, 0.98))
    state = _Checkpoint(network, optimiser)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.recipe.write_text(recipe.model_dump_json(indent=2) + "\n", encoding="utf-8")
    start = state.load(folder.checkpoint) if folder.checkpoint.exists() else 0
    batches, held = Batches(recipe, text), text.load_held_out()
    torch.manual_seed(recipe.seed + start)
    seen: dict[str, float] = {}
    for update in range(start, config.max_updates):
        network.train()
        for group in optimiser.param_groups:
            group["lr"] = config.peak_rate * rate_factor(update, config)
        batch = batches.draw(update)
        parts = losses(network(batch.ids, batch.lengths), batch.keys, config)
        optimiser.zero_grad()
        parts.total(config).backward()
        nn.utils.clip_grad_norm_(network.parameters(), config.clip_norm)
        optimiser.step()
        state.tokens += int(batch.lengths.sum())
        for name, value in parts._asdict().items():
            seen[f"{name} loss"] = 0.98 * seen.get(f"{name} loss", value.item()) + 0.02 * value.item()
        if (update + 1) % config.evaluate_every == 0 or update + 1 == config.max_updates:
            found = held_out_measures(network, tokenizer, held, (recipe.languages, recipe.domains), recipe.max_tokens)
            row = {"update": update + 1, "tokens": state.tokens, "cpu seconds": time.process_time(), **seen, **found}
            state.history.append(row)
            state.save(folder.checkpoint, update + 1)
            write_json(folder.history, state.history)
            _log.info("  ".join(f"{key} {value:.4g}" for key, value in row.items()))
    return state.history


class _Checkpoint:
    """The state of a run that a file keeps."""

    def __init__(self, network: SentenceNetwork, optimiser: torch.optim.Optimizer) -> None:
        self._network, self._optimiser = network, optimiser
        self.history: list[dict[str, float]] = []
        self.tokens = 0

    def save(self, path: Path, update: int) -> None:
        """Write the file; a crash while writing leaves the old one."""
        content = {
            "update": update,
            "tokens": self.tokens,
            "history": self.history,
            "network": self._network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
        }
        unfinished = path.with_suffix(".new")
        torch.save(content, unfinished)
        unfinished.replace(path)

    def load(self, path: Path) -> int:
        """Restore the state; returns the next update."""
        content: dict[str, Any] = torch.load(path, weights_only=True)
        self._network.load_state_dict(content["network"])
        self._optimiser.load_state_dict(content["optimiser"])
        self.history, self.tokens = content["history"], content["tokens"]
        return int(content["update"])


def load_trained(folder: SentenceFolder) -> tuple[SentenceRecipe, SentenceNetwork]:
    """Return the recipe and the trained network of a folder; raise FileNotFoundError if nothing was trained there."""
    if not folder.checkpoint.exists():
        raise FileNotFoundError(f"{folder.path} has no checkpoint: run `python -m training sentence train` first")
    recipe = SentenceRecipe.model_validate_json(folder.recipe.read_text(encoding="utf-8"))
    content: dict[str, Any] = torch.load(folder.checkpoint, weights_only=True)
    vocabulary = content["network"]["embedding.weight"].shape[0]
    network = build(recipe, vocabulary)
    network.load_state_dict(content["network"])
    return recipe, network.eval()
