"""Sends requests, and waits for their answers. All that blocks is here."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpcore

from . import _router
from ._answers import refusal
from ._connection import KEEPALIVE, SOCKET_OPTIONS, Connection
from ._router import Within
from ._transport import BUFFER, address, answer, explained, extensions, headers, not_within, spoils, tunnel
from ._tunnel import NoTunnelError
from ._wire import Answer, Consume, Feed, Flow, Peer, Request, Send, Work
from .errors import SandboxError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from ._router import Place
    from ._tunnel import Tunnel
    from ._wire import Operation

T = TypeVar("T")


class SyncTransport:
    """Connections to an API server and to its router. Threads may share it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.context = connection.access.context()
        self._way = _Way(self)
        self._api = _pool(self.context)
        self._router = _pool(connection.router_context()) if connection.router else _pool(self.context, self._way)

    def close(self) -> None:
        """Ends all connections."""
        self._api.close()
        self._router.close()

    def run(self, flow: Flow[T]) -> T:
        """Carries out a flow."""
        try:
            operation = next(flow)
            while True:
                try:
                    done = self._perform(operation)
                except BaseException as error:
                    operation = flow.throw(error)
                else:
                    operation = flow.send(done)
        except StopIteration as stop:
            return cast("T", stop.value)

    def _perform(self, operation: Operation) -> Any:
        if isinstance(operation, Send):
            return self._send(operation.request)
        if isinstance(operation, Consume):
            for _ in self.follow(operation.feed):
                pass
            return None
        if isinstance(operation, Work):
            return operation.function()
        time.sleep(operation.seconds)
        return None

    def follow(self, feed: Feed[T]) -> Iterator[T]:
        """What a feed says, as it comes."""
        while not feed.ended:
            broken: SandboxError | None = None
            try:
                with self._open(feed.request()) as response:
                    for chunk in response.iter_stream():
                        yield from feed.feed(chunk)
                        if feed.ended:
                            return
            except SandboxError as error:
                broken = error
            feed.closed(broken)

    @contextlib.contextmanager
    def _open(self, request: Request) -> Iterator[httpcore.Response]:
        with self._explaining(request), self._stream(request) as response:
            if response.status >= 300:
                raise refusal(request, answer(response.status, response.headers, response.read()))
            yield response

    def _send(self, request: Request) -> Answer:
        with self._explaining(request), self._stream(request) as response:
            found = answer(response.status, response.headers, response.read())
            if spoils(request, found):
                response.extensions["network_stream"].close()
            return found

    def _stream(self, request: Request) -> contextlib.AbstractContextManager[httpcore.Response]:
        if self.connection.access.is_due:
            self.connection.access.renew(self.context)
        pool = self._api if request.peer is Peer.API else self._router
        return pool.stream(
            request.method,
            address(self.connection, request),
            headers=headers(self.connection, request),
            content=cast("bytes | Iterator[bytes]", request.body) or None,
            extensions=extensions(self.connection, request),
        )

    @contextlib.contextmanager
    def _explaining(self, request: Request) -> Iterator[None]:
        try:
            yield
        except NoTunnelError:
            self._way.place = None
            raise
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as error:
            raise explained(error, self.connection, request) from error


def _pool(context: ssl.SSLContext, backend: _Way | None = None) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        ssl_context=context,
        max_connections=None,
        keepalive_expiry=KEEPALIVE,
        socket_options=SOCKET_OPTIONS,
        network_backend=backend,
    )


class _Way(httpcore.NetworkBackend):
    """Connects to the router, wherever it is asked to connect to."""

    def __init__(self, transport: SyncTransport) -> None:
        self.place: Place | Within | None = None
        self._transport = transport
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002
        port: int,  # noqa: ARG002
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        known = self.place
        if known is not None:
            # Nothing is sent before there is a tunnel, and Pods come and go: where this one is gone the next one will do.
            with contextlib.suppress(NoTunnelError):
                return self._connect(known, timeout, socket_options)
        self.place = found = self._transport.run(_router.locate(self._transport.connection.in_pod))
        return self._connect(found, timeout, socket_options)

    def _connect(
        self, place: Place | Within, seconds: float | None, options: Iterable[httpcore.SOCKET_OPTION] | None
    ) -> httpcore.NetworkStream:
        if isinstance(place, Within):
            try:
                return self._inner.connect_tcp(place.host, place.port, seconds, socket_options=options)
            except httpcore.ConnectError as error:
                raise not_within(error, place) from error
        made, server, port, secure, name = tunnel(self._transport.connection, place)
        stream = self._inner.connect_tcp(server, port, seconds, socket_options=options)
        if secure:
            stream = stream.start_tls(self._transport.context, name, seconds)
        through = _Stream(stream, made)
        try:
            through.open(seconds)
        except BaseException:
            stream.close()
            raise
        return through


class _Stream(httpcore.NetworkStream):
    """A connection that is inside of another."""

    def __init__(self, inner: httpcore.NetworkStream, through: Tunnel) -> None:
        self._inner, self._through = inner, through

    def open(self, timeout: float | None) -> None:
        self._flush(timeout)
        while not self._through.opened:
            self._receive(timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            data = self._through.take(max_bytes)
            if data or self._through.ended:
                return data
            self._flush(timeout)
            self._receive(timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._through.write(buffer):
            self._flush(timeout)

    def _receive(self, timeout: float | None) -> None:
        self._through.received(self._inner.read(BUFFER, timeout))
        self._flush(timeout)

    def _flush(self, timeout: float | None) -> None:
        outgoing = self._through.outgoing()
        if outgoing:
            self._inner.write(outgoing, timeout)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable" and self._through.stale:
            return True
        return None if info == "ssl_object" else self._inner.get_extra_info(info)
