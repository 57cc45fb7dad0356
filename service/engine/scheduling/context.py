"""What every thread of one worker is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.engine.events import Observer
from service.engine.model.interface import Model
from service.engine.scheduling.faults import Faults
from service.engine.scheduling.requests import RequestTable


@dataclass(frozen=True, slots=True)
class Context:
    """A model with its name, who waits for what, who is told of events, and the time."""

    name: str
    model: Model
    table: RequestTable
    faults: Faults
    observer: Observer
    clock: Callable[[], float]
