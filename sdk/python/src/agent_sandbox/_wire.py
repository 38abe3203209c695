"""Requests as data, and work that takes several of them as generators. Nothing here talks to anybody.

A `Flow` yields what it wants done and is given what came of it. `_sync` and `_async` each have a small loop that does it, so
that everything else is written once.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

T = TypeVar("T")

PATIENCE = 30.0
"""How long an ordinary request may take, in seconds."""


class Peer(enum.Enum):
    """Who a request is for."""

    API = "the API server"
    ROUTER = "the router"


@dataclass(frozen=True)
class Request:
    """One HTTP request."""

    peer: Peer
    method: str
    path: str
    """With its query."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Iterable[bytes] = b""
    timeout: float | None = PATIENCE
    """How long the other side may be silent."""
    doing: str = "ask"
    """What it is for, for messages: `cannot {doing}: …`."""
    sandbox: str = ""
    """The sandbox that it goes to, for messages."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Feed(Protocol[T]):
    """An answer that comes bit by bit. The decoder knows where it is, so that reading can go on after an interruption."""

    @property
    def ended(self) -> bool:
        """Whether there is no more to come."""

    def request(self) -> Request:
        """What to ask for from here on."""

    def feed(self, data: bytes) -> list[T]:
        """What the next bytes say."""

    def closed(self, error: Exception | None) -> None:
        """The answer is over, by an error perhaps. Raises if it cannot be gone on with."""


@dataclass(frozen=True)
class Send:
    """Send a request, and give back the `Answer`."""

    request: Request


@dataclass(frozen=True)
class Consume:
    """Read a feed to its end."""

    feed: Feed[Any]


@dataclass(frozen=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Do something with files of this machine that may take a while."""

    function: Callable[[], Any]


Operation = Send | Consume | Pause | Work
Flow = Generator[Operation, Any, T]


def send(request: Request) -> Flow[Answer]:
    """Send a request."""
    answer: Answer = yield Send(request)
    return answer


def consume(feed: Feed[Any]) -> Flow[None]:
    """Read a feed to its end."""
    yield Consume(feed)


def pause(seconds: float) -> Flow[None]:
    """Wait."""
    yield Pause(seconds)


def work(function: Callable[[], T]) -> Flow[T]:
    """Do something that may take a while."""
    value: T = yield Work(function)
    return value


def path(*parts: str, **query: object) -> str:
    """A path of parts that may hold anything, and a query without what is `None`.

    >>> path("v1", "files", "a b/c", recursive=True, mode=None)
    '/v1/files/a%20b/c?recursive=true'
    """
    known = {name: _text(value) for name, value in query.items() if value is not None}
    joined = "/" + "/".join(quote(part) for part in parts)
    return f"{joined}?{urlencode(known, quote_via=quote)}" if known else joined


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
