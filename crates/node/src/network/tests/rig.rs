//! A host with an outside, Pods that listen, and clients.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use asb_core::network::member::{Member, NamedPort, Protocol};
use asb_core::network::policy::Policy;
use asb_core::network::ruleset::{Settings, Snapshot, compile};
use asb_core::network::services::Frontend;
use asb_core::object::{Key, Uid};
use serde_json::{Value, json};

use super::super::{Kernel, Options, within};

pub(crate) const NODE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// The host as the outside sees it.
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub(crate) const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
/// More addresses of the outside.
pub(crate) const WORLD: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
pub(crate) const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Long enough for a loaded machine to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Long enough to be sure that nothing comes.
const SILENCE: Duration = Duration::from_millis(400);

/// A network namespace that lives as long as the process in it.
pub(crate) struct Namespace {
    pub(crate) descriptor: OwnedFd,
    child: Child,
}

impl Namespace {
    pub(crate) fn of_host() -> Self {
        Self::new(&["--net"])
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    fn new(arguments: &[&str]) -> Self {
        let mut child = Command::new("unshare")
            .args(arguments)
            .args(["sh", "-c", "echo; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "\n", "no namespace was made");
        let descriptor = File::open(format!("/proc/{}/ns/net", child.id())).unwrap().into();
        Self { descriptor, child }
    }

    /// One that belongs to a user namespace, as those of Pods do.
    pub(crate) fn of_pod() -> Self {
        Self::new(&["--user", "--map-root-user", "--net"])
    }

    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.descriptor, work).unwrap()
    }

    pub(crate) fn ip(&self, arguments: &str) -> String {
        let output = self.run(|| Command::new("ip").args(arguments.split_whitespace()).output().unwrap());
        assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Pod {
    pub(crate) namespace: Namespace,
    pub(crate) uid: Uid,
    pub(crate) address: Ipv4Addr,
}

pub(crate) struct Rig {
    pub(crate) kernel: Kernel,
    pub(crate) settings: Settings,
    pub(crate) members: Vec<Member>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) frontends: Vec<Frontend>,
    pub(crate) host: Namespace,
    pub(crate) outside: Namespace,
}

fn options(table: &str) -> Options {
    Options { table: table.to_owned(), prefix: "asb-p".to_owned(), node: NODE }
}

impl Rig {
    /// The outside knows no way to Pods: what it answers, it answers to the host.
    pub(crate) fn new() -> Self {
        let (host, outside) = (Namespace::of_host(), Namespace::of_host());
        host.ip(&format!("link add up0 type veth peer name eth0 netns {}", outside.process()));
        // A namespace begins with the settings of this machine, whatever they are.
        host.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "0").unwrap());
        for command in ["link set lo up", "addr add 198.51.100.1/24 dev up0", "link set up0 up"] {
            host.ip(command);
        }
        for command in ["link set lo up", "addr add 198.51.100.2/24 dev eth0", "link set eth0 up"] {
            outside.ip(command);
        }
        for address in [WORLD, METADATA] {
            outside.ip(&format!("addr add {address}/32 dev lo"));
        }
        host.ip("route add default via 198.51.100.2");
        let mut kernel = host.run(|| Kernel::open(options("asb")).unwrap());
        let uplinks = host.run(|| kernel.prepare().unwrap());
        let mut settings = Settings::new("10.1.0.0/16".parse().unwrap(), NODE);
        settings.uplinks = uplinks.into_iter().map(|uplink| uplink.interface).collect();
        let mut rig = Self {
            kernel,
            settings,
            members: Vec::new(),
            policies: Vec::new(),
            frontends: Vec::new(),
            host,
            outside,
        };
        rig.apply();
        rig
    }

    /// Another program on the same host, as after a crash of the first.
    pub(crate) fn restart(&mut self) {
        self.kernel = self.second("asb");
    }

    pub(crate) fn second(&self, table: &str) -> Kernel {
        self.host.run(|| Kernel::open(options(table)).unwrap())
    }

    pub(crate) fn apply(&mut self) {
        let rules = compile(Snapshot {
            settings: &self.settings,
            members: &self.members,
            namespaces: &BTreeMap::new(),
            policies: &self.policies,
            frontends: &self.frontends,
        });
        assert_eq!(rules.refused, BTreeMap::new());
        let kernel = &mut self.kernel;
        self.host.run(|| kernel.apply(rules.rules).unwrap());
    }

    /// A Pod of the namespace `default` with a label, and a port called `web`.
    pub(crate) fn pod(&mut self, app: &str, last: u8) -> Pod {
        let pod = self.attached(app, last);
        self.apply();
        pod
    }

    /// One that rules do not know yet.
    pub(crate) fn attached(&mut self, app: &str, last: u8) -> Pod {
        let address = Ipv4Addr::new(10, 1, 0, last);
        let uid: Uid = format!("uid-{app}-{last}").as_str().into();
        let pod = Pod { namespace: Namespace::of_pod(), uid: uid.clone(), address };
        let kernel = &mut self.kernel;
        self.host.run(|| kernel.attach(&pod.uid, address, &pod.namespace.descriptor).unwrap());
        self.members.push(Member {
            key: Key::new("default", &format!("{app}-{last}")),
            uid,
            address,
            labels: [("app".to_owned(), app.to_owned())].into(),
            ports: vec![NamedPort { name: "web".to_owned(), protocol: Protocol::Tcp, number: 8080 }],
            has_token: false,
        });
        pod
    }

    pub(crate) fn detach(&mut self, pod: &Pod) {
        self.members.retain(|member| member.uid != pod.uid);
        self.apply();
        let kernel = &mut self.kernel;
        self.host.run(|| kernel.detach(&pod.uid, Some(pod.address)).unwrap());
    }

    pub(crate) fn policy(&mut self, spec: Value) {
        let policy = json!({"metadata": {"namespace": "default", "name": "only"}, "spec": spec});
        self.policies = vec![Policy::read(&serde_json::from_value(policy).unwrap())];
        self.apply();
    }

    pub(crate) fn sweep(&mut self, known: &[&Uid]) -> usize {
        let known: BTreeSet<_> = known.iter().map(|uid| (*uid).clone()).collect();
        let kernel = &mut self.kernel;
        self.host.run(|| kernel.sweep(&known).unwrap().len())
    }
}

/// Tells every client what it calls itself, and from where it sees the client come.
pub(crate) struct Listener {
    tcp: Arc<TcpListener>,
    is_over: Arc<AtomicBool>,
}

pub(crate) fn listen(namespace: &Namespace, port: u16, name: &str) -> Listener {
    listen_at(namespace, (Ipv4Addr::UNSPECIFIED, port).into(), name)
}

pub(crate) fn listen_at(namespace: &Namespace, address: SocketAddr, name: &str) -> Listener {
    let bind = || (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
    let (tcp, udp) = namespace.run(bind);
    let (tcp, is_over) = (Arc::new(tcp), Arc::new(AtomicBool::new(false)));
    let (listener, word) = (Arc::clone(&tcp), name.to_owned());
    thread::spawn(move || {
        while let Ok((mut stream, client)) = listener.accept() {
            let greeting = format!("{word} {}\n", client.ip());
            thread::spawn(move || {
                let _ = stream.write_all(greeting.as_bytes());
                // Whoever wants more gets back what they say.
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let _ = io::copy(&mut stream.try_clone().unwrap(), &mut stream);
            });
        }
    });
    let (over, word) = (Arc::clone(&is_over), name.to_owned());
    udp.set_read_timeout(Some(SILENCE)).unwrap();
    thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            if let Ok((_, client)) = udp.recv_from(&mut [0; 16]) {
                let _ = udp.send_to(format!("{word} {}", client.ip()).as_bytes(), client);
            }
        }
    });
    Listener { tcp, is_over }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = rustix::net::shutdown(&*self.tcp, rustix::net::Shutdown::Both);
    }
}

/// What the listener says, or why nothing was heard.
pub(crate) fn ask(namespace: &Namespace, to: Ipv4Addr, port: u16) -> Result<String, io::ErrorKind> {
    namespace.run(|| hear(open(to, port, PATIENCE)?)).map_err(|error| error.kind())
}

/// Whether there is an answer soon; not waiting long for one that must not come.
pub(crate) fn is_open(namespace: &Namespace, to: Ipv4Addr, port: u16) -> bool {
    namespace.run(|| open(to, port, PATIENCE).and_then(hear)).is_ok()
}

/// Nobody answers, for as long as it is worth waiting for that.
pub(crate) fn is_closed(namespace: &Namespace, to: Ipv4Addr, port: u16) -> bool {
    namespace.run(|| open(to, port, SILENCE).and_then(hear)).is_err()
}

pub(crate) fn open(to: Ipv4Addr, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&(to, port).into(), patience)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn hear(mut stream: TcpStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(&mut stream).read_line(&mut line)?;
    stream.shutdown(Shutdown::Both)?;
    Ok(line.trim_end().to_owned())
}

/// A connection that stays.
pub(crate) struct Line(TcpStream);

impl Line {
    pub(crate) fn open(namespace: &Namespace, to: Ipv4Addr, port: u16) -> Self {
        let mut stream = namespace.run(|| open(to, port, PATIENCE).unwrap());
        let mut byte = [0];
        while byte != *b"\n" {
            stream.read_exact(&mut byte).unwrap();
        }
        Self(stream)
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut back = [0; 4];
        self.0.write_all(b"ping").and_then(|()| self.0.read_exact(&mut back)).is_ok() && back == *b"ping"
    }
}

pub(crate) fn ask_udp(namespace: &Namespace, to: Ipv4Addr, port: u16) -> Option<String> {
    let asked = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        socket.connect((to, port)).ok()?;
        socket.send(b"?").ok()?;
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).ok()?;
        String::from_utf8(buffer[..length].to_vec()).ok()
    };
    namespace.run(asked)
}
