"""Sandboxes are made, waited for, and removed again where that was in vain."""

import json

import pytest
from script import Script, line, ok

from agent_sandbox import (
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    NotReadyError,
    UnreachableError,
    WaitTimeoutError,
)
from agent_sandbox import _lifecycle as life
from agent_sandbox._deadline import Deadline
from agent_sandbox._lifecycle import Target
from agent_sandbox._objects import NewClaim, NewSandbox

SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/namespaces/team/sandboxes"
CLAIMS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team/sandboxclaims"
BOX = Target("box", "team", "u")


def sandbox(ready="False", uid="u", reason="", **status):
    conditions = [{"type": "Ready", "status": ready, "reason": reason, "message": "why"}]
    return {
        "kind": "Sandbox",
        "metadata": {"name": "box", "namespace": "team", "uid": uid, "resourceVersion": "5", "generation": 1},
        "spec": {
            "runtime": {"directory": "/"},
            "podTemplate": {"spec": {"containers": [{"workingDir": "/w", "image": "i"}]}},
        },
        "status": {"conditions": conditions, **status},
    }


def event(kind, changed):
    return line({"type": kind, "object": changed})


def test_a_sandbox_is_made_followed_and_asked_whether_it_answers():
    script = Script(ok(sandbox()), [event("MODIFIED", sandbox("True"))], UnreachableError("not yet"), ok())
    made = script.run(life.create(NewSandbox("i", "box"), "team", Deadline(60)))
    assert (made.name, made.uid, made.root, made.workdir) == ("box", "u", "/", "/w")
    assert script.said[0] == f"POST {SANDBOXES}"
    assert "watch=true&fieldSelector=metadata.name%3Dbox&resourceVersion=5" in script.said[1]
    assert script.said[2:] == ["GET /v1/health"] * 2


def test_an_image_is_made_up_on_one_machine_only():
    script = Script(ok({"gitVersion": "v1.36.3+asb-0.1.0"}), ok(sandbox("True")), ok())
    script.run(life.create(NewSandbox(""), "team", Deadline(60)))
    body = json.loads(script.requests[1].body)
    assert body["spec"]["podTemplate"]["spec"]["containers"][0]["image"] == "asb.local/host"
    with pytest.raises(ConfigurationError, match="image="):
        Script(ok({"gitVersion": "v1.36.3"})).run(life.create(NewSandbox(""), "team", Deadline(60)))


def test_one_that_is_stuck_is_removed_again_and_the_reason_said():
    script = Script(ok(sandbox()), [event("MODIFIED", sandbox(reason="InvalidConfiguration"))], ok())
    with pytest.raises(NotReadyError, match="InvalidConfiguration: why"):
        script.run(life.create(NewSandbox("i"), "team", Deadline(60)))
    assert script.said[-1] == f"DELETE {SANDBOXES}/box"
    assert json.loads(script.requests[-1].body)["preconditions"] == {"uid": "u"}


def test_one_whose_pod_is_stuck_is_noticed_by_looking_at_the_pod():
    waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    pod = {"metadata": {"name": "box"}, "status": {"containerStatuses": [waiting]}}
    script = Script(ok(sandbox()), [], ok(sandbox()), ok(pod), ok())
    with pytest.raises(NotReadyError, match="no such image"):
        script.run(life.create(NewSandbox("i"), "team", Deadline(60)))


def test_a_watch_that_is_forbidden_is_not_tried_for_ever():
    script = Script(ok(sandbox()), [ForbiddenError("no watch")], ok())
    with pytest.raises(ForbiddenError, match="no watch"):
        script.run(life.create(NewSandbox("i"), "team", Deadline(60)))
    broken = Script(ok(sandbox()), [UnreachableError("lost")], ok(sandbox("True")), ok())
    assert broken.run(life.create(NewSandbox("i"), "team", Deadline(60))).name == "box"


def test_time_is_up_with_what_was_last_known():
    script = Script(ok(sandbox(reason="DependenciesNotReady")), ok())
    with pytest.raises(WaitTimeoutError, match="not ready after 0 s: DependenciesNotReady: why; `asb describe box`"):
        script.run(life.create(NewSandbox("i"), "team", Deadline(0)))


def test_a_refusal_is_not_tried_again():
    script = Script(ok({"message": "already exists"}, 409))
    with pytest.raises(ConflictError, match="cannot create the sandbox: already exists"):
        script.run(life.create(NewSandbox("i", "box"), "team", Deadline(60)))
    assert len(script.said) == 1


def test_one_that_is_deleted_by_others_is_not_waited_for():
    script = Script(ok(sandbox()), [event("DELETED", sandbox())], ok({}, 404))
    with pytest.raises(NotFoundError, match="was deleted while"):
        script.run(life.create(NewSandbox("i"), "team", Deadline(60)))


def claim(ready="False"):
    made = sandbox(ready, uid="c", sandbox={"name": "box"})
    return made | {"kind": "SandboxClaim", "metadata": made["metadata"] | {"name": "mine"}}


def test_a_claim_is_what_is_deleted_in_the_end():
    script = Script(ok(claim()), [event("MODIFIED", claim("True"))], ok(sandbox("True")), ok())
    found = script.run(life.claim(NewClaim("python"), "team", Deadline(60)))
    assert (found.name, found.claim, found.claim_uid) == ("box", "mine", "c")
    script = Script(ok())
    script.run(life.delete(found, None))
    assert script.said == [f"DELETE {CLAIMS}/mine"]


def test_a_sandbox_without_the_runtime_is_given_back_and_said_so():
    bare = sandbox("True")
    del bare["spec"]["runtime"]
    script = Script(ok(claim("True")), ok(bare), ok())
    with pytest.raises(ConfigurationError, match="its template or spec must have"):
        script.run(life.claim(NewClaim("python"), "team", Deadline(60)))
    assert script.said[-1] == f"DELETE {CLAIMS}/mine"


def test_a_name_is_a_sandboxs_or_a_claims():
    assert Script(ok(sandbox("True"))).run(life.get("box", "team")).claim is None
    missing = ok({"message": "not found"}, 404)
    assert Script(missing, ok(claim("True")), ok(sandbox())).run(life.get("mine", "team")).claim == "mine"
    with pytest.raises(NotFoundError, match="no sandbox or claim 'x' in namespace 'team'"):
        Script(missing, missing).run(life.get("x", "team"))


def test_suspending_names_this_very_sandbox():
    suspended = sandbox()
    suspended["status"]["conditions"] = [{"type": "Suspended", "status": "True"}]
    script = Script(ok(sandbox()), [event("MODIFIED", suspended)])
    script.run(life.suspend(BOX, Deadline(60)))
    assert json.loads(script.requests[0].body) == {"metadata": {"uid": "u"}, "spec": {"operatingMode": "Suspended"}}


def test_deleting_waits_for_the_pod_and_is_content_with_what_is_gone():
    mine = {"metadata": {"ownerReferences": [{"uid": "u"}]}}
    missing = ok({}, 404)
    script = Script(ok(), ok(sandbox()), missing, ok(mine), missing, missing)
    script.run(life.delete(BOX, Deadline(60)))
    assert script.paused == 2
    Script(missing, ok(sandbox(uid="another"))).run(life.delete(BOX, Deadline(60)))
