"""Work on the files of jobs, in threads of its own."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from service.engine import BoundedPool

Result = TypeVar("Result")

FILES = BoundedPool("files of jobs", 4, 2048)


async def in_files(work: Callable[[], Result]) -> Result:
    """Do work on files in a thread; it is complete when this returns, also if the task is cancelled meanwhile.

    Otherwise a late write could follow the release of the job's lock, and meet the writes of its next owner.
    """
    task = asyncio.ensure_future(FILES.run(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
