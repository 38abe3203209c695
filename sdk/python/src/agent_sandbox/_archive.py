"""Trees of this machine as tar, both ways. What comes from a sandbox is not trusted."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_MEMORY = 8 * 1024 * 1024
"""Archives beyond this many bytes are kept in a temporary file."""


@contextlib.contextmanager
def scratch() -> Iterator[IO[bytes]]:
    """A file that goes with the block."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        yield file


def pack(directory: Path, file: IO[bytes]) -> None:
    """Writes what is in a directory: files, directories and links, without their owners."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in sorted(directory.iterdir()):
            archive.add(entry, entry.name, filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


@contextlib.contextmanager
def whole(goal: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file that is there whole at the end of the block, or not at all. The user's mask takes from its mode."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    fresh = goal.with_name(f".{goal.name[:200]}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
        fresh.replace(goal)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def unpack(file: IO[bytes], directory: Path) -> list[str]:
    """Writes the files and directories of an archive below a directory. Links and devices are left out, and named."""
    file.seek(0)
    left: list[str] = []
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            goal = directory / _inside(member.name)
            if member.isdir():
                goal.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                _write(archive, member, goal)
            else:
                left.append(member.name)
    return left


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise InvalidError(f"the sandbox sent a file called {name!r}, which leads elsewhere; nothing more was written")
    return path


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, goal: Path) -> None:
    content = archive.extractfile(member)
    if content is None:
        return
    with whole(goal, member.mode & 0o777) as file:
        shutil.copyfileobj(content, file)
