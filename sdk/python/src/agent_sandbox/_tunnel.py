"""One connection to a port of a Pod, inside a WebSocket of the API server: the protocol, without any input or output.

The server sends two channels, one for data and one for complaints; the first message of each is the number of the port.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from .errors import ForbiddenError, SandboxError, UnauthenticatedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOL = Subprotocol("v4.channel.k8s.io")
DATA, COMPLAINT = 0, 1
LARGEST = 64 * 1024
"""The most that is put into one message."""


class NoTunnelError(UnreachableError):
    """There is no way to the Pod that was the router's. Another one may have taken its place."""


class Tunnel:
    """Bytes for the Pod go in as `write`, and come out as `outgoing`; those of the network go in as `received`."""

    def __init__(self, address: str, headers: Iterable[tuple[str, str]]) -> None:
        self.opened = False
        self.ended = False
        self._protocol = ClientProtocol(parse_uri(address), subprotocols=[PROTOCOL], max_size=None)
        request = self._protocol.connect()
        for name, value in headers:
            request.headers[name] = value
        self._protocol.send_request(request)
        self._data: deque[bytes] = deque()
        self._announced: set[int] = set()
        self._pending = bytearray()
        self._partial = b""

    @property
    def stale(self) -> bool:
        """Whether something came that nobody asked for, most likely its end: it is of no use for another request."""
        return self.ended or bool(self._data)

    def outgoing(self) -> bytes:
        """What the network is to be given now."""
        for at in range(0, len(self._pending), LARGEST):
            self._protocol.send_binary(bytes([DATA]) + self._pending[at : at + LARGEST])
        self._pending.clear()
        return b"".join(self._protocol.data_to_send())

    def write(self, data: bytes) -> bool:
        """Bytes for the Pod. Whether it is time to send them; otherwise that is when an answer is waited for.

        The head and the body of a request go together: a router that refuses the head hangs up, and the server that makes the
        tunnel gives up on its answer if it cannot get rid of the body.
        """
        self._pending += data
        return len(self._pending) >= LARGEST

    def take(self, most: int) -> bytes:
        """Bytes from the Pod; none if none have come."""
        if not self._data:
            return b""
        first = self._data.popleft()
        if len(first) > most:
            self._data.appendleft(first[most:])
        return first[:most]

    def received(self, data: bytes) -> None:
        """Bytes of the network; none means that it has closed the connection."""
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
            self.ended = True
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
            else:
                self._answered()
        if self.ended and not self.opened:
            raise NoTunnelError("the API server closed the connection to the router before it was there")

    def _answered(self) -> None:
        error = self._protocol.handshake_exc
        if error is not None:
            raise refused(error)
        self.opened = True

    def _frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self.ended = True
        elif frame.opcode in (Opcode.BINARY, Opcode.CONT):
            self._partial += bytes(frame.data)
            if frame.fin and self._partial:
                message, self._partial = self._partial, b""
                self._message(message[0], message[1:])

    def _message(self, channel: int, data: bytes) -> None:
        if channel not in self._announced:
            self._announced.add(channel)
        elif channel == DATA:
            self._data.append(data)
        elif channel == COMPLAINT and data:
            raise NoTunnelError(f"the API server cannot connect to the router: {data.decode(errors='replace').strip()}")


def refused(error: Exception) -> SandboxError:
    """Why the API server makes no tunnel."""
    if not isinstance(error, InvalidStatus):
        return NoTunnelError(f"the API server makes no tunnel to the router: {error}")
    response = error.response
    said = _words(bytes(response.body or b"")) or f"status {response.status_code}"
    if response.status_code == 401:
        return UnauthenticatedError(f"the API server does not know who asks for a tunnel to the router: {said}")
    if response.status_code == 403:
        return ForbiddenError(
            f"no tunnel to the router: {said}; you need the right to portforward its Pod, or pass router= and a token"
        )
    return NoTunnelError(f"the API server makes no tunnel to the router: {said}")


def _words(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()[:300]
