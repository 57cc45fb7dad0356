"""Prepared pairs as Lightning's data module: a stream that resumes at the update it stopped at."""

from __future__ import annotations

from collections.abc import Iterator

import lightning
from torch.utils.data import DataLoader, IterableDataset

from training.config import Recipe
from training.data.batching import Batch, TokenBatches, ordered_batches
from training.data.dataset import EncodedPairs
from training.data.links import LinkTable
from training.prepare import RunFolder


class _Stream(IterableDataset[Batch]):
    """Training batches from a position on."""

    def __init__(self, batches: TokenBatches, position: int, rank: int, processes: int) -> None:
        self._arguments = (position, rank, processes)
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        return self._batches.stream(*self._arguments)


class _Resumable(DataLoader[Batch]):
    """Tells Lightning that resuming is taken care of: the stream's position follows from the update."""

    def state_dict(self) -> dict[str, int]:
        return {}

    def load_state_dict(self, state: dict[str, int]) -> None:
        pass


class PairData(lightning.LightningDataModule):
    """Training and development batches of a run folder."""

    def __init__(self, recipe: Recipe, folder: RunFolder) -> None:
        super().__init__()
        self._recipe = recipe
        self._corpora = [EncodedPairs.load(folder.corpus(c.name)) for c in recipe.corpora]
        guided = recipe.optimisation.guided_alignment is not None
        self._links = [LinkTable.load(folder.links(c.name)) for c in recipe.corpora] if guided else None
        self._development = EncodedPairs.load(folder.development_pairs)

    def train_dataloader(self) -> DataLoader[Batch]:
        """An endless stream that begins behind the batches of the updates already made."""
        recipe, trainer = self._recipe, self.trainer
        assert trainer is not None  # Lightning attaches it before asking for data
        batches = TokenBatches(
            self._corpora,
            [c.weight for c in recipe.corpora],
            recipe.optimisation.batch_tokens,
            recipe.seed,
            self._links,
        )
        position = trainer.global_step * recipe.optimisation.accumulate
        return _Resumable(_Stream(batches, position, trainer.global_rank, trainer.world_size), batch_size=None)

    def val_dataloader(self) -> DataLoader[Batch]:
        """All development pairs, in the same batches everywhere: each process sees them all."""
        batches = [batch for _, batch in ordered_batches(self._development, self._recipe.optimisation.batch_tokens)]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]
