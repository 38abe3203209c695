"""Does with the unmodified SDK k8s-agent-sandbox what its users do, over one kind of connection.

    sdk.py MODE POOL NAMESPACE

KUBECONFIG says where the API server is. ROUTER and TOKEN say where the router is, and who we are to it, where the SDK does
not find out by itself; GATEWAY is a Gateway in the namespace. Prints what it has called at the end, so that whoever started
it can see that nothing was left out.
"""

import asyncio
import io
import os
import sys

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.async_sandbox import AsyncSandbox
from k8s_agent_sandbox.async_sandbox_client import AsyncSandboxClient
from k8s_agent_sandbox.commands.async_command_executor import AsyncCommandExecutor
from k8s_agent_sandbox.commands.command_executor import CommandExecutor
from k8s_agent_sandbox.files.async_filesystem import AsyncFilesystem
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.models import (
    SandboxDirectConnectionConfig,
    SandboxdInClusterConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
    SandboxGatewayConnectionConfig,
    SandboxInClusterConnectionConfig,
    SandboxLocalTunnelConnectionConfig,
)
from k8s_agent_sandbox.sandbox import Sandbox

from surface import called, expect, public, watch

CLASSES = [
    SandboxClient,
    Sandbox,
    CommandExecutor,
    Filesystem,
    AsyncSandboxClient,
    AsyncSandbox,
    AsyncCommandExecutor,
    AsyncFilesystem,
]


def connection(mode, namespace):
    token = {"Authorization": f"Bearer {os.environ.get('TOKEN', '')}"}
    return {
        "tunnel": lambda: SandboxLocalTunnelConnectionConfig(),
        "direct": lambda: SandboxDirectConnectionConfig(api_url=os.environ["ROUTER"], extra_headers=token),
        "gateway": lambda: SandboxGatewayConnectionConfig(
            gateway_name=os.environ["GATEWAY"], gateway_namespace=namespace
        ),
        "in-cluster": lambda: SandboxInClusterConnectionConfig(),
        "sandboxd-tunnel": lambda: SandboxdPodTunnelConnectionConfig(),
        "sandboxd-in-cluster": lambda: SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip"),
    }[mode]()


def has_sandboxd(mode):
    return mode.startswith("sandboxd")


def use(mode, pool, namespace):
    client = SandboxClient(connection_config=connection(mode, namespace))
    sandbox = client.create_sandbox(pool, namespace=namespace, labels={"round": mode})
    names(client, sandbox, pool, namespace, mode)
    commands(sandbox, mode)
    files(sandbox, mode)
    again = client.get_sandbox(sandbox.claim_name, namespace=namespace)
    expect("the same again", again.sandbox_id, sandbox.sandbox_id)
    sandbox.close_connection()
    second = client.create_sandbox(pool, namespace=namespace)
    expect("another", second.sandbox_id != sandbox.sandbox_id, True)
    second.terminate()
    client.delete_sandbox(sandbox.claim_name, namespace=namespace)
    client.delete_all()
    expect("none is left", client.list_active_sandboxes(), [])


def names(client, sandbox, pool, namespace, mode):
    expect("active", sandbox.is_active, True)
    expect("status", sandbox.status()[0], "SandboxReady")
    expect("tracked", client.list_active_sandboxes(), [(namespace, sandbox.claim_name)])
    expect("listed", client.list_all_sandboxes(namespace, label_selector=f"round={mode}"), [sandbox.claim_name])
    expect("pool", client.get_sandbox_claim_warmpool_name(sandbox.claim_name, namespace), pool)
    expect("pod", sandbox.get_pod_name(), sandbox.sandbox_id)
    expect("address", sandbox.get_pod_ip().count("."), 3)
    expect("hash", len(sandbox.get_sandbox_name_hash()), 8)
    sandbox.get_service_fqdn()


def commands(sandbox, mode):
    result = sandbox.commands.run("sh -c 'echo out; echo err >&2; exit 3'")
    expect("run", (result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))
    slow = sandbox.commands.run("sleep 60", command_timeout=1)
    expect("time-out", slow.timed_out, True)


def files(sandbox, mode):
    sandbox.files.write("deep/hello.txt" if has_sandboxd(mode) else "hello.txt", "hällo")
    name = "deep/hello.txt" if has_sandboxd(mode) else "hello.txt"
    expect("read", sandbox.files.read(name), "hällo".encode())
    target = io.BytesIO()
    sandbox.files.read_to(name, target, max_bytes=100)
    expect("read to", target.getvalue(), "hällo".encode())
    expect("exists", sandbox.files.exists(name), True)
    expect("exists not", sandbox.files.exists("nothing"), False)
    large = os.urandom(3 << 20)
    sandbox.files.write("large.bin", large)
    expect("large", sandbox.files.read("large.bin") == large, True)
    listed = {entry.name: entry.type for entry in sandbox.files.list(".")}
    expect("listed", listed.get("large.bin"), "file")
    if has_sandboxd(mode):
        sandbox.files.delete("large.bin")
        expect("deleted", sandbox.files.exists("large.bin"), False)


async def use_async(mode, pool, namespace):
    async with AsyncSandboxClient(connection_config=connection(mode, namespace)) as client:
        sandbox = await client.create_sandbox(pool, namespace=namespace, labels={"round": f"async-{mode}"})
        expect("active", sandbox.is_active, True)
        expect("status", (await sandbox.status())[0], "SandboxReady")
        expect("tracked", await client.list_active_sandboxes(), [(namespace, sandbox.claim_name)])
        everyone = await client.list_all_sandboxes(namespace, label_selector=f"round=async-{mode}")
        expect("listed", everyone, [sandbox.claim_name])
        expect("pod", await sandbox.get_pod_name(), sandbox.sandbox_id)
        expect("address", (await sandbox.get_pod_ip()).count("."), 3)
        expect("hash", len(await sandbox.get_sandbox_name_hash()), 8)
        await sandbox.get_service_fqdn()
        await commands_async(sandbox)
        await files_async(sandbox, mode)
        again = await client.get_sandbox(sandbox.claim_name, namespace=namespace)
        expect("the same again", again.sandbox_id, sandbox.sandbox_id)
        await sandbox.close_connection()
        second = await client.create_sandbox(pool, namespace=namespace)
        await second.terminate()
        await client.delete_sandbox(sandbox.claim_name, namespace=namespace)
        await client.delete_all()
        await client.close()


async def commands_async(sandbox):
    result = await sandbox.commands.run("sh -c 'echo out; echo err >&2; exit 3'")
    expect("run", (result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))
    slow = await sandbox.commands.run("sleep 60", command_timeout=1)
    expect("time-out", slow.timed_out, True)


class Target:
    """What an asynchronous read writes to."""

    def __init__(self):
        self.content = b""

    async def write(self, content):
        self.content += content
        return len(content)


async def files_async(sandbox, mode):
    await sandbox.files.write("hello.txt", "hällo")
    expect("read", await sandbox.files.read("hello.txt"), "hällo".encode())
    target = Target()
    await sandbox.files.read_to("hello.txt", target, max_bytes=100)
    expect("read to", target.content, "hällo".encode())
    expect("exists", await sandbox.files.exists("hello.txt"), True)
    listed = {entry.name: entry.type for entry in await sandbox.files.list(".")}
    expect("listed", listed.get("hello.txt"), "file")
    if has_sandboxd(mode):
        await sandbox.files.delete("hello.txt")
        expect("deleted", await sandbox.files.exists("hello.txt"), False)


def main(mode, pool, namespace):
    for kind in CLASSES:
        watch(kind)
    if mode == "public":
        print("\n".join(sorted(name for kind in CLASSES for name in public(kind))))
        return
    if mode.startswith("async-"):
        asyncio.run(use_async(mode.removeprefix("async-"), pool, namespace))
    else:
        use(mode, pool, namespace)
    print("\n".join(sorted(called)))


main(*sys.argv[1:])
