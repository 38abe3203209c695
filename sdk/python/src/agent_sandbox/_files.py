"""Files in a sandbox: what is asked of sandboxd, and how its answers read."""

from __future__ import annotations

import json
import posixpath
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

from . import _archive
from ._answers import asked
from ._paths import resolve
from ._wire import Answer, Flow, Request, consume, path, work
from .errors import ConflictError, InvalidError, SandboxError, UnreachableError
from .results import Change, Entry, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ._lifecycle import Target

LONG = 600.0
"""How long sandboxd may take with a whole tree, in seconds."""
CHUNK = 64 * 1024


def place(target: Target, *kind: str, at: str, **query: object) -> str:
    """Where a path of the sandbox is."""
    return path("v1", *kind, resolve(target, at).lstrip("/"), **query)


def read(target: Target, at: str) -> Flow[bytes]:
    """All of a file."""
    answer = yield from asked(target.request("GET", place(target, "files", at=at), f"read {at!r}"))
    _must_be_file(answer, at)
    return answer.body


def write(target: Target, at: str, data: bytes, mode: int | None) -> Flow[None]:
    """Whole or not at all; directories on the way are made."""
    where = place(target, "files", at=at, mode=_octal(mode))
    yield from asked(target.request("PUT", where, f"write {at!r}", body=data))


def listed(target: Target, at: str) -> Flow[list[Entry]]:
    """What is in a directory."""
    answer = yield from asked(target.request("GET", place(target, "files", at=at), f"list {at!r}"))
    if _is_file(answer):
        raise InvalidError(f"cannot list {at!r}: it is a file")
    shown = answer.json()
    if shown.get("truncated"):
        raise InvalidError(
            f"cannot list {at!r}: it has more than {len(shown['entries'])} entries; list it with a command"
        )
    return [entry(item) for item in shown["entries"]]


def exists(target: Target, at: str) -> Flow[bool]:
    """Whether there is something at a path."""
    answer = yield from asked(target.request("HEAD", place(target, "files", at=at), f"look for {at!r}"), 404)
    return answer.status != 404


def stat(target: Target, at: str, *, follow: bool) -> Flow[Stat]:
    """The facts of one path: of a link itself, or of what it leads to."""
    where = place(target, "stat", at=at, follow=follow or None)
    shown = (yield from asked(target.request("GET", where, f"look at {at!r}"))).json()
    return Stat(
        name=posixpath.basename(shown["path"]),
        type=shown["type"],
        size=shown["size"],
        modified=_moment(shown["modified_at"]),
        mode=int(shown["mode"], 8),
        accessed=_moment(shown["accessed_at"]),
        changed=_moment(shown["changed_at"]),
        target=shown.get("target"),
    )


def remove(target: Target, at: str, *, recursive: bool) -> Flow[None]:
    """Removes a file or directory."""
    where = place(target, "files", at=at, recursive=recursive or None)
    yield from asked(target.request("DELETE", where, f"remove {at!r}", timeout=LONG))


def mkdir(target: Target, at: str, mode: int | None, *, exist_ok: bool) -> Flow[None]:
    """Makes a directory, and those on the way."""
    request = target.request(
        "POST", place(target, "directories", at=at, mode=_octal(mode)), f"make the directory {at!r}"
    )
    try:
        yield from asked(request)
    except ConflictError:
        if not exist_ok or _is_file(
            (yield from asked(target.request("HEAD", place(target, "files", at=at), f"look at {at!r}")))
        ):
            raise


def transfer(target: Target, how: str, source: str, goal: str, *, overwrite: bool) -> Flow[None]:
    """Moves or copies within the sandbox."""
    body = {"from": resolve(target, source), "to": resolve(target, goal), "overwrite": overwrite}
    doing = f"{how} {source!r} to {goal!r}"
    yield from asked(target.request("POST", f"/v1/{how}", doing, body=json.dumps(body).encode(), timeout=LONG))


def upload(target: Target, local: Path, at: str) -> Flow[None]:
    """A file, or a directory with all that is in it."""
    if local.is_dir():
        yield from mkdir(target, at, None, exist_ok=True)
        with _archive.scratch() as archive:
            yield from work(lambda: _archive.pack(local, archive))
            request = target.request("PUT", place(target, "archive", at=at), f"upload {str(local)!r}", **_body(archive))
            yield from asked(request)
        return
    if not local.is_file():
        raise InvalidError(f"cannot upload {str(local)!r}: there is no such file or directory here")
    mode = _octal(local.stat().st_mode & 0o777)
    with local.open("rb") as file:
        where = place(target, "files", at=at, mode=mode)
        yield from asked(target.request("PUT", where, f"upload {str(local)!r}", **_body(file)))


def _body(file: IO[bytes]) -> dict[str, Any]:
    length = file.seek(0, 2)
    file.seek(0)
    return {"body": _chunks(file), "headers": (("Content-Length", str(length)),), "timeout": LONG}


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def download(target: Target, at: str, local: Path) -> Flow[list[str]]:
    """A file, or a directory with all that is in it. What was left out of a directory is named."""
    answer = yield from asked(target.request("HEAD", place(target, "files", at=at), f"download {at!r}"))
    if _is_file(answer):
        goal = local / posixpath.basename(posixpath.normpath(at)) if local.is_dir() else local
        with _archive.whole(goal) as file:
            yield from consume(Download(target.request("GET", place(target, "files", at=at), f"download {at!r}"), file))
        return []
    with _archive.scratch() as file:
        request = target.request("GET", place(target, "archive", at=at), f"download {at!r}", timeout=LONG)
        yield from consume(Download(request, file))
        return (yield from work(lambda: _archive.unpack(file, local)))


def entry(shown: dict[str, Any]) -> Entry:
    """An entry as sandboxd describes it."""
    return Entry(shown["name"], shown["type"], shown["size"], _moment(shown["modified_at"]), int(shown["mode"], 8))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _is_file(answer: Answer) -> bool:
    """A directory is answered with a list, which has no parts to ask for."""
    return "accept-ranges" in answer.headers


def _must_be_file(answer: Answer, at: str) -> None:
    if not _is_file(answer):
        raise InvalidError(f"cannot read {at!r}: it is a directory; list or download it")


def _octal(mode: int | None) -> str | None:
    return None if mode is None else f"{mode:04o}"


class Download:
    """Writes what comes to a file."""

    def __init__(self, request: Request, file: IO[bytes]) -> None:
        self.ended = False
        self._request, self._file = request, file

    def request(self) -> Request:
        """All of it."""
        return self._request

    def feed(self, data: bytes) -> list[bytes]:
        """Keeps it."""
        self._file.write(data)
        return []

    def closed(self, error: Exception | None) -> None:
        """The end of the answer is the end of the file."""
        if error is not None:
            raise error
        self._file.flush()
        self.ended = True


class Changes:
    """What happens below a directory."""

    def __init__(self, target: Target, at: str, *, recursive: bool) -> None:
        self.ended = False
        self._at, self._rest = at, b""
        where = place(target, "watch", at=at, recursive=recursive or None)
        self._request = target.request("GET", where, f"watch {at!r}", timeout=None)

    def request(self) -> Request:
        """From now on."""
        return self._request

    def feed(self, data: bytes) -> list[Change]:
        """The changes that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        changes = [_change(json.loads(line)) for line in lines if line]
        self.ended = any(change.event == "end" for change in changes)
        return changes

    def closed(self, error: Exception | None) -> None:
        """What happened meanwhile is not known, so nobody is made to believe that nothing did."""
        if isinstance(error, SandboxError) and not isinstance(error, UnreachableError):
            raise error
        if not self.ended:
            raise UnreachableError(
                f"watching {self._at!r} was interrupted; watch again, and list what is there"
            ) from error


def _change(shown: dict[str, Any]) -> Change:
    return Change(shown["event"], shown["path"], bool(shown.get("directory")))
