"""What methods return: plain, immutable data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Stream = Literal["stdout", "stderr", "pty"]


@dataclass(frozen=True)
class Result:
    r"""What became of a command.

    >>> Result(exit_code=0, stdout_bytes=b"42\\n").stdout
    '42\\n'
    """

    exit_code: int
    """The exit code; 128 and the number of the signal for a command that was ended by one."""
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    signal: str | None = None
    """The signal that ended it, such as `SIGKILL`."""
    timed_out: bool = False
    """Whether it was killed because it took longer than `timeout`."""

    @property
    def stdout(self) -> str:
        """What it wrote to standard output, as text. What is no UTF-8 is replaced; `stdout_bytes` has it as it was."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """What it wrote to standard error, as text."""
        return self.stderr_bytes.decode(errors="replace")

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.exit_code == 0

    def check(self) -> Result:
        """The same result, or a `CommandError` if the command did not end with 0."""
        if self.ok:
            return self
        how = "took too long and was killed" if self.timed_out else f"ended with {self.exit_code}"
        said = self.stderr.strip() or self.stdout.strip()
        raise CommandError(f"the command {how}{': ' + said[-500:] if said else ''}", self)


@dataclass(frozen=True)
class Output:
    """A piece of what a process wrote."""

    stream: Stream
    """`stdout`, `stderr`, or `pty` for a process with a terminal, which has one stream."""
    data: bytes
    offset: int
    """Where it begins, in bytes from the first that the process wrote, over both streams."""
    lost: int = 0
    """How many bytes are missing before this piece, because they came faster than they were read."""

    @property
    def text(self) -> str:
        """The data as text. A character that is cut in two by the end of a piece is replaced."""
        return self.data.decode(errors="replace")

    @property
    def end(self) -> int:
        """The offset after it: where to go on reading."""
        return self.offset + len(self.data)


@dataclass(frozen=True)
class Exit:
    """How a process ended."""

    code: int
    signal: str | None = None
    timed_out: bool = False


@dataclass(frozen=True)
class ProcessInfo:
    """A process in a sandbox, as it was when it was asked for."""

    id: int
    """By which it is found again: `sandbox.process(id)`."""
    pid: int
    """Its number inside the sandbox."""
    command: tuple[str, ...]
    running: bool
    exit: Exit | None
    tag: str | None
    output_from: int
    """The first byte of its output that can still be had."""
    output_to: int


@dataclass(frozen=True)
class TerminalSize:
    """The size of a terminal, in characters."""

    cols: int = 80
    rows: int = 24


@dataclass(frozen=True)
class Entry:
    """A file or directory in a sandbox. A link is what it leads to."""

    name: str
    type: Literal["file", "directory"]
    size: int
    modified: datetime
    mode: int
    """The permissions, such as 0o644."""

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.type == "directory"


@dataclass(frozen=True)
class Stat:
    """What is known about one path."""

    name: str
    """Empty for the root of what is served."""
    type: Literal["file", "directory", "link", "other"]
    """`other` is a pipe, a socket or a device; `link` is only told where links are not followed."""
    size: int
    modified: datetime
    mode: int
    """The permissions, such as 0o644, and the bits above them."""
    accessed: datetime
    changed: datetime
    """When it, its name or its mode was changed last."""
    target: str | None = None
    """Where a link leads, as it says."""

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.type == "directory"

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return self.type == "link"


@dataclass(frozen=True)
class Change:
    """Something that happened below a directory that is watched."""

    event: Literal["start", "create", "write", "attributes", "remove", "movedfrom", "movedto", "overflow", "end"]
    """`start` comes first: from then on nothing is missed. After `overflow`, list again. `end` is the last."""
    path: str
    """Below the directory that is watched; empty for itself."""
    is_directory: bool = False


@dataclass(frozen=True)
class Response:
    """What a port of a sandbox answered to an HTTP request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """With names in small letters."""
    content: bytes = b""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.content)


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox in a list."""

    name: str
    namespace: str
    phase: str
    """`Pending`, `Running`, `Suspended` and so on."""
    ready: bool
    image: str
