"""The time by which a request must be answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from service.engine import DeadlineExceeded, TimeLimit

Result = TypeVar("Result")

# The engine enforces the deadline itself. The grace period is for an engine that hangs.
GRACE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Deadline:
    """The deadline of a request; made once, when the request arrives, and passed down."""

    at: float  # on time.monotonic
    seconds: float  # the whole time of the request, for the message

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline of a request that arrives now."""
        return cls(time.monotonic() + seconds, seconds)

    async def wait_for(self, work: Awaitable[Result]) -> Result:
        """Return the result of some work; raise DeadlineExceeded soon after the deadline, even if the engine hangs."""
        try:
            with TimeLimit(self.at + GRACE_SECONDS - time.monotonic()) as limit:
                return await work
        except TimeoutError:
            if not limit.expired:
                raise
            raise DeadlineExceeded(
                f"The request was not finished within {self.seconds:g} seconds; send less text, or try again later."
            ) from None
