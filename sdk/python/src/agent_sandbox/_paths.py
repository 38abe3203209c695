"""Paths in a sandbox as somebody names them, and as sandboxd takes them. The same for files and for where commands begin."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from ._lifecycle import Target


def resolve(target: Target, path: str) -> str:
    """The path that sandboxd is told. It serves one directory, and would take a path outside of it for one inside."""
    if "\0" in path:
        raise InvalidError("a path has no zero byte")
    if not posixpath.isabs(path):
        return posixpath.join(target.workdir, path) if target.workdir else path
    if target.root in (None, "/"):
        return path
    root = str(target.root).rstrip("/")
    cleaned = posixpath.normpath(path)
    if cleaned != root and not cleaned.startswith(root + "/"):
        raise InvalidError(
            f"{path!r} is outside of {root!r}, which is all that sandbox {target.name!r} serves files of; use a command, or a "
            "path below it"
        )
    return path


def directory(target: Target, cwd: str | None) -> str | None:
    """Where a command begins; nothing for where sandboxd begins by itself."""
    return target.workdir if cwd is None else resolve(target, cwd)
