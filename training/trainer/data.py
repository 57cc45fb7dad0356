"""Prepared pairs as Lightning's data module; the stream resumes at the update at which it stopped."""

from collections.abc import Iterator
from typing import NamedTuple

import lightning
from torch.utils.data import DataLoader, IterableDataset

from training.data.batching import Batch, TokenBatches, ordered_batches
from training.data.dataset import EncodedPairs, load_corpora
from training.data.link_table import LinkTable
from training.recipe import Recipe
from training.runs.folder import RunFolder


class _Stream(IterableDataset[Batch]):
    """Training batches that begin at a position."""

    def __init__(self, batches: TokenBatches, position: int, rank: int, processes: int) -> None:
        self._arguments = (position, rank, processes)
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        return self._batches.stream(*self._arguments)


class _Resumable(DataLoader[Batch]):
    """Tells Lightning that the loader can resume: the position of the stream follows from the update."""

    def state_dict(self) -> dict[str, int]:
        return {}

    def load_state_dict(self, state: dict[str, int]) -> None:
        pass


def loader(stream: IterableDataset[Batch], prefetch: bool) -> DataLoader[Batch]:
    """Return a loader of the batches of a stream; with ``prefetch``, a separate process prepares eight in advance."""
    if not prefetch:
        return _Resumable(stream, batch_size=None)
    return _Resumable(stream, batch_size=None, num_workers=1, prefetch_factor=8, multiprocessing_context="spawn")


class Drawn(NamedTuple):
    """The number of batches that all processes together had drawn by an update."""

    update: int
    batches: int


class PairData(lightning.LightningDataModule):
    """Training and development batches of a run folder."""

    def __init__(self, recipe: Recipe, folder: RunFolder) -> None:
        super().__init__()
        self._recipe = recipe
        self._corpora = load_corpora(recipe, folder)
        guided = recipe.optimisation.guided_alignment is not None
        named = zip(recipe.corpora, self._corpora, strict=True)
        self._links = [LinkTable.load(folder.links(c.name), group) for c, group in named] if guided else None
        self._development = EncodedPairs.load(folder.development_pairs)
        self._drawn_before = Drawn(0, 0)

    def state_dict(self) -> dict[str, int]:
        """Return the number of batches that all processes have drawn, for a checkpoint."""
        return {"update": self._attached.global_step, "batches": self._drawn()}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Continue after the batches of ``state_dict``, with any number of processes and any ``accumulate``."""
        self._drawn_before = Drawn(state_dict["update"], state_dict["batches"])

    def _drawn(self) -> int:
        since = self._attached.global_step - self._drawn_before.update
        return self._drawn_before.batches + since * self._recipe.optimisation.accumulate * self._attached.world_size

    @property
    def _attached(self) -> lightning.Trainer:
        assert self.trainer is not None  # Lightning attaches the module before it requests anything
        return self.trainer

    def batches(self) -> TokenBatches:
        """Return the training batches of the run."""
        recipe = self._recipe
        weights = [corpus.weight for corpus in recipe.corpora]
        return TokenBatches(self._corpora, weights, recipe.optimisation.batch_tokens, recipe.seed, self._links)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return an endless stream that begins after the batches that were drawn before.

        On a GPU, a separate process prepares the batches.
        """
        trainer = self._attached
        stream = _Stream(self.batches(), self._drawn() // trainer.world_size, trainer.global_rank, trainer.world_size)
        return loader(stream, prefetch=trainer.strategy.root_device.type == "cuda")

    def val_dataloader(self) -> DataLoader[Batch]:
        """Return all development pairs, in the same batches in every process."""
        batches = [batch for _, batch in ordered_batches(self._development, self._recipe.optimisation.batch_tokens)]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]
