//! How long the network takes with many Pods: `unshare --net cargo run --release -p asb-node --example network_load -- 1000`.
//!
//! Wants a network namespace of its own, which it fills with links and rules and leaves to vanish with it.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdout};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use asb_core::network::member::{Member, Protocol};
use asb_core::network::policy::Policy;
use asb_core::network::rules::RuleSet;
use asb_core::network::ruleset::{Settings, Snapshot, compile};
use asb_core::network::services::Frontend;
use asb_core::object::Key;
use asb_node::network::{Kernel, Options};
use serde_json::json;

const NODE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const TEMPLATES: usize = 20;
const SERVICES: usize = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let count: usize = env::args().nth(1).map_or(Ok(1000), |text| text.parse())?;
    let options = Options { table: "asb".to_owned(), prefix: settings()?.prefix, node: NODE };
    let mut kernel = Kernel::open(options.clone())?;
    kernel.prepare()?;
    let mut world = World::new(count)?;
    kernel.apply(world.rules())?;

    let mut times = Vec::new();
    let namespaces = (0..=count).map(|_| namespace()).collect::<Outcome<Vec<_>>>()?;
    for (member, (_, descriptor)) in world.members.iter().zip(&namespaces) {
        times.push(timed(|| kernel.attach(&member.uid, member.address, descriptor))?);
    }
    report("attach", &mut times)?;

    let newcomer = member(count);
    let (mut planned, mut applied) = (Vec::new(), Vec::new());
    for turn in 0..50 {
        if turn % 2 == 0 {
            world.members.push(newcomer.clone());
        } else {
            world.members.pop();
        }
        let start = Instant::now();
        let rules = world.rules();
        planned.push(start.elapsed());
        applied.push(timed(|| kernel.apply(rules))?);
    }
    report("rules: plan anew", &mut planned)?;
    report("rules: one Pod more or less", &mut applied)?;

    let mut applied = Vec::new();
    for turn in 0..50 {
        world.frontends[0].backends.truncate(3 + turn % 2);
        world.frontends[0].backends.push(SocketAddrV4::new(address(turn), 80));
        let rules = world.rules();
        applied.push(timed(|| kernel.apply(rules))?);
    }
    report("rules: backends of one Service", &mut applied)?;

    let mut applied = Vec::new();
    for turn in 0..50 {
        world.policies[0] = policy(0, 8000 + turn);
        let rules = world.rules();
        applied.push(timed(|| kernel.apply(rules))?);
    }
    report("rules: one policy", &mut applied)?;

    let mut replaced = Vec::new();
    for _ in 0..10 {
        let mut fresh = Kernel::open(options.clone())?;
        let rules = world.rules();
        replaced.push(timed(|| fresh.apply(rules))?);
    }
    report("rules: all of them, after a restart", &mut replaced)?;

    let mut listed = (0..10).map(|_| timed(|| kernel.census())).collect::<Result<Vec<_>, _>>()?;
    report("census", &mut listed)?;

    let mut times = Vec::new();
    let start = Instant::now();
    for member in &world.members {
        times.push(timed(|| kernel.detach(&member.uid, Some(member.address)))?);
    }
    report("detach, for the caller", &mut times)?;
    kernel.settle()?;
    let each = start.elapsed() / u32::try_from(count)?;
    writeln!(stdout(), "detach, until links are gone: {:.2} ms each", milliseconds(each))?;
    kernel.clear()?;
    for (mut child, _) in namespaces {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

struct World {
    settings: Settings,
    members: Vec<Member>,
    policies: Vec<Policy>,
    frontends: Vec<Frontend>,
}

impl World {
    fn new(count: usize) -> Outcome<Self> {
        let frontends = (0..SERVICES).map(|number| Frontend {
            service: Key::new("default", &format!("service-{number}")),
            address: Ipv4Addr::from_bits(
                Ipv4Addr::new(10, 96, 0, 10).to_bits() + u32::try_from(number).unwrap_or(0),
            ),
            protocol: Protocol::Tcp,
            port: 80,
            backends: (0..3).map(|lot| SocketAddrV4::new(address(number * 3 + lot), 8080)).collect(),
            affinity: None,
        });
        Ok(Self {
            settings: settings()?,
            members: (0..count).map(member).collect(),
            policies: (0..TEMPLATES).map(|template| policy(template, 80)).collect(),
            frontends: frontends.collect(),
        })
    }

    fn rules(&self) -> RuleSet {
        let snapshot = Snapshot {
            settings: &self.settings,
            members: &self.members,
            namespaces: &BTreeMap::new(),
            policies: &self.policies,
            frontends: &self.frontends,
        };
        compile(snapshot).rules
    }
}

fn settings() -> Outcome<Settings> {
    Ok(Settings::new("10.1.0.0/16".parse()?, NODE))
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(NODE.to_bits() + 1 + u32::try_from(number).unwrap_or(0))
}

fn member(number: usize) -> Member {
    Member {
        key: Key::new("default", &format!("pod-{number}")),
        uid: format!("0b6b1d3c-8a52-4a0f-9d7e-{number:012}").as_str().into(),
        address: address(number),
        labels: [("template".to_owned(), (number % TEMPLATES).to_string())].into(),
        ports: Vec::new(),
        has_token: false,
    }
}

/// In from the next template's Pods, out to public addresses: what the operator writes, and a little more.
fn policy(template: usize, port: usize) -> Policy {
    let next = ((template + 1) % TEMPLATES).to_string();
    let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
    let policy = json!({
        "metadata": {"namespace": "default", "name": format!("template-{template}")},
        "spec": {
            "podSelector": {"matchLabels": {"template": template.to_string()}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"template": next}}}], "ports": [{"port": port}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": private}}]}],
        },
    });
    Policy::read(&serde_json::from_value(policy).unwrap_or_default())
}

fn namespace() -> Outcome<(Child, OwnedFd)> {
    let mut child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-c", "echo; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.as_mut().ok_or("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    let descriptor = File::open(format!("/proc/{}/ns/net", child.id()))?.into();
    Ok((child, descriptor))
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn report(what: &str, times: &mut [Duration]) -> Outcome<()> {
    times.sort();
    let at = |part: usize| milliseconds(times[(times.len() - 1) * part / 100]);
    writeln!(
        stdout(),
        "{what}: p50 {:.2} ms, p90 {:.2} ms, max {:.2} ms (n={})",
        at(50),
        at(90),
        at(100),
        times.len()
    )?;
    Ok(())
}
