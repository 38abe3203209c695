"""Judges answers: what was refused becomes an error that says so, in the words of who refused."""

from __future__ import annotations

import json
from typing import Any

from ._wire import Answer, Flow, Peer, Request, send
from .errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    SandboxError,
    ServerError,
    UnauthenticatedError,
    UnreachableError,
    WaitTimeoutError,
)

KINDS: dict[int, type[SandboxError]] = {
    400: InvalidError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidError,
    422: InvalidError,
    502: UnreachableError,
    504: WaitTimeoutError,
}


def asked(request: Request, *also: int) -> Flow[Answer]:
    """The answer to a request, if it was granted, or has one of these statuses besides."""
    answer = yield from send(request)
    if answer.status < 300 or answer.status in also:
        return answer
    raise refusal(request, answer)


def refusal(request: Request, answer: Answer) -> SandboxError:
    """Why a request was not granted, and what helps."""
    kind = KINDS.get(answer.status, ServerError if answer.status >= 500 else InvalidError)
    said = words(answer)
    return kind(f"cannot {request.doing}: {said}{_advice(request, answer.status)}")


def words(answer: Answer) -> str:
    """What the other side says: Kubernetes in `message`, sandboxd too, the router in `detail`."""
    try:
        body: Any = json.loads(answer.body)
    except ValueError:
        body = None
    if isinstance(body, dict):
        said = body.get("message") or body.get("detail")
        if said:
            return str(said)
    return answer.body.decode(errors="replace").strip()[:500] or f"status {answer.status}"


def _advice(request: Request, status: int) -> str:
    if request.peer is Peer.API:
        return {
            401: "; check the credentials in the kubeconfig",
            403: "; ask for the right, or use another account",
        }.get(status, "")
    return {
        401: "; the router wants a token: pass router_token=, of `asb token NAME` or of an account",
        403: f"; you need the right to create sandboxes/connect of {request.sandbox!r}",
        502: "; it may be suspended, still starting or gone: see `asb describe " + request.sandbox + "`",
        504: "; it did not answer in time",
    }.get(status, "")
