"""What can go wrong. Every message says what was tried, what happened, and what to do next.

All of them are a `SandboxError`, so one `except` catches what this package raises and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Result


class SandboxError(Exception):
    """Something about a sandbox did not work."""


class ConfigurationError(SandboxError):
    """It is not known where to connect to, or what is asked for makes no sense."""


class UnreachableError(SandboxError):
    """Nobody answers: the API server, the router or the sandbox."""


class UnauthenticatedError(SandboxError):
    """The server does not know who asks (401)."""


class ForbiddenError(SandboxError):
    """The server knows who asks, and they may not (403)."""


class NotFoundError(SandboxError):
    """There is no such sandbox, claim, process or file (404)."""


class ConflictError(SandboxError):
    """Something is there already, or has changed meanwhile (409)."""


class InvalidError(SandboxError):
    """The server refuses what was asked (400, 413, 422)."""


class ServerError(SandboxError):
    """The server failed (5xx, or an answer that makes no sense)."""


class NotReadyError(SandboxError):
    """The sandbox will not become ready, or has ended.

    `reason` is a word for programs, as Kubernetes has it: `ImagePullBackOff`, `InvalidConfiguration`, `WarmPoolNotFound`.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class WaitTimeoutError(SandboxError, TimeoutError):
    """It took longer than the time that was given. Also a `TimeoutError`."""


class CommandError(SandboxError):
    """A command ended with another exit code than 0. `Result.check` raises it; `result` has what it said."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class OutputLostError(SandboxError):
    """Some of the output of a command is missing. Commands wait for their reader, so somebody else read it too, and was faster.

    The command has ended, and `result` has its exit code and what was read. Redirect output to a file in the sandbox and
    download that: files are never cut.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result
