r"""Sandboxes in the words of documents about Agent Sandbox.

They print this:

    from agentic_sandbox_client import SandboxClient

    client = SandboxClient()
    sandbox = client.create_sandbox(name="my-sandbox", image="python:3.11")
    result = sandbox.execute("python -c 'print(\\"Hello\\")'")
    sandbox.delete()

What it returns is an `agent_sandbox.Sandbox` with one more method. New code uses `agent_sandbox` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_sandbox import Client, Result, Sandbox, SandboxError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ExecutableSandbox", "Result", "SandboxClient", "SandboxError"]


class ExecutableSandbox(Sandbox):
    """A sandbox that executes."""

    def execute(self, command: str, *, timeout: float | None = 300.0) -> Result:
        """Run a line for the shell to its end: `stdout`, `stderr` and `exit_code` say what became of it."""
        return self.run(command, timeout=timeout)


class SandboxClient:
    """Makes and finds sandboxes. The arguments are those of `agent_sandbox.Client`."""

    def __init__(self, **where: Any) -> None:
        self._client = Client(**where)

    def create_sandbox(self, name: str | None = None, image: str | None = None, **more: Any) -> ExecutableSandbox:
        """Make a sandbox, and return when it answers. The other arguments are those of `agent_sandbox.Sandbox.create`."""
        return ExecutableSandbox.create(image, name=name, client=self._client, **more)

    def get_sandbox(self, name: str, *, namespace: str | None = None) -> ExecutableSandbox:
        """The sandbox of that name."""
        return ExecutableSandbox.get(name, namespace=namespace, client=self._client)

    def close(self) -> None:
        """End all connections. Sandboxes stay."""
        self._client.close()

    def __enter__(self) -> SandboxClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
