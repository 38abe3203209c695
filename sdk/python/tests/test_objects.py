"""What is created, and what is made of what comes back."""

from datetime import datetime, timezone

import pytest

from agent_sandbox import ConfigurationError, NotReadyError
from agent_sandbox._lifecycle import target
from agent_sandbox._objects import NewClaim, NewSandbox, size
from agent_sandbox._outlook import is_ready, is_suspended, obstacle

NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


def test_the_least_is_an_image():
    made = NewSandbox("busybox").object(NOON)
    assert made["metadata"] == {"generateName": "sandbox-"}
    assert made["spec"]["runtime"] == {"directory": "/"}
    pod = made["spec"]["podTemplate"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["volumes"] == [{"name": "workspace", "emptyDir": {}}]
    assert pod["containers"][0]["workingDir"] == "/workspace"
    assert "command" not in pod["containers"][0]


def test_all_of_it_ends_up_in_the_object():
    wanted = NewSandbox(
        "i", "box", ["sleep", "1"], {"A": "b"}, 0.5, "512m", "1g", "/data", "gvisor", {"x": "y"}, lifetime=90
    )
    made = wanted.object(NOON)
    assert made["metadata"] == {"name": "box", "labels": {"x": "y"}}
    spec = made["spec"]
    assert (spec["shutdownTime"], spec["shutdownPolicy"]) == ("2030-01-01T12:01:30Z", "Delete")
    assert spec["volumeClaimTemplates"][0]["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    pod = spec["podTemplate"]["spec"]
    assert (pod["runtimeClassName"], "volumes" in pod) == ("gvisor", False)
    container = pod["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "0.5", "memory": "512Mi"}}
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert container["command"] == ["sleep", "1"]
    assert container["volumeMounts"] == [{"name": "workspace", "mountPath": "/data"}]


@pytest.mark.parametrize("workdir", ["work", "/", ""])
def test_a_workdir_is_a_directory_of_its_own(workdir):
    with pytest.raises(ConfigurationError, match="workdir"):
        NewSandbox("i", workdir=workdir).object(NOON)


def test_a_claim_names_its_pool_and_its_end():
    made = NewClaim("python", "mine", {"A": "b"}, {}, 60).object(NOON)
    assert made["spec"]["warmPoolRef"] == {"name": "python"}
    assert made["spec"]["lifecycle"] == {"shutdownTime": "2030-01-01T12:01:00Z", "shutdownPolicy": "Delete"}


def test_amounts_that_kubernetes_would_take_for_half_a_byte():
    assert [size(it) for it in ("512m", "2g", "1.5Gi", "100", "1e9", "64M")] == [
        "512Mi",
        "2Gi",
        "1.5Gi",
        "100",
        "1e9",
        "64M",
    ]


def sandbox(*conditions, generation=1, **spec):
    return {
        "kind": "Sandbox",
        "metadata": {"name": "box", "namespace": "team", "uid": "u", "generation": generation},
        "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "workingDir": "/w"}]}}, **spec},
        "status": {"conditions": list(conditions)},
    }


def state(kind, status, reason="", message="", seen=1):
    return {"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": seen}


def test_ready_counts_for_the_object_as_it_is():
    assert not is_ready(sandbox())
    assert is_ready(sandbox(state("Ready", "True")))
    assert not is_ready(sandbox(state("Ready", "True", seen=1), generation=2))


def test_what_does_not_go_away_by_waiting_is_an_error_with_its_reason():
    with pytest.raises(NotReadyError, match="will not become ready: InvalidConfiguration: bad") as caught:
        is_ready(sandbox(state("Ready", "False", "InvalidConfiguration", "bad")))
    assert caught.value.reason == "InvalidConfiguration"
    with pytest.raises(NotReadyError, match="has ended"):
        is_ready(sandbox(state("Finished", "True", "PodSucceeded")))
    assert not is_ready(sandbox(state("Ready", "False", "ReconcilerError", "quota")))


def test_a_pod_that_ends_because_it_is_suspended_is_as_it_should_be():
    ended = state("Finished", "True", "PodSucceeded")
    assert is_suspended(sandbox(ended, state("Suspended", "True")))
    assert not is_suspended(sandbox(ended, state("Suspended", "False")))


def pod(reason, message=""):
    waiting = {"state": {"waiting": {"reason": reason, "message": message}}}
    return {"metadata": {"name": "box"}, "status": {"containerStatuses": [waiting]}}


def test_an_image_that_cannot_be_had_is_the_end_once_it_was_tried():
    assert obstacle(pod("ErrImagePull", "not found")) == "ErrImagePull: not found"
    assert obstacle(pod("ContainerCreating")) is None
    with pytest.raises(NotReadyError, match="ImagePullBackOff: no such image"):
        obstacle(pod("ImagePullBackOff", "no such image"))


def test_a_target_knows_where_paths_begin():
    assert target(sandbox(runtime={"directory": "/"})).workdir == "/w"
    of_a_pool = target(sandbox(runtime={"directory": "/tmp"}))
    assert (of_a_pool.root, of_a_pool.workdir) == ("/tmp", None)
