"""Does with the Python client what the SDK and its neighbours do with objects, and prints what happened.

Is told a namespace; KUBECONFIG says where the server is.
"""

import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

GROUP, VERSION = "extensions.agents.x-k8s.io", "v1beta1"


def main(namespace):
    config.load_kube_config()
    custom, core = client.CustomObjectsApi(), client.CoreV1Api()
    claims = (GROUP, VERSION, namespace, "sandboxclaims")
    claim = create(custom, claims)
    ready(custom, claims, claim)
    first_states(custom, claims)
    read(custom, claims)
    patch(custom, claims)
    long_ago(custom, claims)
    delete(custom, claims, claim)
    follow(core, namespace)
    typed(core, namespace)
    discover()


def create(custom, claims):
    """The body goes without a Content-Type; the answer must carry uid and resourceVersion."""
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SandboxClaim",
        "metadata": {"name": "claim", "labels": {"agents.x-k8s.io/created-by": "python-client"}},
        "spec": {"warmPoolRef": {"name": "pool"}},
    }
    made = custom.create_namespaced_custom_object(*claims, body)
    print("created", made["metadata"]["name"], bool(made["metadata"]["uid"]))
    print("again:", refused(custom.create_namespaced_custom_object, *claims, body))
    return made


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiException as error:
        return f"{error.status} {error.reason}"
    return "taken"


def ready(custom, claims, claim):
    """The one watch of the SDK: from the resourceVersion of the answer, it sees what comes after and nothing else."""
    status = {"status": {"sandbox": {"name": "box"}, "conditions": [condition("True", "SandboxReady")]}}
    custom.patch_namespaced_custom_object_status(*claims, "claim", status)
    for event in events(custom, claims, resource_version=claim["metadata"]["resourceVersion"]):
        status = event["object"]["status"]
        print("saw", event["type"], status["sandbox"], status["conditions"][0]["reason"])
        return


def condition(status, reason):
    now = "2026-01-01T00:00:00Z"
    return {"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": now}


def events(custom, claims, **options):
    named = {"field_selector": "metadata.name=claim", "timeout_seconds": 30, **options}
    return watch.Watch().stream(custom.list_namespaced_custom_object, *claims, **named)


def first_states(custom, claims):
    """From 0 and from nowhere, what there is comes first."""
    for options in [{"resource_version": "0"}, {}]:
        for event in events(custom, claims, **options):
            print("from", options, event["type"], event["object"]["metadata"]["name"])
            break


def read(custom, claims):
    for selector in ["agents.x-k8s.io/created-by=python-client", "agents.x-k8s.io/created-by=other"]:
        listed = custom.list_namespaced_custom_object(*claims, label_selector=selector)
        print("listed", [item["metadata"]["name"] for item in listed["items"]])
    everywhere = custom.list_cluster_custom_object(*claims[:2], claims[3], field_selector="metadata.name=claim")
    print("everywhere", len(everywhere["items"]) > 0)


def patch(custom, claims):
    wanted = {"podsnapshot.gke.io/ps-name": "uid"}
    for annotations in [wanted, {"podsnapshot.gke.io/ps-name": None}]:
        body = {"spec": {"additionalPodMetadata": {"annotations": annotations}}}
        patched = custom.patch_namespaced_custom_object(*claims, "claim", body)
        print("patched", patched["spec"]["additionalPodMetadata"])


def long_ago(custom, claims):
    """A version of long ago is replayed where the server remembers it; else the answer is 410, on which the SDK begins
    anew."""
    try:
        seen = next(iter(events(custom, claims, resource_version="1")))["type"]
    except ApiException as error:
        seen = {410: "ADDED"}.get(error.status, error.status)
    print("from long ago", seen)


def delete(custom, claims, claim):
    """With preconditions in a body without a Content-Type, as the SDK takes back a claim that failed."""
    other = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
    print("another:", refused(custom.delete_namespaced_custom_object, *claims, "claim", body=other))
    this = {"preconditions": {"uid": claim["metadata"]["uid"]}}
    custom.delete_namespaced_custom_object(*claims, "claim", body=this)
    print("gone:", refused(custom.get_namespaced_custom_object, *claims, "claim"))
    print("again:", refused(custom.delete_namespaced_custom_object, *claims, "claim"))


def follow(core, namespace):
    """Lists, then watches from there, as an informer does."""
    listed = core.list_namespaced_config_map(namespace, label_selector="tier=test")
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="map", labels={"tier": "test"}), data={"a": "1"})
    core.create_namespaced_config_map(namespace, body)
    core.patch_namespaced_config_map("map", namespace, {"data": {"b": "2"}})
    core.delete_namespaced_config_map("map", namespace)
    options = {"label_selector": "tier=test", "resource_version": listed.metadata.resource_version}
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, namespace, timeout_seconds=30, **options):
        print("followed", event["type"], event["object"].data)
        if event["type"] == "DELETED":
            watcher.stop()


def typed(core, namespace):
    """Objects of kinds that the client knows are checked field by field."""
    container = client.V1Container(name="main", image="image", ports=[client.V1ContainerPort(container_port=80)])
    pod = client.V1Pod(metadata=client.V1ObjectMeta(name="pod"), spec=client.V1PodSpec(containers=[container]))
    made = core.create_namespaced_pod(namespace, pod)
    print("pod", made.status.phase, made.spec.containers[0].image_pull_policy, made.spec.restart_policy)
    core.delete_namespaced_pod("pod", namespace, grace_period_seconds=0)
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="secret"), string_data={"key": "value"})
    print("secret", core.create_namespaced_secret(namespace, secret).data)
    print("empty", core.list_namespaced_persistent_volume_claim(namespace).items)


def discover():
    """The client refuses resources that miss a field, such as singularName."""
    for api, name in [(client.CoreV1Api(), "pods"), (client.RbacAuthorizationV1Api(), "roles")]:
        found = {resource.name: resource for resource in api.get_api_resources().resources}
        print("discovered", name, found[name].singular_name, found[name].namespaced)
    groups = {group.name: group for group in client.ApisApi().get_api_versions().groups}
    print("group", groups[GROUP].preferred_version.version)
    own = client.CustomObjectsApi().get_api_resources(GROUP, VERSION)
    print("own", sorted(resource.name for resource in own.resources if "/" not in resource.name))
    print("version", client.VersionApi().get_code().major)


main(sys.argv[1])
