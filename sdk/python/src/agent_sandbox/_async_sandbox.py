"""`AsyncSandbox`: the methods of `Sandbox`, awaited. What they do is described there, and done by the same flows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from . import _files, _lifecycle, _ports, _processes
from ._async_transport import AsyncTransport
from ._connection import connection
from ._deadline import Deadline
from ._objects import WORKDIR, NewClaim, NewSandbox
from ._processes import Command, OutputFeed
from .results import TerminalSize

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
    from types import TracebackType

    from ._lifecycle import Target
    from ._wire import Flow
    from .results import Change, Entry, Exit, Output, ProcessInfo, Response, Result, SandboxInfo, Stat

    Entries = list[Entry]
    Infos = list[SandboxInfo]
    Names = list[str]
    Running = list[ProcessInfo]


class AsyncClient:
    """Whom to talk to, and a pool of connections, for one event loop. The arguments are those of `Client`."""

    def __init__(
        self,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        data_dir: str | Path | None = None,
        server: str | None = None,
        token: str | None = None,
        namespace: str | None = None,
        router: str | None = None,
        router_token: str | None = None,
    ) -> None:
        known = connection(
            kubeconfig=kubeconfig,
            context=context,
            data_dir=data_dir,
            server=server,
            token=token,
            router=router,
            router_token=router_token,
        )
        self._io = AsyncTransport(known)
        self._namespace = namespace or known.access.namespace

    @property
    def namespace(self) -> str:
        """Where sandboxes are if no namespace is named."""
        return self._namespace

    async def close(self) -> None:
        """End all connections. Sandboxes stay."""
        await self._io.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


class Opening:
    """A sandbox that is about to be there: `await` it, or enter it with `async with`."""

    def __init__(
        self, client: AsyncClient | None, namespace: str | None, flow: Callable[[str], Flow[Target]], is_ours: bool
    ) -> None:
        self._client, self._namespace, self._flow, self._is_ours = client, namespace, flow, is_ours
        self._sandbox: AsyncSandbox | None = None

    async def _open(self) -> AsyncSandbox:
        used = self._client or AsyncClient()
        try:
            found = await used._io.run(self._flow(self._namespace or used.namespace))
        except BaseException:
            if self._client is None:
                await used.close()
            raise
        return AsyncSandbox(used, found, owns_client=self._client is None, is_ours=self._is_ours)

    def __await__(self) -> Generator[object, None, AsyncSandbox]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSandbox:
        self._sandbox = await self._open()
        return self._sandbox

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._sandbox is not None:
            await self._sandbox.__aexit__(kind, error, at)


class AsyncSandbox:
    """An isolated environment with a name, which runs commands and keeps files. `Sandbox`, awaited.

    >>> async with AsyncSandbox.create() as box:          # doctest: +SKIP
    ...     print((await box.run("echo hello")).stdout)
    hello

    `box = await AsyncSandbox.create()` works as well.
    """

    def __init__(
        self, client: AsyncClient, target: Target, *, owns_client: bool = False, is_ours: bool = False
    ) -> None:
        """Use `create`, `claim` or `get`."""
        self._client, self._target = client, target
        self._owns_client, self._is_ours = owns_client, is_ours
        self._files = AsyncFiles(client._io, target)

    @classmethod
    def create(
        cls,
        image: str | None = None,
        *,
        name: str | None = None,
        namespace: str | None = None,
        env: Mapping[str, str] | None = None,
        cpu: str | float | None = None,
        memory: str | None = None,
        storage: str | None = None,
        workdir: str = WORKDIR,
        command: Sequence[str] = (),
        runtime_class: str | None = None,
        labels: Mapping[str, str] | None = None,
        lifetime: float | None = None,
        timeout: float = 180.0,
        client: AsyncClient | None = None,
    ) -> Opening:
        """Make a sandbox; see `Sandbox.create`. To be awaited, or entered with `async with`."""
        wanted = NewSandbox(
            image or "", name, command, env or {}, cpu, memory, storage, workdir, runtime_class, labels or {}, lifetime
        )
        return Opening(client, namespace, lambda place: _lifecycle.create(wanted, place, Deadline(timeout)), True)

    @classmethod
    def claim(
        cls,
        pool: str,
        *,
        name: str | None = None,
        namespace: str | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        lifetime: float | None = None,
        timeout: float = 180.0,
        client: AsyncClient | None = None,
    ) -> Opening:
        """Take a sandbox from a warm pool; see `Sandbox.claim`. To be awaited, or entered with `async with`."""
        wanted = NewClaim(pool, name, env or {}, labels or {}, lifetime)
        return Opening(client, namespace, lambda place: _lifecycle.claim(wanted, place, Deadline(timeout)), True)

    @classmethod
    def get(cls, name: str, *, namespace: str | None = None, client: AsyncClient | None = None) -> Opening:
        """The sandbox of that name; see `Sandbox.get`. To be awaited, or entered with `async with`."""
        return Opening(client, namespace, lambda place: _lifecycle.get(name, place), False)

    @classmethod
    async def list(cls, *, namespace: str | None = None, client: AsyncClient | None = None) -> Infos:
        """The sandboxes of a namespace."""
        used = client or AsyncClient()
        try:
            return await used._io.run(_lifecycle.listed(namespace or used.namespace))
        finally:
            if client is None:
                await used.close()

    @property
    def name(self) -> str:
        """The name of the Sandbox."""
        return self._target.name

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self._target.namespace

    @property
    def claim_name(self) -> str | None:
        """The claim that it was taken by, if it was."""
        return self._target.claim

    @property
    def files(self) -> AsyncFiles:
        """Its files."""
        return self._files

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = 300.0,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes | str | None = None,
        on_output: Callable[[Output], object] | None = None,
    ) -> Result:
        """Run a command to its end; see `Sandbox.run`. If this is cancelled, the command is killed."""
        wanted = Command(command, env or {}, cwd, stdin is not None, None, None, timeout)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        return await self._client._io.run(_processes.run(self._target, wanted, given, on_output))

    async def start(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bool = False,
        pty: TerminalSize | None = None,
        tag: str | None = None,
        lossless: bool = False,
    ) -> AsyncProcess:
        """Start a process that runs on by itself; see `Sandbox.start`. Iterate over it with `async for`."""
        wanted = Command(command, env or {}, cwd, stdin, pty, tag, timeout, lossless)
        begun = await self._client._io.run(_processes.start(self._target, wanted))
        return AsyncProcess(self._client._io, self._target, begun.id)

    def process(self, number: int) -> AsyncProcess:
        """The process with this `id`. Nothing is asked of the sandbox yet."""
        return AsyncProcess(self._client._io, self._target, number)

    async def processes(self, *, tag: str | None = None) -> Running:
        """The processes that were started from outside."""
        return await self._client._io.run(_processes.listed(self._target, tag))

    async def request(
        self,
        method: str,
        port: int,
        path: str = "/",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        timeout: float | None = 60.0,
    ) -> Response:
        """Send an HTTP request to a port of the sandbox; see `Sandbox.request`."""
        given = body.encode() if isinstance(body, str) else body
        return await self._client._io.run(_ports.request(self._target, port, method, path, headers, given, timeout))

    def url(self, port: int, path: str = "/", *, token: str | None = None) -> str:
        """The address of a port of the sandbox at the router; see `Sandbox.url`."""
        return _ports.url(self._client._io.connection, self._target, port, path, token)

    async def info(self) -> SandboxInfo:
        """What the sandbox is now."""
        return await self._client._io.run(_lifecycle.info(self._target))

    async def suspend(self, *, timeout: float = 120.0) -> None:
        """Stop it; see `Sandbox.suspend`."""
        await self._client._io.run(_lifecycle.suspend(self._target, Deadline(timeout)))

    async def resume(self, *, timeout: float = 180.0) -> None:
        """Start it again, and return when it answers."""
        await self._client._io.run(_lifecycle.resume(self._target, Deadline(timeout)))

    async def delete(self, *, wait: bool = True, timeout: float = 120.0) -> None:
        """Delete it, or give it back if it was claimed."""
        await self._client._io.run(_lifecycle.delete(self._target, Deadline(timeout) if wait else None))
        self._is_ours = False

    async def close(self) -> None:
        """End the connections, if they are its own. The sandbox stays."""
        if self._owns_client:
            await self._client.close()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            if self._is_ours:
                await self.delete(wait=False)
        finally:
            await self.close()

    def __repr__(self) -> str:
        return f"<AsyncSandbox {self.namespace}/{self.name}>"


class AsyncProcess:
    """A process in a sandbox; see `Process`."""

    def __init__(self, io: AsyncTransport, target: Target, number: int) -> None:
        """Use `AsyncSandbox.start` or `AsyncSandbox.process`."""
        self._io, self._target, self._number = io, target, number

    @property
    def id(self) -> int:
        """By which it is found again: `sandbox.process(id)`."""
        return self._number

    async def info(self) -> ProcessInfo:
        """What it is now."""
        return await self._io.run(_processes.look(self._target, self._number))

    def output(self, offset: int = 0, *, follow: bool = True) -> AsyncIterator[Output]:
        """Its output from an offset on; see `Process.output`."""
        return self._io.follow(OutputFeed(self._target, self._number, offset=offset, follow=follow))

    def __aiter__(self) -> AsyncIterator[Output]:
        return self.output()

    async def write(self, data: bytes | str, *, timeout: float | None = 60.0) -> None:
        """Give it input, and return when it has taken that."""
        given = data.encode() if isinstance(data, str) else data
        await self._io.run(_processes.write(self._target, self._number, given, close=False, timeout=timeout))

    async def close_stdin(self) -> None:
        """End its input."""
        await self._io.run(_processes.write(self._target, self._number, b"", close=True, timeout=60.0))

    async def signal(self, name: str | int) -> None:
        """Send a signal to it and its children: "INT", "SIGTERM", 15."""
        await self._io.run(_processes.signal(self._target, self._number, name))

    async def kill(self) -> None:
        """Send SIGKILL."""
        await self.signal("KILL")

    async def resize(self, cols: int, rows: int) -> None:
        """Give its terminal another size."""
        await self._io.run(_processes.resize(self._target, self._number, TerminalSize(cols, rows)))

    async def wait(self, *, timeout: float | None = None) -> Exit:
        """Wait until it has ended; see `Process.wait`."""
        return await self._io.run(_processes.wait(self._target, self._number, Deadline(timeout)))

    async def remove(self) -> None:
        """Kill it, if it still runs, and forget its output."""
        await self._io.run(_processes.forget(self._target, self._number))

    def __repr__(self) -> str:
        return f"<AsyncProcess {self.id} of {self._target.namespace}/{self._target.name}>"


class AsyncFiles:
    """The files of a sandbox; see `Files`."""

    def __init__(self, io: AsyncTransport, target: Target) -> None:
        """Use `AsyncSandbox.files`."""
        self._io, self._target = io, target

    async def read(self, path: str) -> bytes:
        """All of a file."""
        return await self._io.run(_files.read(self._target, path))

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """All of a file, as text."""
        return (await self.read(path)).decode(encoding)

    async def write(self, path: str, data: bytes | str, *, mode: int | None = None) -> None:
        """Write a file, whole or not at all; see `Files.write`."""
        given = data.encode() if isinstance(data, str) else data
        await self._io.run(_files.write(self._target, path, given, mode))

    async def list(self, path: str = ".") -> Entries:
        """What is in a directory, by name."""
        return await self._io.run(_files.listed(self._target, path))

    async def exists(self, path: str) -> bool:
        """Whether there is something."""
        return await self._io.run(_files.exists(self._target, path))

    async def stat(self, path: str, *, follow: bool = True) -> Stat:
        """Type, size, times and permissions of one path. Without `follow`, a link is told of itself, with its `target`."""
        return await self._io.run(_files.stat(self._target, path, follow=follow))

    async def upload(self, local: str | Path, path: str) -> None:
        """Send a file, or a directory; see `Files.upload`."""
        await self._io.run(_files.upload(self._target, Path(local), path))

    async def download(self, path: str, local: str | Path) -> Names:
        """Fetch a file, or a directory; see `Files.download`."""
        return await self._io.run(_files.download(self._target, path, Path(local)))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory, or with `recursive` all that is in it."""
        await self._io.run(_files.remove(self._target, path, recursive=recursive))

    async def mkdir(self, path: str, *, mode: int | None = None, exist_ok: bool = False) -> None:
        """Make a directory, and those on the way."""
        await self._io.run(_files.mkdir(self._target, path, mode, exist_ok=exist_ok))

    async def move(self, source: str, goal: str, *, overwrite: bool = False) -> None:
        """Give something another name."""
        await self._io.run(_files.transfer(self._target, "move", source, goal, overwrite=overwrite))

    async def copy(self, source: str, goal: str, *, overwrite: bool = False) -> None:
        """Copy a file or a tree within the sandbox."""
        await self._io.run(_files.transfer(self._target, "copy", source, goal, overwrite=overwrite))

    def watch(self, path: str = ".", *, recursive: bool = False) -> AsyncIterator[Change]:
        """Changes below a directory, as they happen; see `Files.watch`."""
        return self._io.follow(_files.Changes(self._target, path, recursive=recursive))
