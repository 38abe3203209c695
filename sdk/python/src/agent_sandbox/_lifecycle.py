"""The life of a sandbox: made, claimed, found, suspended, resumed, deleted. Flows; who carries them out is elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from . import _objects
from ._answers import asked
from ._objects import CLAIM, SANDBOX, Kind, NewClaim, NewSandbox, Object, uid
from ._outlook import is_ready, is_suspended, message, obstacle
from ._wire import Flow, Peer, Request, consume, path, pause
from .errors import (
    ConfigurationError,
    ForbiddenError,
    NotFoundError,
    NotReadyError,
    SandboxError,
    UnreachableError,
    WaitTimeoutError,
)
from .results import SandboxInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._deadline import Deadline

LOOK = 2.0
"""How long to follow an object until its Pod is looked at too, in seconds."""

RUNTIME_PORT = 8888


@dataclass(frozen=True)
class Target:
    """One sandbox: this very one, and not a later one of its name."""

    name: str
    namespace: str
    uid: str
    claim: str | None = None
    claim_uid: str | None = None
    root: str | None = None
    """The directory that sandboxd serves, if the sandbox says which."""
    workdir: str | None = None
    """Where commands begin, if that is not the root."""

    def request(self, method: str, where: str, doing: str, **more: Any) -> Request:
        """A request to sandboxd."""
        return self.to_port(RUNTIME_PORT, method, where, doing, **more)

    def to_port(self, port: int, method: str, where: str, doing: str, **more: Any) -> Request:
        """A request to a port of the sandbox, by way of the router."""
        request = Request(Peer.ROUTER, method, where, doing=doing, sandbox=self.name, **more)
        seconds = 86_400.0 if request.timeout is None else request.timeout
        ours = (
            ("X-Sandbox-ID", self.name),
            ("X-Sandbox-Namespace", self.namespace),
            ("X-Sandbox-UID", self.uid),
            ("X-Sandbox-Port", str(port)),
            ("X-Sandbox-Timeout", f"{seconds:g}"),
        )
        return replace(request, headers=ours + request.headers)


def target(sandbox: Object, claim: Object | None = None) -> Target:
    """What a Sandbox object says about where to go."""
    metadata, spec = sandbox["metadata"], sandbox["spec"]
    runtime = spec.get("runtime") or {}
    containers = spec["podTemplate"]["spec"].get("containers") or [{}]
    wanted = runtime.get("container")
    container = next((it for it in containers if it.get("name") == wanted), containers[0])
    root = runtime.get("directory")
    return Target(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=uid(sandbox),
        claim=claim["metadata"]["name"] if claim else None,
        claim_uid=uid(claim) if claim else None,
        root=root,
        workdir=container.get("workingDir") if root == "/" else None,
    )


def create(wanted: NewSandbox, namespace: str, deadline: Deadline) -> Flow[Target]:
    """Makes a sandbox and waits until it answers. One that does not get that far is removed again."""
    if not wanted.image:
        wanted = replace(wanted, image=(yield from _default_image()))
    made = yield from _make(SANDBOX, wanted.object(_now()), namespace)
    try:
        ready = yield from _until(SANDBOX, made, is_ready, "ready", deadline)
        found = target(ready)
        yield from answering(found, deadline)
    except BaseException:
        yield from _discard(SANDBOX, made)
        raise
    return found


def claim(wanted: NewClaim, namespace: str, deadline: Deadline) -> Flow[Target]:
    """Takes a sandbox from a pool and waits until it answers."""
    made = yield from _make(CLAIM, wanted.object(_now()), namespace)
    try:
        ready = yield from _until(CLAIM, made, is_ready, "ready", deadline)
        name = ready["status"]["sandbox"]["name"]
        sandbox = yield from _get(SANDBOX, namespace, name)
        found = target(sandbox, made)
        _need_runtime(found, sandbox)
        yield from answering(found, deadline)
    except BaseException:
        yield from _discard(CLAIM, made)
        raise
    return found


def get(name: str, namespace: str) -> Flow[Target]:
    """The sandbox of that name, or of the claim of that name."""
    try:
        sandbox = yield from _get(SANDBOX, namespace, name)
    except NotFoundError:
        claimed = yield from _claimed(name, namespace)
        sandbox = yield from _get(SANDBOX, namespace, claimed["status"]["sandbox"]["name"])
        found = target(sandbox, claimed)
    else:
        found = target(sandbox)
    _need_runtime(found, sandbox)
    return found


def _claimed(name: str, namespace: str) -> Flow[Object]:
    missing = f"there is no sandbox or claim {name!r} in namespace {namespace!r}; `asb ls` lists them"
    try:
        claimed = yield from _get(CLAIM, namespace, name)
    except (NotFoundError, ForbiddenError) as error:
        raise NotFoundError(missing) from error
    if not claimed.get("status", {}).get("sandbox", {}).get("name"):
        raise NotReadyError(f"claim {name!r} has no sandbox yet", "Unclaimed")
    return claimed


def _need_runtime(found: Target, sandbox: Object) -> None:
    if sandbox["spec"].get("runtime") is None:
        raise ConfigurationError(
            f"sandbox {found.name!r} has no runtime inside: its template or spec must have `runtime: {{}}` to be used from here; "
            "`asb exec` works without"
        )


def listed(namespace: str) -> Flow[list[SandboxInfo]]:
    """The sandboxes of a namespace."""
    request = Request(Peer.API, "GET", SANDBOX.collection(namespace), doing="list sandboxes")
    answer = yield from asked(request)
    return [_info(item) for item in answer.json()["items"]]


def _info(sandbox: Object) -> SandboxInfo:
    containers = sandbox["spec"]["podTemplate"]["spec"].get("containers") or [{}]
    conditions = sandbox.get("status", {}).get("conditions") or []
    return SandboxInfo(
        name=sandbox["metadata"]["name"],
        namespace=sandbox["metadata"]["namespace"],
        phase=sandbox.get("status", {}).get("phase") or "Pending",
        ready=any(it.get("type") == "Ready" and it.get("status") == "True" for it in conditions),
        image=containers[0].get("image") or "",
    )


def info(found: Target) -> Flow[SandboxInfo]:
    """What the sandbox is now."""
    return _info((yield from _mine(found)))


def suspend(found: Target, deadline: Deadline) -> Flow[None]:
    """Nothing runs any more; name and volumes stay."""
    changed = yield from _set_mode(found, "Suspended")
    yield from _until(SANDBOX, changed, is_suspended, "suspended", deadline)


def resume(found: Target, deadline: Deadline) -> Flow[None]:
    """It runs again."""
    changed = yield from _set_mode(found, "Running")
    yield from _until(SANDBOX, changed, is_ready, "ready", deadline)
    yield from answering(found, deadline)


def _set_mode(found: Target, mode: str) -> Flow[Object]:
    request = Request(
        Peer.API,
        "PATCH",
        SANDBOX.one(found.namespace, found.name),
        headers=(("Content-Type", "application/merge-patch+json"),),
        body=json.dumps({"metadata": {"uid": found.uid}, "spec": {"operatingMode": mode}}).encode(),
        doing=f"set sandbox {found.name!r} to {mode}",
    )
    answer = yield from asked(request)
    changed: Object = answer.json()
    return changed


def delete(found: Target, deadline: Deadline | None) -> Flow[None]:
    """Deletes it, or the claim that it was taken by. What is gone already is content; without a deadline nobody waits."""
    if found.claim is not None and found.claim_uid is not None:
        yield from _delete(CLAIM, found.namespace, found.claim, found.claim_uid)
    else:
        yield from _delete(SANDBOX, found.namespace, found.name, found.uid)
    if deadline is not None:
        yield from _until_gone(found, deadline)


def _until_gone(found: Target, deadline: Deadline) -> Flow[None]:
    wait = 0.02
    while (yield from _is_there(found)):
        if deadline.over:
            raise WaitTimeoutError(f"sandbox {found.name!r} is still ending after {deadline.seconds:g} s")
        yield from pause(wait)
        wait = min(0.5, wait * 1.5)


def _is_there(found: Target) -> Flow[bool]:
    """Whether it, or its Pod, is still there."""
    try:
        sandbox = yield from _get(SANDBOX, found.namespace, found.name)
    except NotFoundError:
        pod = yield from _pod(found.namespace, found.name)
        owners = (pod or {}).get("metadata", {}).get("ownerReferences") or []
        return any(owner.get("uid") == found.uid for owner in owners)
    return uid(sandbox) == found.uid


def answering(found: Target, deadline: Deadline) -> Flow[None]:
    """Waits until sandboxd answers, so that no command is sent where nobody is yet."""
    wait = 0.02
    while True:
        try:
            yield from asked(found.request("GET", "/v1/health", f"reach sandbox {found.name!r}", timeout=10.0))
        except (UnreachableError, WaitTimeoutError):
            if deadline.over:
                raise
        else:
            return
        yield from pause(wait)
        wait = min(0.5, wait * 1.5)


def _default_image() -> Flow[str]:
    answer = yield from asked(Request(Peer.API, "GET", "/version", doing="ask the server what it is"))
    if _objects.is_machine(answer.json()):
        return _objects.HOST_IMAGE
    raise ConfigurationError("name an image with image=: only an Agent Sandbox without a cluster has one of its own")


def _make(kind: Kind, wanted: Object, namespace: str) -> Flow[Object]:
    request = Request(
        Peer.API,
        "POST",
        kind.collection(namespace),
        headers=(("Content-Type", "application/json"),),
        body=json.dumps(wanted).encode(),
        doing=f"create the {kind.word}",
    )
    answer = yield from asked(request)
    made: Object = answer.json()
    return made


def _get(kind: Kind, namespace: str, name: str) -> Flow[Object]:
    answer = yield from asked(
        Request(Peer.API, "GET", kind.one(namespace, name), doing=f"look for {kind.word} {name!r}")
    )
    found: Object = answer.json()
    return found


def _mine(found: Target) -> Flow[Object]:
    sandbox = yield from _get(SANDBOX, found.namespace, found.name)
    if uid(sandbox) != found.uid:
        raise NotFoundError(f"sandbox {found.name!r} is gone; another one has its name")
    return sandbox


def _pod(namespace: str, name: str) -> Flow[Object | None]:
    """Whoever may not see Pods does without."""
    where = path("api", "v1", "namespaces", namespace, "pods", name)
    answer = yield from asked(Request(Peer.API, "GET", where, doing=f"look at Pod {name!r}"), 403, 404)
    found: Object | None = answer.json() if answer.status < 300 else None
    return found


def _delete(kind: Kind, namespace: str, name: str, wanted: str) -> Flow[None]:
    request = Request(
        Peer.API,
        "DELETE",
        kind.one(namespace, name),
        headers=(("Content-Type", "application/json"),),
        body=json.dumps({"preconditions": {"uid": wanted}, "propagationPolicy": "Background"}).encode(),
        doing=f"delete {kind.word} {name!r}",
    )
    # Gone, or its name is another's by now: either way it is not there.
    yield from asked(request, 404, 409)


def _discard(kind: Kind, made: Object) -> Flow[None]:
    """What was made in vain goes again. Why it was in vain matters more than that this failed too."""
    try:
        yield from _delete(kind, made["metadata"]["namespace"], made["metadata"]["name"], uid(made))
    except SandboxError:
        return


def _until(
    kind: Kind, first: Object, is_wanted: Callable[[Object], bool], wanted: str, deadline: Deadline
) -> Flow[Object]:
    """Follows an object until it is as it is wanted."""
    latest, told = first, None
    while True:
        if is_wanted(latest):
            return latest
        if deadline.over:
            name = latest["metadata"]["name"]
            raise WaitTimeoutError(
                f"{kind.word} {name!r} is not {wanted} after {deadline.seconds:g} s: {told or message(latest)}; "
                f"`asb describe {name}` says more"
            )
        watch = Watch(kind, latest, is_wanted, deadline.left(LOOK))
        yield from consume(watch)
        latest = watch.latest or (yield from _again(kind, latest))
        if kind is SANDBOX and is_wanted is is_ready and not is_wanted(latest):
            pod = yield from _pod(latest["metadata"]["namespace"], latest["metadata"]["name"])
            told = obstacle(pod) if pod else None


def _again(kind: Kind, known: Object) -> Flow[Object]:
    metadata = known["metadata"]
    found = yield from _get(kind, metadata["namespace"], metadata["name"])
    if uid(found) != uid(known):
        raise NotFoundError(f"{kind.word} {metadata['name']!r} was deleted; another one has its name")
    return found


class Watch:
    """Changes of one object, until it is as it is wanted or the time is over."""

    def __init__(self, kind: Kind, known: Object, is_wanted: Callable[[Object], bool], seconds: float) -> None:
        self.latest: Object | None = None
        self.ended = False
        self._kind, self._known, self._is_wanted, self._seconds = kind, known, is_wanted, seconds
        self._rest = b""

    def request(self) -> Request:
        """Follows the object from the version that is known."""
        metadata = self._known["metadata"]
        where = self._kind.collection(
            metadata["namespace"],
            watch=True,
            fieldSelector=f"metadata.name={metadata['name']}",
            resourceVersion=metadata["resourceVersion"],
            timeoutSeconds=max(1, round(self._seconds)),
        )
        return Request(
            Peer.API, "GET", where, timeout=self._seconds + 15, doing=f"follow {self._kind.word} {metadata['name']!r}"
        )

    def feed(self, data: bytes) -> list[Object]:
        """Takes note of each change."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in filter(None, lines):
            self._note(json.loads(line))
        return []

    def _note(self, event: Object) -> None:
        if event["type"] == "ERROR":
            # Too old a version, most often: looking again tells.
            self.latest, self.ended = None, True
            return
        changed = event["object"]
        if uid(changed) != uid(self._known):
            return
        if event["type"] == "DELETED":
            raise NotFoundError(
                f"{self._kind.word} {changed['metadata']['name']!r} was deleted while it was waited for"
            )
        self.latest = changed
        self.ended = self._is_wanted(changed)

    def closed(self, error: Exception | None) -> None:
        """A watch ends when its time is over. One that broke is looked after by asking again."""
        if error is not None and not isinstance(error, UnreachableError):
            raise error
        self.ended = True


def _now() -> datetime:
    return datetime.now(timezone.utc)
