"""In which state each model is, for whoever decides where to send work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ready", "starting", "restarting", "hanging", "failed", "stopping", "refused"]

REASONS: dict[State, str] = {
    "ready": "",
    "starting": "It is being loaded and warmed up.",
    "restarting": "Its engine process ended and is being restarted.",
    "hanging": "It has shown no sign of life for too long.",
    "failed": "It has failed and takes no more work.",
    "stopping": "It is stopping.",
}


@dataclass(frozen=True, slots=True)
class ModelState:
    """One model of the folder: served and in which state, or refused and why."""

    name: str
    version: str  # empty for a bundle that was refused
    state: State
    reason: str  # a sentence for people; empty when it is ready

    @property
    def ready(self) -> bool:
        """Return whether it takes requests now."""
        return self.state == "ready"
