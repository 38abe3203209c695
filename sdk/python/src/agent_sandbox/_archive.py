"""Trees of this machine as tar, both ways. What comes from a sandbox is not trusted."""

from __future__ import annotations

import contextlib
import os
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


@contextlib.contextmanager
def pack(directory: Path) -> Iterator[IO[bytes]]:
    """What is in a directory: files, directories and links, without their owners."""
    with scratch() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for entry in sorted(directory.iterdir()):
                archive.add(entry, entry.name, filter=_plain)
        yield file


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


@contextlib.contextmanager
def whole(goal: Path) -> Iterator[IO[bytes]]:
    """A file that is there whole at the end of the block, or not at all."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{goal.name}.", dir=goal.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # As the user's mask has it: temporary files are their owner's alone.
        Path(name).chmod(0o666 & ~_mask())
        Path(name).replace(goal)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


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
    with whole(goal) as file:
        shutil.copyfileobj(content, file)
    goal.chmod(member.mode & 0o777 & ~_mask())
