"""What both transports share: heads of requests, time limits, and what becomes of errors of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpcore

from ._tunnel import Tunnel
from ._wire import Answer, Peer, Request
from .errors import SandboxError, ServerError, UnreachableError, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._connection import Connection
    from ._router import Place, Within

CONNECTING = 10.0
"""How long making a connection may take, in seconds."""
AGENT = "agent-sandbox-python"
INSIDE = "http://sandbox-router"
"""What the router is called where its address is found only when it is connected to."""
HERE = ("localhost", "127.0.0.1", "::1")
BUFFER = 64 * 1024


def address(connection: Connection, request: Request) -> str:
    """Where a request goes."""
    if request.peer is Peer.API:
        return connection.access.server + request.path
    return (connection.router or INSIDE) + request.path


def headers(connection: Connection, request: Request) -> list[tuple[str, str]]:
    """The head of a request, with who we are."""
    token = connection.access.bearer() if request.peer is Peer.API else connection.token_for_router()
    ours = [("User-Agent", AGENT), ("Accept", "application/json, */*")]
    if token:
        ours.append(("Authorization", f"Bearer {token}"))
    theirs = {name.lower() for name, _ in request.headers}
    return [(name, value) for name, value in ours if name.lower() not in theirs] + list(request.headers)


def extensions(connection: Connection, request: Request) -> dict[str, Any]:
    """How long each step may take."""
    timeout = {"connect": CONNECTING, "read": request.timeout, "write": request.timeout, "pool": request.timeout}
    known: dict[str, Any] = {"timeout": timeout}
    if request.peer is Peer.API and connection.access.server_name:
        known["sni_hostname"] = connection.access.server_name
    return known


def answer(status: int, head: Iterable[tuple[bytes, bytes]], body: bytes) -> Answer:
    """An answer as data."""
    return Answer(status, {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head}, body)


def spoils(request: Request, found: Answer) -> bool:
    """Whether a connection is of no more use. Whoever refuses a request before its body has come hangs up, perhaps only when the
    next request is under way, of which nobody could tell then whether it was carried out.
    """
    return found.status >= 400 and request.body != b""


def explained(error: Exception, connection: Connection, request: Request) -> SandboxError:
    """What an error of the network means."""
    doing = f"cannot {request.doing}"
    if isinstance(error, httpcore.TimeoutException):
        return WaitTimeoutError(f"{doing}: {request.peer.value} was silent for too long")
    if isinstance(error, (httpcore.ConnectError, OSError)):
        where = connection.access.server if request.peer is Peer.API else connection.router or connection.access.server
        return UnreachableError(
            f"{doing}: {request.peer.value} at {where} cannot be reached ({error}); {_remedy(where)}"
        )
    if isinstance(error, httpcore.NetworkError) or "disconnected" in str(error) or "closed" in str(error):
        return UnreachableError(
            f"{doing}: the connection to {request.peer.value} was lost ({error or type(error).__name__})"
        )
    return ServerError(f"{doing}: {request.peer.value} gave an answer that makes no sense ({error})")


def _remedy(where: str) -> str:
    if urlsplit(where).hostname in HERE:
        return "is it running? `asb status` tells of this machine's, `asb up` starts it"
    return "is the address right, and does this machine get there?"


def not_within(error: Exception, place: Within) -> SandboxError:
    """Why a Pod does not get to the router."""
    return UnreachableError(
        f"the router at {place.host}:{place.port} cannot be reached ({error}); is it installed, and do NetworkPolicies let "
        "this Pod go there? For a router elsewhere pass router="
    )


def tunnel(connection: Connection, place: Place) -> tuple[Tunnel, str, int, bool, str]:
    """A tunnel to the router, the host and port of the server that makes it, whether that speaks TLS, and its name."""
    parts = urlsplit(connection.access.server)
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    token = connection.access.bearer()
    head = [("User-Agent", AGENT)] + ([("Authorization", f"Bearer {token}")] if token else [])
    scheme = "wss" if secure else "ws"
    made = Tunnel(f"{scheme}://{parts.netloc}{parts.path}{place.forward()}", head)
    return made, host, port, secure, connection.access.server_name or host
