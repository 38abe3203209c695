"""`Sandbox`: everything as plain calls that return when it is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from . import _files, _lifecycle, _ports, _processes
from ._connection import connection
from ._deadline import Deadline
from ._objects import WORKDIR, NewClaim, NewSandbox
from ._processes import Command, OutputFeed
from ._sync_transport import SyncTransport
from .results import TerminalSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from ._lifecycle import Target
    from ._wire import Flow
    from .results import Change, Entry, Exit, Output, ProcessInfo, Response, Result, SandboxInfo, Stat

    # Classes that have a method of that name cannot name the type.
    Entries = list[Entry]
    Infos = list[SandboxInfo]
    Names = list[str]
    Running = list[ProcessInfo]


S = TypeVar("S", bound="Sandbox")


class Client:
    """Whom to talk to, and a pool of connections. Threads may share one.

    Without arguments: `KUBECONFIG` if it is set, else the Agent Sandbox of this machine (`asb up`), or in a Pod the cluster
    that it is in. The default kubeconfig counts only where `context` asks for it.

    Args:
        kubeconfig: a kubeconfig file.
        context: a context of it, or of `KUBECONFIG`, or of the default kubeconfig.
        data_dir: the data directory of an `asb up` on this machine, whatever `KUBECONFIG` says.
        server: the address of an API server, instead of all these; `token` says who you are.
        token: a bearer token instead of the credentials of the kubeconfig.
        namespace: where sandboxes are; that of the context, or `default`.
        router: the address of the router. Without one it is reached through the API server, as yourself.
        router_token: who you are to the router, such as a token of `asb token`; otherwise your own token.
    """

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
        self._io = SyncTransport(known)
        self._namespace = namespace or known.access.namespace

    @property
    def namespace(self) -> str:
        """Where sandboxes are if no namespace is named."""
        return self._namespace

    def close(self) -> None:
        """Ends all connections. Sandboxes stay."""
        self._io.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Sandbox:
    """An isolated environment with a name, which runs commands and keeps files.

    >>> with Sandbox.create() as box:                     # doctest: +SKIP
    ...     print(box.run("echo hello").stdout)
    hello

    A `with` block deletes at its end what it created or claimed; a sandbox of `Sandbox.get` stays.
    """

    def __init__(self, client: Client, target: Target, *, owns_client: bool = False, is_ours: bool = False) -> None:
        """Use `create`, `claim` or `get`."""
        self._client, self._target = client, target
        self._owns_client, self._is_ours = owns_client, is_ours
        self._files = Files(client._io, target)

    @classmethod
    def create(
        cls: type[S],
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
        client: Client | None = None,
    ) -> S:
        """Make a sandbox, and return when it answers. If it does not get that far it is removed again.

        Args:
            image: what is in it. On one machine it may be left out: `asb.local/host`, made of that machine's own programs.
            name: one is made up if you have none.
            namespace: that of the client if unset.
            env: variables that everything in it sees.
            cpu: the most processors it may use, such as 0.5 or "500m".
            memory: the most memory it may use, such as "512Mi" or "2g".
            storage: the size of a volume for `workdir`, such as "1Gi", which stays over suspend and resume. Without it, `workdir`
                is empty after a resume.
            workdir: where commands begin and what relative paths are relative to.
            command: what runs in it besides what you start; nothing if unset.
            runtime_class: what isolates it, such as "gvisor".
            labels: labels of the Sandbox.
            lifetime: seconds after which it is deleted, whoever has forgotten it.
            timeout: how long to wait for it, in seconds.
            client: whom to talk to; one of its own if unset.
        """
        wanted = NewSandbox(
            image or "", name, command, env or {}, cpu, memory, storage, workdir, runtime_class, labels or {}, lifetime
        )
        used = client or Client()
        return cls._opened(
            used, client is None, _lifecycle.create(wanted, namespace or used.namespace, Deadline(timeout)), True
        )

    @classmethod
    def claim(
        cls: type[S],
        pool: str,
        *,
        name: str | None = None,
        namespace: str | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        lifetime: float | None = None,
        timeout: float = 180.0,
        client: Client | None = None,
    ) -> S:
        """Take a sandbox from a warm pool. Its template must ask for the runtime: `runtime: {}`.

        Args:
            pool: the SandboxWarmPool.
            name: of the claim; one is made up if you have none.
            namespace: that of the client if unset.
            env: variables, if the template lets claims set them.
            labels: labels of the claim.
            lifetime: seconds after which it is given back.
            timeout: how long to wait for it, in seconds.
            client: whom to talk to; one of its own if unset.
        """
        wanted = NewClaim(pool, name, env or {}, labels or {}, lifetime)
        used = client or Client()
        return cls._opened(
            used, client is None, _lifecycle.claim(wanted, namespace or used.namespace, Deadline(timeout)), True
        )

    @classmethod
    def get(cls: type[S], name: str, *, namespace: str | None = None, client: Client | None = None) -> S:
        """The sandbox of that name, or the one that the claim of that name has. A `with` block does not delete it."""
        used = client or Client()
        return cls._opened(used, client is None, _lifecycle.get(name, namespace or used.namespace), False)

    @classmethod
    def list(cls, *, namespace: str | None = None, client: Client | None = None) -> Infos:
        """The sandboxes of a namespace."""
        used = client or Client()
        try:
            return used._io.run(_lifecycle.listed(namespace or used.namespace))
        finally:
            if client is None:
                used.close()

    @classmethod
    def _opened(cls: type[S], client: Client, owns: bool, flow: Flow[Target], is_ours: bool) -> S:
        try:
            return cls(client, client._io.run(flow), owns_client=owns, is_ours=is_ours)
        except BaseException:
            if owns:
                client.close()
            raise

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
    def files(self) -> Files:
        """Its files."""
        return self._files

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = 300.0,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes | str | None = None,
        on_output: Callable[[Output], object] | None = None,
    ) -> Result:
        r"""Run a command to its end, and return what it said.

        It is sent once and never again. Where the connection breaks while it runs, reading its output goes on from where it was.
        None of that is lost: a command that writes faster than it can be read waits.

        >>> box.run(["python3", "-c", "print(6*7)"]).check().stdout      # doctest: +SKIP
        '42\\n'

        Args:
            command: a line for `/bin/sh`, or a program and its arguments, which no shell looks at.
            timeout: seconds after which it is killed, which `timed_out` of the result says; `None` for as long as it takes.
            env: variables besides those of the sandbox.
            cwd: where it begins.
            stdin: what it reads; nothing if unset.
            on_output: told of each piece of output as it comes.
        """
        wanted = Command(command, env or {}, cwd, stdin is not None, None, None, timeout)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        return self._client._io.run(_processes.run(self._target, wanted, given, on_output))

    def start(
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
    ) -> Process:
        """Start a process that runs on by itself, and return at once. Iterate over it for its output.

        >>> for piece in box.start("make test"):                         # doctest: +SKIP
        ...     print(piece.text, end="")

        Args:
            command: a line for `/bin/sh`, or a program and its arguments.
            timeout: seconds after which it is killed.
            env: variables besides those of the sandbox.
            cwd: where it begins.
            stdin: whether you will `write` to it. A terminal can always be written to.
            pty: give it a terminal of this size.
            tag: a name to find it by in `processes`.
            lossless: let it wait while nobody reads its output. Otherwise it never waits, and of more than a MiB that nobody has
                read the beginning is lost, which pieces of `output` say.
        """
        wanted = Command(command, env or {}, cwd, stdin, pty, tag, timeout, lossless)
        begun = self._client._io.run(_processes.start(self._target, wanted))
        return Process(self._client._io, self._target, begun.id)

    def process(self, number: int) -> Process:
        """The process with this `id`, which some other client may have started. Nothing is asked of the sandbox yet."""
        return Process(self._client._io, self._target, number)

    def processes(self, *, tag: str | None = None) -> Running:
        """The processes that were started from outside: those that run, and those that ended of late."""
        return self._client._io.run(_processes.listed(self._target, tag))

    def request(
        self,
        method: str,
        port: int,
        path: str = "/",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        timeout: float | None = 60.0,
    ) -> Response:
        """Send an HTTP request to a port of the sandbox. It is sent once, and any status is an answer.

        What listens there must listen on all addresses (0.0.0.0), not only on 127.0.0.1.
        """
        given = body.encode() if isinstance(body, str) else body
        return self._client._io.run(_ports.request(self._target, port, method, path, headers, given, timeout))

    def url(self, port: int, path: str = "/", *, token: str | None = None) -> str:
        """The address of a port of the sandbox at the router, which the client must know (`Client(router=…)`).

        Whoever opens it needs a token: in `Authorization: Bearer …`, or in the link itself for a browser. `asb token NAME --port
        PORT` makes one for this port alone.
        """
        return _ports.url(self._client._io.connection, self._target, port, path, token)

    def info(self) -> SandboxInfo:
        """What the sandbox is now."""
        return self._client._io.run(_lifecycle.info(self._target))

    def suspend(self, *, timeout: float = 120.0) -> None:
        """Stop it, and free its memory and processors. Its name and its volume stay; everything else is gone."""
        self._client._io.run(_lifecycle.suspend(self._target, Deadline(timeout)))

    def resume(self, *, timeout: float = 180.0) -> None:
        """Start it again, and return when it answers."""
        self._client._io.run(_lifecycle.resume(self._target, Deadline(timeout)))

    def delete(self, *, wait: bool = True, timeout: float = 120.0) -> None:
        """Delete it, or give it back if it was claimed. One that is gone already is no error."""
        self._client._io.run(_lifecycle.delete(self._target, Deadline(timeout) if wait else None))
        self._is_ours = False

    def close(self) -> None:
        """End the connections, if they are its own. The sandbox stays."""
        if self._owns_client:
            self._client.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if self._is_ours:
                self.delete(wait=False)
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<Sandbox {self.namespace}/{self.name}>"


class Process:
    """A process in a sandbox. It runs on whatever becomes of this object, and of the connection."""

    def __init__(self, io: SyncTransport, target: Target, number: int) -> None:
        """Use `Sandbox.start` or `Sandbox.process`."""
        self._io, self._target, self._number = io, target, number

    @property
    def id(self) -> int:
        """By which it is found again: `sandbox.process(id)`."""
        return self._number

    def info(self) -> ProcessInfo:
        """What it is now."""
        return self._io.run(_processes.look(self._target, self._number))

    def output(self, offset: int = 0, *, follow: bool = True) -> Iterator[Output]:
        """Its output from an offset on, as it comes, until it ends; without `follow`, what is there now.

        The sandbox keeps the last MiB, also for a while after the end, so whoever comes again goes on at `piece.end`. What is no
        longer there is counted in `piece.lost`; of a process that was started `lossless` that is nothing, for its one reader.
        """
        return self._io.follow(OutputFeed(self._target, self._number, offset=offset, follow=follow))

    def __iter__(self) -> Iterator[Output]:
        return self.output()

    def write(self, data: bytes | str, *, timeout: float | None = 60.0) -> None:
        """Give it input, and return when it has taken that."""
        given = data.encode() if isinstance(data, str) else data
        self._io.run(_processes.write(self._target, self._number, given, close=False, timeout=timeout))

    def close_stdin(self) -> None:
        """End its input. With a terminal this types the character that does."""
        self._io.run(_processes.write(self._target, self._number, b"", close=True, timeout=60.0))

    def signal(self, name: str | int) -> None:
        """Send a signal to it and its children: "INT", "SIGTERM", 15."""
        self._io.run(_processes.signal(self._target, self._number, name))

    def kill(self) -> None:
        """Send SIGKILL."""
        self.signal("KILL")

    def resize(self, cols: int, rows: int) -> None:
        """Give its terminal another size."""
        self._io.run(_processes.resize(self._target, self._number, TerminalSize(cols, rows)))

    def wait(self, *, timeout: float | None = None) -> Exit:
        """Wait until it has ended. It runs on if that takes longer than `timeout` seconds, which is a `WaitTimeoutError`."""
        return self._io.run(_processes.wait(self._target, self._number, Deadline(timeout)))

    def remove(self) -> None:
        """Kill it, if it still runs, with everything that it started, and forget its output."""
        self._io.run(_processes.forget(self._target, self._number))

    def __repr__(self) -> str:
        return f"<Process {self.id} of {self._target.namespace}/{self._target.name}>"


class Files:
    """The files of a sandbox. Relative paths begin where commands do; absolute ones mean what they mean to commands."""

    def __init__(self, io: SyncTransport, target: Target) -> None:
        """Use `Sandbox.files`."""
        self._io, self._target = io, target

    def read(self, path: str) -> bytes:
        """All of a file."""
        return self._io.run(_files.read(self._target, path))

    def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """All of a file, as text."""
        return self.read(path).decode(encoding)

    def write(self, path: str, data: bytes | str, *, mode: int | None = None) -> None:
        """Write a file, whole or not at all. Directories on the way are made; `mode` is 0o644 if unset."""
        given = data.encode() if isinstance(data, str) else data
        self._io.run(_files.write(self._target, path, given, mode))

    def list(self, path: str = ".") -> Entries:
        """What is in a directory, by name."""
        return self._io.run(_files.listed(self._target, path))

    def exists(self, path: str) -> bool:
        """Whether there is something."""
        return self._io.run(_files.exists(self._target, path))

    def stat(self, path: str, *, follow: bool = True) -> Stat:
        """Type, size, times and permissions of one path. Without `follow`, a link is told of itself, with its `target`."""
        return self._io.run(_files.stat(self._target, path, follow=follow))

    def upload(self, local: str | Path, path: str) -> None:
        """Send a file, or a directory with all that is in it. `path` is what it will be called there."""
        self._io.run(_files.upload(self._target, Path(local), path))

    def download(self, path: str, local: str | Path) -> Names:
        """Fetch a file, or a directory with all that is in it; `local` is what it will be called here.

        What comes from a sandbox is not trusted: names that lead elsewhere end it, links and devices are left out. Returns the
        names of those that were left out.
        """
        return self._io.run(_files.download(self._target, path, Path(local)))

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory, or with `recursive` all that is in it."""
        self._io.run(_files.remove(self._target, path, recursive=recursive))

    def mkdir(self, path: str, *, mode: int | None = None, exist_ok: bool = False) -> None:
        """Make a directory, and those on the way."""
        self._io.run(_files.mkdir(self._target, path, mode, exist_ok=exist_ok))

    def move(self, source: str, goal: str, *, overwrite: bool = False) -> None:
        """Give something another name."""
        self._io.run(_files.transfer(self._target, "move", source, goal, overwrite=overwrite))

    def copy(self, source: str, goal: str, *, overwrite: bool = False) -> None:
        """Copy a file or a tree within the sandbox."""
        self._io.run(_files.transfer(self._target, "copy", source, goal, overwrite=overwrite))

    def watch(self, path: str = ".", *, recursive: bool = False) -> Iterator[Change]:
        """Changes below a directory, as they happen. The first one is `start`: from then on nothing is missed."""
        return self._io.follow(_files.Changes(self._target, path, recursive=recursive))
