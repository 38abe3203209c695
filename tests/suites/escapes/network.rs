//! The network: the machine, the cloud it is in, other Pods.

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, once, python};
use asb_tests::pods::stage::Stage;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::json;

use crate::case::Attack::{Program, Staged};
use crate::case::Layer::Network;
use crate::case::{Case, HOST_NETWORK, Outcome, Without, case};
use crate::ground::Ground;
use crate::rig::World;
use crate::witness::Ear;

pub(crate) const CASES: &[Case] = &[
    case(
        "services_of_the_machine_are_closed",
        "what listens on all addresses because only its own machine was meant: kubelets, databases, debuggers",
        &[Network],
        Staged(|ground| Box::pin(services(ground))),
    )
    .without(HOST_NETWORK),
    case(
        "addresses_of_metadata_are_closed",
        "Capital One, 2019, and every stolen role since: 169.254.169.254 and its like",
        &[Network],
        Staged(|ground| Box::pin(metadata(ground))),
    )
    .without(HOST_NETWORK),
    case(
        "a_pod_under_a_policy_reaches_nobody_and_is_not_reached",
        "OpenSandbox 1315: a policy that was asked for and not in force",
        &[Network],
        Staged(|ground| Box::pin(policy(ground))),
    )
    .without(Without::Otherwise("there is no policy")),
    case(
        "nobody_speaks_with_the_address_of_another",
        "CVE-2020-10749, CVE-2021-20291's kind: packets with the sender of a neighbour, even with NET_RAW",
        &[Network],
        Staged(|ground| Box::pin(spoof(ground))),
    ),
    case(
        "there_is_no_second_family_of_addresses",
        "CVE-2020-13401: IPv6, which rules for IPv4 forget",
        &[Network],
        Program(
            "
if os.path.exists('/proc/net/if_inet6'):
    for line in open('/proc/net/if_inet6'):
        if line.split()[5] != 'lo': escaped(line)
tried('all on the link', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('ff02::1', 9, 0, socket.if_nametoindex('eth0'))))
def connect(address):
    stream = socket.socket(socket.AF_INET6)
    stream.settimeout(3)
    stream.connect((address, 80, 0, socket.if_nametoindex('eth0')))
for address in ('fe80::1', 'fd00:ec2::254', '2001:4860:4860::8888'):
    tried(address, lambda: connect(address))
held()",
        ),
    ),
];

/// Whoever comes is heard, also through the addresses of version 4 in clothes of version 6.
async fn services(ground: Ground) -> Result<Outcome> {
    let ear = Ear::open("[::]:0").await?;
    let addresses =
        tokio::process::Command::new("hostname").arg("-I").output().await.context("run hostname")?;
    let addresses = String::from_utf8(addresses.stdout)?;
    let program = "
gateway = [line.split()[2] for line in open('/proc/net/route').read().splitlines()[1:] if line.split()[1] == '00000000']
gateway = [socket.inet_ntoa(struct.pack('<I', int(word, 16))) for word in gateway]
for address in ['127.0.0.1', '::1', '0.0.0.0', *gateway, *os.environ['ADDRESSES'].split()]:
    tried(address, lambda: socket.create_connection((address, int(os.environ['PORT'])), 3))
    if '.' in address: tried('::ffff:' + address, lambda: socket.create_connection(('::ffff:' + address, int(os.environ['PORT'])), 3))
held()";
    let given = [("PORT", ear.port()), ("ADDRESSES", addresses.trim().to_owned())];
    let outcome =
        ground.program(program, &given.each_ref().map(|(name, value)| (*name, value.as_str()))).await?;
    let heard = ear.heard();
    ground.stage.finish().await?;
    Ok(if heard > 0 { Outcome::Escaped(format!("the machine was called {heard} times")) } else { outcome })
}

/// Behind one link are an address that Pods may reach and one that they may not, and the same server listens on both.
async fn metadata(ground: Ground) -> Result<Outcome> {
    let world = World::make().await?;
    let program = "
server, control = os.environ['CLOSED'], os.environ['OPEN']
# A kernel answers one sender with so many refusals a second, whoever they are for: no answer is asked for again.
def connect(address):
    for _ in range(10):
        try: return socket.create_connection((address, 80), 1)
        except TimeoutError as error: silence = error
    raise silence
tried('a server of that range', lambda: connect(server))
try: socket.create_connection((control, 80), 5)
except OSError as error: say('nobody is reached at all:', [control, error])
for address in ('169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16'):
    tried(address, lambda: connect(address))
if any('EHOSTUNREACH' not in line for line in told): say('not refused, but not there:', told)
held()";
    let outcome = ground.program(program, &[("CLOSED", &world.closed), ("OPEN", &world.open)]).await;
    world.end().await?;
    ground.stage.finish().await?;
    outcome
}

/// Serves on a port, and says who came.
async fn server(stage: &Stage) -> Result<String> {
    let script = "
import socket, threading
def datagrams():
    heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    heard.bind(('0.0.0.0', 8080))
    open('/tmp/ready', 'w').close()
    while True:
        word, sender = heard.recvfrom(64)
        print(word.decode(), sender[0], flush=True)
server = socket.create_server(('0.0.0.0', 8080))
threading.Thread(target=datagrams, daemon=True).start()
while True:
    stream, sender = server.accept()
    print('connected', sender[0], flush=True)";
    let ready = json!({"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1});
    let container = python(script).with(json!({"readinessProbe": ready}));
    let spec = once(container).with(json!({"terminationGracePeriodSeconds": 0}));
    let metadata = json!({"name": "server", "labels": {"app": "server"}});
    let pod = json!({"metadata": metadata, "spec": spec});
    stage.put::<k8s_openapi::api::core::v1::Pod>("server", pod).await?;
    let pod = stage.until("server", "ready", asb_tests::pods::stage::is_ready).await?;
    pod.status.and_then(|status| status.pod_ip).context("an address")
}

async fn policy(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    if !ground.is_lifted() {
        let everything = json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]});
        stage.put::<NetworkPolicy>("nothing", json!({"spec": everything})).await?;
    }
    let address = server(stage).await?;
    let ports = json!([{"port": 80, "targetPort": 8080}]);
    let service: Service =
        stage.put("service", json!({"spec": {"selector": {"app": "server"}, "ports": ports}})).await?;
    let service = service.spec.and_then(|spec| spec.cluster_ip).context("an address")?;
    let program = "
address, service = os.environ['ADDRESS'], os.environ['SERVICE']
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((address, 8080))
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'datagram', (address, 8080))
except OSError as error: told.append(str(error))
tried('the Pod', lambda: socket.create_connection((address, 8080), 3))
tried('the Service', lambda: socket.create_connection((service, 80), 3))
tried('a name', lambda: socket.getaddrinfo('kubernetes.default.svc.cluster.local', 443))
held()";
    let outcome = ground.program(program, &[("ADDRESS", &address), ("SERVICE", &service)]).await?;
    let heard = stage.logs("server", "main").await?;
    ground.stage.finish().await?;
    Ok(if heard.is_empty() { outcome } else { Outcome::Escaped(format!("the server heard: {heard}")) })
}

/// First as somebody else, then as itself: packets keep their order, so the second shows that the first was lost.
async fn spoof(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    let address = server(stage).await?;
    let script = "
import os, socket, struct
target = os.environ['ADDRESS']
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def say(source, word):
    datagram = struct.pack('!HHHH', 9, 8080, 8 + len(word), 0) + word
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(datagram), 7, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
    raw.sendto(header + datagram, (target, 0))
parts = target.split('.')
own = socket.gethostbyname(socket.gethostname())
for source in ('.'.join(parts[:3] + ['1']), '.'.join(parts[:3] + ['250']), '127.0.0.1', '192.0.2.7'):
    say(source, b'forged')
say(own, b'honest')
print('sent as', own)";
    let container = python(script).with(json!({
        "env": [{"name": "ADDRESS", "value": address}],
        "securityContext": {"capabilities": {"add": ["NET_RAW"]}},
    }));
    let sent = stage.run("forger", once(container)).await?;
    let heard = asb_tests::wait::until(asb_tests::wait::DEADLINE, "the honest packet", || async {
        stage.logs("server", "main").await.ok().filter(|heard| heard.contains("honest"))
    });
    let heard = heard.await.context(sent)?;
    ensure!(heard.lines().last().is_some_and(|line| line.starts_with("honest")), "{heard}");
    ground.stage.finish().await?;
    Ok(Outcome::escaped_if(heard.contains("forged"), heard))
}
