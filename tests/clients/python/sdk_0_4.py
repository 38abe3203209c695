"""Does with the unmodified SDK k8s-agent-sandbox 0.4, which speaks v1alpha1, what its users do, over one kind of connection.

    sdk_0_4.py MODE TEMPLATE NAMESPACE

KUBECONFIG, ROUTER, TOKEN and GATEWAY are as for sdk.py, and so is what it prints. This SDK has no setting for headers; a token
goes into those of its HTTP client.
"""

import asyncio
import logging
import os
import sys

from surface import called, expect, public, watch

# Before the SDK does, which would put it among what we print.
logging.basicConfig(level=logging.WARNING, stream=sys.stderr)

from k8s_agent_sandbox import AsyncSandboxClient, SandboxClient
from k8s_agent_sandbox.async_sandbox import AsyncSandbox
from k8s_agent_sandbox.commands.async_command_executor import AsyncCommandExecutor
from k8s_agent_sandbox.commands.command_executor import CommandExecutor
from k8s_agent_sandbox.exceptions import (
    SandboxNotFoundError,
    SandboxRequestError,
    SandboxTemplateNotFoundError,
)
from k8s_agent_sandbox.files.async_filesystem import AsyncFilesystem
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.models import (
    SandboxDirectConnectionConfig,
    SandboxGatewayConnectionConfig,
    SandboxInClusterConnectionConfig,
    SandboxLocalTunnelConnectionConfig,
)
from k8s_agent_sandbox.sandbox import Sandbox

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

SCRIPT = "sh -c 'echo out; echo err >&2; exit 3'"


def connection(mode, namespace):
    return {
        "tunnel": lambda: SandboxLocalTunnelConnectionConfig(),
        "direct": lambda: SandboxDirectConnectionConfig(api_url=os.environ["ROUTER"]),
        "gateway": lambda: SandboxGatewayConnectionConfig(
            gateway_name=os.environ["GATEWAY"], gateway_namespace=namespace
        ),
        "in-cluster": lambda: SandboxInClusterConnectionConfig(),
        "in-cluster-address": lambda: SandboxInClusterConnectionConfig(use_pod_ip=True),
    }[mode]()


def introduce(mode, http):
    if mode == "direct":
        http.headers["Authorization"] = f"Bearer {os.environ['TOKEN']}"


def fails(what, kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise SystemExit(f"{what}: nothing was refused")


def use(mode, template, namespace):
    client = SandboxClient(connection_config=connection(mode, namespace))
    sandbox = client.create_sandbox(
        template, namespace=namespace, labels={"round": mode}, warmpool=template, shutdown_after_seconds=3600
    )
    introduce(mode, sandbox.connector.session)
    names(client, sandbox, namespace)
    commands(sandbox, mode)
    files(sandbox)
    again = client.get_sandbox(sandbox.claim_name, namespace=namespace)
    expect("the same again", again is sandbox, True)
    sandbox.close_connection()
    expect("active", sandbox.is_active, False)
    reattach(client, sandbox, mode, namespace)
    pools(client, template, namespace)
    client.delete_sandbox(sandbox.claim_name, namespace=namespace)
    client.delete_all()
    expect("none is left", client.list_active_sandboxes(), [])
    fails("gone", SandboxNotFoundError, client.get_sandbox, sandbox.claim_name, namespace, resolve_timeout=2)


def reattach(client, sandbox, mode, namespace):
    again = client.get_sandbox(sandbox.claim_name, namespace=namespace)
    expect("another handle", (again is sandbox, again.sandbox_id), (False, sandbox.sandbox_id))
    introduce(mode, again.connector.session)
    expect("its file", again.files.read("hello.txt"), "hällo".encode())


def pools(client, template, namespace):
    """Of any pool, of none, and of a template that is not there."""
    warm = client.create_sandbox(template, namespace=namespace)
    expect("warm", warm.sandbox_id.startswith(f"{template}-"), True)
    warm.terminate()
    cold = client.create_sandbox(template, namespace=namespace, warmpool="none")
    expect("cold", cold.sandbox_id, cold.claim_name)
    cold.terminate()
    fails("no template", SandboxTemplateNotFoundError, client.create_sandbox, "nothing", namespace=namespace)


def names(client, sandbox, namespace):
    expect("active", sandbox.is_active, True)
    expect("status", sandbox.status()[0], "SandboxReady")
    expect("tracked", client.list_active_sandboxes(), [(namespace, sandbox.claim_name)])
    expect("listed", sandbox.claim_name in client.list_all_sandboxes(namespace), True)
    expect("pod", sandbox.get_pod_name(), sandbox.sandbox_id)
    expect("address", sandbox.get_pod_ip().count("."), 3)
    expect("hash", len(sandbox.get_sandbox_name_hash()), 8)


def commands(sandbox, mode):
    result = sandbox.commands.run(SCRIPT)
    expect("run", (result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))
    if mode == "direct":
        # This SDK tries a request six times, also one that changes something, and waits between.
        fails("time-out", SandboxRequestError, sandbox.commands.run, "sleep 60", timeout=0.2)
        expect("afterwards", sandbox.commands.run("true").exit_code, 0)


def files(sandbox):
    # The folder is dropped by the SDK.
    sandbox.files.write("deep/hello.txt", "hällo")
    expect("read", sandbox.files.read("hello.txt"), "hällo".encode())
    expect("exists", sandbox.files.exists("hello.txt"), True)
    expect("exists not", sandbox.files.exists("nothing"), False)
    expect("missing", fails("missing", SandboxRequestError, sandbox.files.read, "nothing").status_code, 404)
    large = os.urandom(3 << 20)
    sandbox.files.write("large.bin", large)
    expect("large", sandbox.files.read("large.bin") == large, True)
    listed = {entry.name: (entry.type, entry.size) for entry in sandbox.files.list(".")}
    expect("listed", listed.get("large.bin"), ("file", 3 << 20))


async def use_async(mode, template, namespace):
    async with AsyncSandboxClient(connection_config=connection(mode, namespace)) as client:
        labels = {"round": f"async-{mode}"}
        sandbox = await client.create_sandbox(template, namespace=namespace, labels=labels)
        introduce(mode, sandbox.connector.client)
        expect("active", sandbox.is_active, True)
        expect("tracked", await client.list_active_sandboxes(), [(namespace, sandbox.claim_name)])
        everyone = await client.list_all_sandboxes(namespace)
        expect("listed", sandbox.claim_name in everyone, True)
        expect("pod", await sandbox.get_pod_name(), sandbox.sandbox_id)
        expect("address", (await sandbox.get_pod_ip()).count("."), 3)
        await commands_async(sandbox)
        await files_async(sandbox)
        again = await client.get_sandbox(sandbox.claim_name, namespace=namespace)
        expect("the same again", again is sandbox, True)
        second = await client.create_sandbox(template, namespace=namespace, warmpool="none")
        expect("cold", second.sandbox_id, second.claim_name)
        await second.terminate()
        await client.delete_sandbox(sandbox.claim_name, namespace=namespace)
        await client.delete_all()
        expect("none is left", await client.list_active_sandboxes(), [])
        await client.close()


async def commands_async(sandbox):
    result = await sandbox.commands.run(SCRIPT)
    expect("run", (result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))
    try:
        await sandbox.commands.run("sleep 60", timeout=1)
    except SandboxRequestError:
        return
    raise SystemExit("time-out: it waited")


async def files_async(sandbox):
    await sandbox.files.write("hello.txt", "hällo")
    expect("read", await sandbox.files.read("hello.txt"), "hällo".encode())
    expect("exists", await sandbox.files.exists("hello.txt"), True)
    expect("exists not", await sandbox.files.exists("nothing"), False)
    listed = {entry.name: entry.type for entry in await sandbox.files.list(".")}
    expect("listed", listed.get("hello.txt"), "file")


def main(mode, template, namespace):
    for kind in CLASSES:
        watch(kind)
    if mode == "public":
        print("\n".join(sorted(name for kind in CLASSES for name in public(kind))))
        return
    if mode.startswith("async-"):
        asyncio.run(use_async(mode.removeprefix("async-"), template, namespace))
    else:
        use(mode, template, namespace)
    print("\n".join(sorted(called)))


main(*sys.argv[1:])
