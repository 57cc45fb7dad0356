"""The description and the state of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

ModelStateName = Literal[
    "ready", "closed", "opening", "starting", "restarting", "hanging", "failed", "stopping", "refused"
]  # the first three accept requests


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A model that decides in an ensemble."""

    name: str
    version: str
    digest: str
    attention: Mapping[str, Any]  # as that of ModelInfo


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The description of a loaded model."""

    name: str
    version: str
    architecture: str
    source_language: str  # of the pair it serves here; the first one if no pair was requested
    target_language: str
    digest: str  # "sha256:…" of its manifest
    precision: str  # of the graphs that run: int8, fp16, fp32
    device: str  # where it runs: cpu or cuda
    device_wanted: str  # the requested device: cpu, cuda or auto
    provider: str  # ONNX Runtime's name of the device
    source_tokens: int  # limits, </s> counted
    target_tokens: int
    attention: Mapping[str, Any]  # the manifest's own section: layers, heads and the aligning head
    card: Mapping[str, Any]  # the manifest's own model card
    source_languages: tuple[str, ...] = ()  # all source languages, if there are several
    target_languages: tuple[str, ...] = ()
    confidence: Mapping[str, Any] | None = None  # the manifest's own section; None: it gives no quality
    gallery: bool = False  # a small model for teaching: it translates only if it is named
    members: tuple[MemberInfo, ...] = ()  # of an ensemble
    may_be_default: bool = True

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return every (source, target) it translates."""
        return tuple((source, target) for source in self.sources for target in self.targets if source != target)

    def has(self, pair: tuple[str, str]) -> bool:
        """Return whether it translates a pair, written as models write it."""
        return pair[0] in self.sources and pair[1] in self.targets

    @property
    def sources(self) -> tuple[str, ...]:
        """Return every source language, at least one."""
        return self.source_languages or (self.source_language,)

    @property
    def targets(self) -> tuple[str, ...]:
        """Return every target language, at least one."""
        return self.target_languages or (self.target_language,)


@dataclass(frozen=True, slots=True)
class ModelState:
    """One model of the folder: the state of a served one, or the reason why it was refused."""

    name: str
    version: str  # empty for a bundle that was refused
    state: ModelStateName
    reason: str  # a sentence for people; empty when it is ready
    last_used: float | None = None  # seconds since 1970; None: no request so far

    @property
    def ready(self) -> bool:
        """Return whether it accepts requests now."""
        return self.state in ("ready", "closed", "opening")


class WorkerState(StrEnum):
    """The states of a worker; only a running one accepts requests."""

    RUNNING = "running"
    DRAINING = "draining"  # it finishes its requests
    STOPPED = "stopped"
    DEAD = "dead"  # it has failed permanently
    RESTARTING = "restarting"  # it is being loaded, perhaps again after it failed or its engine process ended
