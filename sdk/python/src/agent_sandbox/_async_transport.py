"""Sends requests, and awaits their answers. The same as `_sync_transport`, on an event loop of asyncio or trio."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import anyio.to_thread
import httpcore

from . import _router
from ._answers import refusal
from ._connection import KEEPALIVE, SOCKET_OPTIONS, Connection
from ._router import Within
from ._transport import BUFFER, address, answer, explained, extensions, headers, not_within, spoils, tunnel
from ._tunnel import NoTunnelError
from ._wire import Answer, Consume, Feed, Flow, Peer, Request, Send, Work
from .errors import SandboxError, WaitTimeoutError

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

    from ._router import Place
    from ._tunnel import Tunnel
    from ._wire import Operation

T = TypeVar("T")

GOODBYE = 10.0
"""How long ending what was begun may take after a cancellation, in seconds."""


class AsyncTransport:
    """Connections to an API server and to its router. Tasks of one event loop may share it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.context = connection.access.context()
        self._way = _Way(self)
        self._api = _pool(self.context)
        self._router = _pool(connection.router_context()) if connection.router else _pool(self.context, self._way)

    async def close(self) -> None:
        """Ends all connections."""
        await self._api.aclose()
        await self._router.aclose()

    async def run(self, flow: Flow[T]) -> T:
        """Carries out a flow."""
        cancelled = False
        try:
            operation = next(flow)
            while True:
                try:
                    done = await (self._goodbye(operation) if cancelled else self._perform(operation))
                except BaseException as error:
                    cancelled = cancelled or not isinstance(error, Exception)
                    operation = flow.throw(error)
                else:
                    operation = flow.send(done)
        except StopIteration as stop:
            return cast("T", stop.value)

    async def _goodbye(self, operation: Operation) -> Any:
        """What a flow does after it was cancelled, which is to end what it began, goes on for a moment."""
        try:
            with anyio.fail_after(GOODBYE, shield=True):
                return await self._perform(operation)
        except TimeoutError as error:
            raise WaitTimeoutError("what was begun could not be ended in time") from error

    async def _perform(self, operation: Operation) -> Any:
        if isinstance(operation, Send):
            return await self._send(operation.request)
        if isinstance(operation, Consume):
            async with contextlib.aclosing(self.follow(operation.feed)) as pieces:
                async for _ in pieces:
                    pass
            return None
        if isinstance(operation, Work):
            return await anyio.to_thread.run_sync(operation.function)
        await anyio.sleep(operation.seconds)
        return None

    async def follow(self, feed: Feed[T]) -> AsyncGenerator[T, None]:
        """What a feed says, as it comes."""
        while not feed.ended:
            broken: SandboxError | None = None
            try:
                async with self._open(feed.request()) as response:
                    async for chunk in response.aiter_stream():
                        for piece in feed.feed(chunk):
                            yield piece
                        if feed.ended:
                            return
            except SandboxError as error:
                broken = error
            feed.closed(broken)

    @contextlib.asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[httpcore.Response]:
        with self._explaining(request):
            async with await self._stream(request) as response:
                if response.status >= 300:
                    raise refusal(request, answer(response.status, response.headers, await response.aread()))
                yield response

    async def _send(self, request: Request) -> Answer:
        with self._explaining(request):
            async with await self._stream(request) as response:
                found = answer(response.status, response.headers, await response.aread())
                if spoils(request, found):
                    await response.extensions["network_stream"].aclose()
                return found

    async def _stream(self, request: Request) -> contextlib.AbstractAsyncContextManager[httpcore.Response]:
        if self.connection.access.is_due:
            await anyio.to_thread.run_sync(self.connection.access.renew, self.context)
        pool = self._api if request.peer is Peer.API else self._router
        body = request.body
        return pool.stream(
            request.method,
            address(self.connection, request),
            headers=headers(self.connection, request),
            content=(body or None) if isinstance(body, bytes) else _chunks(iter(body)),
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


def _pool(context: ssl.SSLContext, backend: _Way | None = None) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_connections=None,
        keepalive_expiry=KEEPALIVE,
        socket_options=SOCKET_OPTIONS,
        network_backend=backend,
    )


async def _chunks(body: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Reads files elsewhere, so that nobody else has to wait for a disk."""
    while chunk := await anyio.to_thread.run_sync(next, body, b""):
        yield chunk


class _Way(httpcore.AsyncNetworkBackend):
    """Connects to the router, wherever it is asked to connect to."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.place: Place | Within | None = None
        self._transport = transport
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002
        port: int,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        known = self.place
        if known is not None:
            # Nothing is sent before there is a tunnel, and Pods come and go: where this one is gone the next one will do.
            with contextlib.suppress(NoTunnelError):
                return await self._connect(known, timeout, socket_options)
        self.place = found = await self._transport.run(_router.locate(self._transport.connection.in_pod))
        return await self._connect(found, timeout, socket_options)

    async def _connect(
        self, place: Place | Within, seconds: float | None, options: Iterable[httpcore.SOCKET_OPTION] | None
    ) -> httpcore.AsyncNetworkStream:
        if isinstance(place, Within):
            try:
                return await self._inner.connect_tcp(place.host, place.port, seconds, socket_options=options)
            except httpcore.ConnectError as error:
                raise not_within(error, place) from error
        made, server, port, secure, name = tunnel(self._transport.connection, place)
        stream = await self._inner.connect_tcp(server, port, seconds, socket_options=options)
        if secure:
            stream = await stream.start_tls(self._transport.context, name, seconds)
        through = _Stream(stream, made)
        try:
            await through.open(seconds)
        except BaseException:
            await stream.aclose()
            raise
        return through


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is inside of another."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, through: Tunnel) -> None:
        self._inner, self._through = inner, through

    async def open(self, timeout: float | None) -> None:  # noqa: ASYNC109
        await self._flush(timeout)
        while not self._through.opened:
            await self._receive(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        while True:
            data = self._through.take(max_bytes)
            if data or self._through.ended:
                return data
            await self._flush(timeout)
            await self._receive(timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        if self._through.write(buffer):
            await self._flush(timeout)

    async def _receive(self, timeout: float | None) -> None:  # noqa: ASYNC109
        self._through.received(await self._inner.read(BUFFER, timeout))
        await self._flush(timeout)

    async def _flush(self, timeout: float | None) -> None:  # noqa: ASYNC109
        outgoing = self._through.outgoing()
        if outgoing:
            await self._inner.write(outgoing, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable" and self._through.stale:
            return True
        return None if info == "ssl_object" else self._inner.get_extra_info(info)
