"""HTTP to a port of a sandbox, by way of the router."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from ._answers import refusal, words
from ._wire import Answer, Flow, send
from .errors import ConfigurationError, UnreachableError
from .results import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._connection import Connection
    from ._lifecycle import Target

PREVIEW = "agent-sandbox-preview"
"""What the token of a link is called."""


def request(
    target: Target,
    port: int,
    method: str,
    path: str,
    headers: Mapping[str, str] | None,
    body: bytes,
    timeout: float | None,
) -> Flow[Response]:
    """One request. What the port answers is an answer, whatever its status; what the router refuses is an error."""
    where = path if path.startswith("/") else "/" + path
    also = tuple((headers or {}).items())
    asked = target.to_port(
        port, method, where, f"reach port {port} of {target.name!r}", headers=also, body=body, timeout=timeout
    )
    answer = yield from send(asked)
    said = words(answer) if answer.status in (401, 403, 502, 504) else ""
    if answer.status == 502 and said.startswith("Could not connect to the backend sandbox"):
        raise UnreachableError(
            f"nothing answers on port {port} of sandbox {target.name!r}; start a server there that listens on 0.0.0.0, not only "
            "on 127.0.0.1"
        )
    if _is_routers(answer, said):
        raise refusal(asked, answer)
    return Response(answer.status, answer.headers, answer.body)


def _is_routers(answer: Answer, said: str) -> bool:
    routers = {401: "unauthenticated", 403: "forbidden", 504: "Timed out waiting for the backend sandbox"}
    known = routers.get(answer.status)
    return known is not None and said.startswith(known) and answer.body.startswith(b'{"detail"')


def url(connection: Connection, target: Target, port: int, path: str, token: str | None) -> str:
    """The address of a port, for who can reach the router."""
    if connection.router is None:
        raise ConfigurationError(
            "there is no address that others could use: this connection goes through the API server. Pass router=, which "
            "`asb status` names, and a token of `asb token`"
        )
    address = f"{connection.router}/sandboxes/{target.namespace}/{target.name}/{port}/{path.lstrip('/')}"
    if token is None:
        return address
    return f"{address}{'&' if '?' in path else '?'}{PREVIEW}={quote(token, safe='')}"
