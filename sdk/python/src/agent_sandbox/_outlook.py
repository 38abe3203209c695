"""How far a sandbox or a claim has come, from what its conditions and its Pod say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import NotReadyError

if TYPE_CHECKING:
    from ._objects import Object

FINAL = {
    "ClaimExpired",
    "EnvVarsInjectionRejected",
    "InvalidConfiguration",
    "InvalidMetadata",
    "MultiplePods",
    "NameHashCollision",
    "PodFailed",
    "PodSucceeded",
    "SandboxExpired",
    "SandboxLost",
    "TemplateNotFound",
    "VolumeClaimTemplatesError",
    "WarmPoolNotFound",
}
"""Reasons that do not go away by waiting."""

PASSING = {"", "ContainerCreating", "PodInitializing", "ErrImagePull", "CreateContainerConfigError"}
"""Why a container may be waiting that will yet run."""


def condition(found: Object, kind: str) -> Object:
    """One condition of an object, empty if it has none of that kind."""
    conditions = found.get("status", {}).get("conditions") or []
    return next((it for it in conditions if it.get("type") == kind), {})


def is_current(found: Object, state: Object) -> bool:
    """Whether a condition is about the object as it is, and not as it was before its last change."""
    seen = state.get("observedGeneration")
    return seen is None or seen >= found["metadata"].get("generation", 0)


def is_ready(found: Object) -> bool:
    """Whether it is ready. Raises where waiting does not help."""
    ready, finished = condition(found, "Ready"), condition(found, "Finished")
    name, word = found["metadata"]["name"], str(found.get("kind", "object"))
    if is_current(found, ready) and ready.get("reason") in FINAL:
        raise NotReadyError(f"{word} {name!r} will not become ready: {told(ready)}", ready["reason"])
    if finished.get("status") == "True" and is_current(found, finished):
        raise NotReadyError(f"{word} {name!r} has ended: {told(finished)}", finished.get("reason", ""))
    return ready.get("status") == "True" and is_current(found, ready)


def is_suspended(found: Object) -> bool:
    """Whether nothing of it runs any more. That its Pod ends on the way is what is wanted."""
    suspended = condition(found, "Suspended")
    return suspended.get("status") == "True" and is_current(found, suspended)


def message(found: Object) -> str:
    """What an object says about why it is not ready."""
    return told(condition(found, "Ready")) or "nobody has looked at it yet; does an operator run?"


def told(state: Object) -> str:
    """A condition in words."""
    parts = [str(state.get("reason") or ""), str(state.get("message") or "")]
    return ": ".join(part for part in parts if part)


def obstacle(pod: Object) -> str | None:
    """What a Pod is waiting for, in words. Raises where waiting does not help, as for an image that cannot be had."""
    status = pod.get("status", {})
    states = (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or [])
    for state in states:
        waiting = state.get("state", {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason not in PASSING:
            name = pod["metadata"]["name"]
            raise NotReadyError(f"sandbox {name!r} cannot start: {told(waiting)}", reason)
        if waiting.get("message"):
            return told(waiting)
    scheduled = condition(pod, "PodScheduled")
    return told(scheduled) if scheduled.get("status") == "False" else None
