"""The layout of a run folder, and readers and writers of its small files."""

from pathlib import Path

import yaml
from tokenizers import Tokenizer

from service.bundle.vocabulary import read_tokenizer
from training.recipe import Recipe, parse_recipe


class RunFolder:
    """The paths of a run's files, and readers of the small ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe = path / "recipe.yaml"
        self.tokenizer = path / "tokenizer.json"
        self.environment = path / "environment.json"
        self.statistics = path / "statistics.json"
        self.development = path / "development.tsv"
        self.development_pairs = path / "development.npz"
        self.prepared = path / "prepared.json"
        self.checkpoints = path / "checkpoints"
        self.best = self.checkpoints / "best.ckpt"
        self.best_score = self.checkpoints / "best.json"
        self.validations = self.checkpoints / "looks.json"
        self.averaged = path / "averaged.pt"
        self.start = path / "start.pt"
        self.stages = path / "legs.json"
        self.log = path / "train.log"
        self.downloads = path.parent / "downloads"

    def corpus(self, name: str) -> Path:
        """Return the encoded training pairs of one corpus."""
        return self.path / f"corpus-{name}.npz"

    def links(self, name: str) -> Path:
        """Return the path of the links of one corpus, which ``links`` makes and guided alignment reads."""
        return self.path / f"links-{name}.npz"

    @property
    def has_parameters(self) -> bool:
        """Return whether a network was trained here."""
        return self.averaged.exists() or any(self.checkpoints.glob("*.ckpt"))

    def load_recipe(self) -> Recipe:
        """Return the recipe this folder was prepared with."""
        return parse_recipe(yaml.safe_load(self.recipe.read_text(encoding="utf-8")), str(self.recipe))

    def save_recipe(self, recipe: Recipe) -> None:
        """Write the recipe with its overrides, which cards and later commands read."""
        self.recipe.write_text(yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False), encoding="utf-8")

    def load_tokenizer(self) -> Tokenizer:
        """Return the vocabulary; special tokens in text are text."""
        return read_tokenizer(self.tokenizer)

    def load_development(self) -> list[tuple[str, str, str]]:
        """Return (corpus, source, target) of every held-out pair."""
        lines = self.development.read_text(encoding="utf-8").splitlines()
        return [tuple(line.split("\t", 2)) for line in lines]  # type: ignore[misc]
