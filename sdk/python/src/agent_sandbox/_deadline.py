"""How much of a time is left."""

from __future__ import annotations

import time


class Deadline:
    """So many seconds from now; none for as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self, at_most: float) -> float:
        """What is left, and no more than that; never negative."""
        return at_most if self._end is None else max(0.0, min(at_most, self._end - time.monotonic()))

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self._end is not None and time.monotonic() >= self._end
