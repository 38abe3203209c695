"""Processes in a sandbox: what is asked of sandboxd, and how its answers read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ._answers import asked
from ._paths import directory
from ._wire import Flow, Request, consume, path
from .errors import (
    ConflictError,
    InvalidError,
    OutputLostError,
    SandboxError,
    UnreachableError,
    WaitTimeoutError,
)
from .results import Exit, Output, ProcessInfo, Result, TerminalSize

if TYPE_CHECKING:
    from ._deadline import Deadline
    from ._lifecycle import Target

Words = str | Sequence[str]
Told = Callable[[Output], object]

GRACE = 30.0
"""How much longer than a command may take its output is waited for, in seconds."""
LONG_POLL = 30.0
CHUNK = 64 * 1024
"""How much input is sent at once."""
DRAIN = 4
"""After how many of these output is read, so that it is told of meanwhile."""
WINDOW = 512 * 1024
"""How much output is asked for at once; asking on says that it has arrived. Half of the MiB that sandboxd keeps."""
ATTEMPTS = 5
"""How often reading goes on after an interruption without a single byte in between."""


@dataclass(frozen=True)
class Command:
    """A command to be started: a line for the shell, or a program and its arguments."""

    words: Words
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    stdin: bool = False
    pty: TerminalSize | None = None
    tag: str | None = None
    timeout: float | None = None
    lossless: bool = False

    def body(self, target: Target) -> dict[str, Any]:
        """What sandboxd is asked for."""
        if not self.words:
            raise InvalidError("a command is a line for the shell, or a list with a program and its arguments")
        said = {"shell": self.words} if isinstance(self.words, str) else {"command": list(self.words)}
        wanted = {
            "env": dict(self.env) or None,
            "cwd": directory(target, self.cwd),
            "stdin": self.stdin or None,
            "pty": {"cols": self.pty.cols, "rows": self.pty.rows} if self.pty else None,
            "tag": self.tag,
            "timeoutSeconds": self.timeout,
            "onOverflow": "wait" if self.lossless else None,
        }
        return said | {name: value for name, value in wanted.items() if value is not None}


def start(target: Target, command: Command) -> Flow[ProcessInfo]:
    """Starts a process. This is sent once: whether it was begun is not known if the answer is lost."""
    request = target.request("POST", "/v1/processes", "start the command", body=_json(command.body(target)))
    answer = yield from asked(request)
    return info_of(answer.json())


def run(target: Target, command: Command, stdin: bytes | None, told: Told | None) -> Flow[Result]:
    """Runs a command to its end, which waits for us where we are slow. Whatever happens, it does not run on."""
    begun = yield from start(target, replace(command, lossless=True))
    patience = None if command.timeout is None else command.timeout + GRACE
    output = OutputFeed(target, begun.id, patience=patience, told=told, keep=True)
    try:
        if stdin is not None:
            yield from _type(target, begun.id, stdin, output)
        output.follow = True
        yield from consume(output)
    except BaseException:
        yield from _forget_quietly(target, begun.id)
        raise
    yield from _forget_quietly(target, begun.id)
    return output.result()


def _type(target: Target, number: int, stdin: bytes, output: OutputFeed) -> Flow[None]:
    """Writes all input, and reads what comes meanwhile: the command takes no input while it waits for us to read."""
    at, pieces, closed = 0, 0, False
    while not closed:
        piece = stdin[at : at + CHUNK]
        last = at + len(piece) == len(stdin)
        try:
            taken = yield from _offer(target, number, piece, close=last, timeout=output.patience)
        except ConflictError:
            # It has ended, or reads no more: what is left over is nobody's, as with a pipe.
            break
        at, pieces, closed = at + taken, pieces + 1, last and taken == len(piece)
        if taken < len(piece) or (pieces % DRAIN == 0 and not closed):
            output.begin(follow=False)
            yield from consume(output)
    output.begin(follow=True)


def _offer(target: Target, number: int, data: bytes, *, close: bool, timeout: float | None) -> Flow[int]:
    """Gives it input, and says how much of that it took before it waited for its output to be read."""
    where = path("v1", "processes", str(number), "stdin", close=close or None, partial=True)
    request = target.request("POST", where, f"write to process {number}", body=data, timeout=timeout)
    answer = yield from asked(request)
    taken: int = answer.json()["taken"]
    return taken


def _forget_quietly(target: Target, number: int) -> Flow[None]:
    try:
        yield from forget(target, number)
    except SandboxError:
        return


def forget(target: Target, number: int) -> Flow[None]:
    """Kills it, if it runs, with all that it started, and forgets its output."""
    yield from asked(target.request("DELETE", _place(number), f"end process {number}"), 404)


def look(target: Target, number: int) -> Flow[ProcessInfo]:
    """A process as it is."""
    answer = yield from asked(target.request("GET", _place(number), f"look at process {number}"))
    return info_of(answer.json())


def listed(target: Target, tag: str | None) -> Flow[list[ProcessInfo]]:
    """What runs, and what ended of late."""
    answer = yield from asked(target.request("GET", path("v1", "processes", tag=tag), "list processes"))
    return [info_of(item) for item in answer.json()["processes"]]


def write(target: Target, number: int, data: bytes, *, close: bool, timeout: float | None) -> Flow[None]:
    """Gives it input. Returns when it has taken all of that."""
    where = path("v1", "processes", str(number), "stdin", close=close or None)
    yield from asked(target.request("POST", where, f"write to process {number}", body=data, timeout=timeout))


def signal(target: Target, number: int, name: str | int) -> Flow[None]:
    """Sends a signal to its process group."""
    request = target.request("POST", _place(number, "signal"), f"signal process {number}", body=_json({"signal": name}))
    yield from asked(request)


def resize(target: Target, number: int, size: TerminalSize) -> Flow[None]:
    """Gives its terminal another size."""
    body = _json({"cols": size.cols, "rows": size.rows})
    yield from asked(target.request("POST", _place(number, "resize"), f"resize process {number}", body=body))


def wait(target: Target, number: int, deadline: Deadline) -> Flow[Exit]:
    """Waits until it has ended. Asking again repeats nothing."""
    while True:
        seconds = max(0.05, deadline.left(LONG_POLL))
        where = path("v1", "processes", str(number), "wait", timeout=f"{seconds:g}")
        request = target.request("GET", where, f"wait for process {number}", timeout=seconds + GRACE)
        found = info_of((yield from asked(request)).json())
        if found.exit is not None:
            return found.exit
        if deadline.over:
            raise WaitTimeoutError(f"process {number} still runs after {deadline.seconds:g} s; wait again, or kill it")


def info_of(shown: dict[str, Any]) -> ProcessInfo:
    """A process as sandboxd describes it."""
    ended = shown.get("exit")
    return ProcessInfo(
        id=shown["id"],
        pid=shown["pid"],
        command=tuple(shown["command"]),
        running=shown["state"] == "running",
        exit=exit_of(ended) if ended else None,
        tag=shown.get("tag"),
        output_from=shown["output"]["from"],
        output_to=shown["output"]["to"],
    )


def exit_of(shown: dict[str, Any]) -> Exit:
    """An end as sandboxd describes it."""
    return Exit(shown["code"], shown.get("signal"), bool(shown.get("timedOut")))


def _place(number: int, *part: str) -> str:
    return path("v1", "processes", str(number), *part)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


class OutputFeed:
    """The output of a process from an offset on. Where a connection breaks, reading goes on from there."""

    def __init__(
        self,
        target: Target,
        number: int,
        *,
        offset: int = 0,
        follow: bool = True,
        patience: float | None = None,
        told: Told | None = None,
        keep: bool = False,
    ) -> None:
        self.offset = offset
        self.follow = follow
        self.patience = patience
        self.exit: Exit | None = None
        self.ended = False
        self._target, self._number, self._told, self._keep = target, number, told, keep
        self._kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._lost = self._missing = 0
        self._rest = b""
        self._idle = 0

    def begin(self, *, follow: bool) -> None:
        """Read on, either what is there or all that will come."""
        self.follow = follow
        self.ended = self.exit is not None

    def request(self) -> Request:
        """From where we are. What is there now is asked for in one piece; whoever follows asks on, and so do commands."""
        most = WINDOW if self.follow or self._keep else None
        query = {"from": self.offset, "follow": self.follow or None, "most": most}
        where = path("v1", "processes", str(self._number), "output", **query)
        doing = f"read the output of process {self._number}"
        return self._target.request("GET", where, doing, timeout=self.patience)

    def feed(self, data: bytes) -> list[Output]:
        """The pieces that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        pieces = [piece for line in lines if line for piece in self._read(json.loads(line))]
        for piece in pieces:
            self._note(piece)
        return pieces

    def _read(self, line: dict[str, Any]) -> list[Output]:
        if "lost" in line:
            lost = line["lost"]
            self._lost += lost["to"] - lost["from"]
            self.offset = lost["to"]
        elif "exit" in line:
            self.exit, self.ended = exit_of(line["exit"]), True
            if self._lost:
                return [self._piece("stdout", b"", self.offset)]
        elif "data" in line:
            data = line["data"]
            return [self._piece(data["stream"], base64.b64decode(data["base64"]), data["offset"])]
        return []

    def _piece(self, stream: Any, data: bytes, offset: int) -> Output:
        lost, self._lost = self._lost, 0
        self._missing += lost
        self.offset, self._idle = offset + len(data), 0
        return Output(stream, data, offset, lost)

    def _note(self, piece: Output) -> None:
        if self._keep:
            self._kept["stderr" if piece.stream == "stderr" else "stdout"].append(piece.data)
        if self._told is not None:
            self._told(piece)

    def closed(self, error: Exception | None) -> None:
        """Without following, the end of the answer is the end. Otherwise it was full, or broke, and we ask on from there."""
        self._rest = b""
        if isinstance(error, UnreachableError) or (error is None and self.follow):
            self._idle += 1
            if self._idle > ATTEMPTS:
                raise error or UnreachableError(f"the output of process {self._number} breaks off again and again")
        elif error is not None:
            raise error
        else:
            self.ended = True

    def result(self) -> Result:
        """What became of the command, once it has ended."""
        ended = self.exit or Exit(-1)
        out, err = (b"".join(self._kept[name]) for name in ("stdout", "stderr"))
        result = Result(ended.code, out, err, ended.signal, ended.timed_out)
        if self._missing:
            raise OutputLostError(
                f"{self._missing} bytes of the command's output are missing, because somebody else read it too and was faster; "
                "write it to a file in the sandbox and download that",
                result,
            )
        return result
