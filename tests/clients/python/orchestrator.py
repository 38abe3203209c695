"""Runs the printed functions in tests/documents/orchestrator.py, which stay as they are: makes a sandbox for a task and polls
its phase until it runs. Is told the task; KUBECONFIG says where the server is.
"""

import pathlib
import sys
import time

from kubernetes import config
from kubernetes.client.exceptions import ApiException

PRINTED = pathlib.Path(__file__).parents[2] / "documents" / "orchestrator.py"
DEADLINE = 60


def main(task):
    # "or load_kube_config() for local dev", says the comment.
    config.load_incluster_config = config.load_kube_config
    printed = {}
    exec(compile(PRINTED.read_text(), str(PRINTED), "exec"), printed)
    printed["create_sandbox"](task, "https://example.com/repo.git", "do it", "main", "feature")
    deadline, phase = time.monotonic() + DEADLINE, None
    while phase != "Running" and time.monotonic() < deadline:
        phase = polled(printed["get_sandbox_status"], task)
        print(phase)
        time.sleep(0.2)


def polled(get_sandbox_status, task):
    """The Sandbox, or its status, may not be there yet: creating a claim does not wait for it."""
    try:
        return get_sandbox_status(task)
    except ApiException as error:
        return f"{error.status} {error.reason}"
    except KeyError as missing:
        return f"no {missing} yet"


main(sys.argv[1])
