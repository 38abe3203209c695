# app/orchestrator.py
from kubernetes import client, config
import json

config.load_incluster_config()  # or load_kube_config() for local dev
v1 = client.CustomObjectsApi()

def create_sandbox(task_id, repo_url, task_desc, base_branch, new_branch):
    sandbox_claim = {
        "apiVersion": "agents.x-k8s.io/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {
            "name": f"task-{task_id}",
            "labels": {"task-id": task_id}
        },
        "spec": {
            "sandboxTemplate": "coding-agent-template",
            "env": [
                {"name": "REPO_URL", "value": repo_url},
                {"name": "TASK_DESCRIPTION", "value": task_desc},
                {"name": "BASE_BRANCH", "value": base_branch},
                {"name": "NEW_BRANCH", "value": new_branch},
            ]
        }
    }

    v1.create_namespaced_custom_object(
        group="agents.x-k8s.io",
        version="v1alpha1",
        namespace="default",
        plural="sandboxclaims",
        body=sandbox_claim
    )

def get_sandbox_status(task_id):
    sandbox = v1.get_namespaced_custom_object(
        group="agents.x-k8s.io",
        version="v1alpha1",
        namespace="default",
        plural="sandboxes",
        name=f"task-{task_id}"
    )
    return sandbox["status"]["phase"]  # Pending, Running, Succeeded, Failed
