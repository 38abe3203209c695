"""Does with the Python client what its users do with streams: exec and port-forward.

Is told the name of a Pod, a port inside it that echoes, and its namespace; KUBECONFIG says where the server is.
"""

import sys

from kubernetes import client, config
from kubernetes.stream import portforward, stream


def main(pod, port, namespace):
    config.load_kube_config()
    api = client.CoreV1Api()
    run(api, pod, namespace)
    converse(api, pod, namespace, "cat; exit 7")
    api.api_client.set_default_header("sec-websocket-protocol", "v4.channel.k8s.io")
    converse(api, pod, namespace, "read first; echo $first; read second; exit 7")
    forward(api, pod, namespace, port)


def run(api, pod, namespace):
    command = ["sh", "-c", "echo out; echo err >&2"]
    output = stream(
        api.connect_get_namespaced_pod_exec, pod, namespace, command=command, stdout=True, stderr=True
    )
    print("ran", sorted(output.split()))


def converse(api, pod, namespace, command):
    """Talks to a process, closes its input where the protocol can, and reads its exit code."""
    session = stream(
        api.connect_get_namespaced_pod_exec,
        pod,
        namespace,
        command=["sh", "-c", command],
        stdin=True,
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    session.write_stdin("hello\n")
    print("read", session.readline_stdout(timeout=30), "over", session.subprotocol)
    session.write_stdin("bye\n")
    session.close_channel(0)
    session.run_forever(timeout=30)
    print("exit", session.returncode)


def forward(api, pod, namespace, port):
    forwarded = portforward(api.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port))
    connection = forwarded.socket(port)
    connection.setblocking(True)
    sent = b"0123456789abcdef" * 16384
    connection.sendall(sent)
    received = b""
    while len(received) < len(sent):
        received += connection.recv(65536)
    connection.close()
    print("echoed", len(received), received == sent, "error", forwarded.error(port))


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
