"""Sandboxes and claims as the objects that are created, and where they are in the API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ._wire import path
from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Object = dict[str, Any]

CONTAINER = "main"
VOLUME = "workspace"
WORKDIR = "/workspace"
HOST_IMAGE = "asb.local/host"
"""The image that an Agent Sandbox of one machine makes of that machine's own programs."""

SMALL_LETTERS = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}


@dataclass(frozen=True)
class Kind:
    """Where objects of a kind are."""

    group: str
    plural: str
    name: str
    word: str
    """For messages."""

    def collection(self, namespace: str, **query: object) -> str:
        """The path of all of a namespace."""
        return path("apis", self.group, "v1beta1", "namespaces", namespace, self.plural, **query)

    def one(self, namespace: str, name: str) -> str:
        """The path of one."""
        return path("apis", self.group, "v1beta1", "namespaces", namespace, self.plural, name)


SANDBOX = Kind("agents.x-k8s.io", "sandboxes", "Sandbox", "sandbox")
CLAIM = Kind("extensions.agents.x-k8s.io", "sandboxclaims", "SandboxClaim", "claim")


@dataclass(frozen=True)
class NewSandbox:
    """A sandbox to be made."""

    image: str
    name: str | None = None
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cpu: str | float | None = None
    memory: str | None = None
    storage: str | None = None
    workdir: str = WORKDIR
    runtime_class: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    lifetime: float | None = None

    def object(self, now: datetime) -> Object:
        """The object to create."""
        # Paths mean the same to commands and to files, because sandboxd serves all that the container sees.
        spec: Object = {"runtime": {"directory": "/"}, "podTemplate": {"spec": self._pod()}}
        if self.storage is not None:
            wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size(self.storage)}}}
            spec["volumeClaimTemplates"] = [{"metadata": {"name": VOLUME}, "spec": wanted}]
        if self.lifetime is not None:
            spec |= {"shutdownTime": instant(now, self.lifetime), "shutdownPolicy": "Delete"}
        return _object(SANDBOX, "sandbox-", self.name, self.labels, spec)

    def _pod(self) -> Object:
        pod: Object = {
            "containers": [self._container()],
            # What runs in a sandbox is not trusted with the API.
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 10,
        }
        if self.storage is None:
            pod["volumes"] = [{"name": VOLUME, "emptyDir": {}}]
        if self.runtime_class is not None:
            pod["runtimeClassName"] = self.runtime_class
        return pod

    def _container(self) -> Object:
        if not self.workdir.startswith("/") or self.workdir.rstrip("/") == "":
            raise ConfigurationError(f"workdir is a directory such as {WORKDIR}, not {self.workdir!r}")
        limits = {"cpu": self.cpu and str(self.cpu), "memory": self.memory and size(self.memory)}
        container: Object = {
            "name": CONTAINER,
            "image": self.image,
            "workingDir": self.workdir,
            "volumeMounts": [{"name": VOLUME, "mountPath": self.workdir}],
            "env": variables(self.env),
            "resources": {"limits": {name: amount for name, amount in limits.items() if amount}},
        }
        if self.command:
            container["command"] = list(self.command)
        return container


@dataclass(frozen=True)
class NewClaim:
    """A claim to be made."""

    pool: str
    name: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    lifetime: float | None = None

    def object(self, now: datetime) -> Object:
        """The object to create."""
        spec: Object = {"warmPoolRef": {"name": self.pool}}
        if self.env:
            spec["env"] = variables(self.env)
        if self.lifetime is not None:
            spec["lifecycle"] = {"shutdownTime": instant(now, self.lifetime), "shutdownPolicy": "Delete"}
        return _object(CLAIM, "claim-", self.name, self.labels, spec)


def _object(kind: Kind, prefix: str, name: str | None, labels: Mapping[str, str], spec: Object) -> Object:
    metadata: Object = {"name": name} if name else {"generateName": prefix}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": f"{kind.group}/v1beta1", "kind": kind.name, "metadata": metadata, "spec": spec}


def variables(env: Mapping[str, str]) -> list[Object]:
    """Variables as containers have them."""
    return [{"name": name, "value": value} for name, value in env.items()]


def size(amount: str) -> str:
    """An amount of bytes as Kubernetes writes it. Small letters are powers of 1024, as `asb` has it: to Kubernetes `512m` is half
    a byte.

    >>> size("512m"), size("1.5Gi"), size("2g")
    ('512Mi', '1.5Gi', '2Gi')
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt])b?", amount)
    return found[1] + SMALL_LETTERS[found[2]] if found else amount


def instant(now: datetime, seconds: float) -> str:
    """A time so many seconds from now, as Kubernetes writes it."""
    return (now + timedelta(seconds=seconds)).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def uid(found: Object) -> str:
    """What tells this object from another one of its name."""
    return str(found["metadata"].get("uid", ""))


def is_machine(version: Object) -> bool:
    """Whether a server is the Agent Sandbox of one machine."""
    return "+asb-" in str(version.get("gitVersion", ""))
