//! A Pod to test with: its shim, its directory, and an image made of this machine's programs. Whatever a test does, nothing
//! of it is left afterwards, and that is checked.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_node::shim::cgroups::Hierarchies;
use asb_node::shim::client::{Client, Program};
use asb_node::shim::directory::Directory;
use asb_node::shim::plan::{
    ContainerPlan, IdRange, Limits, Log, MASKED_PATHS, Mount, Overlay, Process, READ_ONLY_PATHS, Root,
    Runtime, SandboxPlan, Seccomp, Sharing, Source, Stdin, User,
};
use asb_node::shim::protocol::{Attempt, Exit, Phase, Status};
use asb_node::shim::{capabilities, cleanup};
use libtest_mimic::{Failed, Trial};

/// Long enough for a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_mins(1);

static PODS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Pod {
    pub(crate) client: Client,
    pub(crate) plan: SandboxPlan,
    pub(crate) directory: Directory,
    files: tempfile::TempDir,
}

/// A test that runs with a Pod of its own, to which it may add before it is made.
pub(crate) fn trial<T>(name: &str, test: T) -> Trial
where
    T: AsyncFnOnce(&mut Pod) -> Result<()> + Send + 'static,
{
    trial_with(name, |_| {}, test)
}

pub(crate) fn trial_with<P, T>(name: &str, prepare: P, test: T) -> Trial
where
    P: FnOnce(&mut SandboxPlan) + Send + 'static,
    T: AsyncFnOnce(&mut Pod) -> Result<()> + Send + 'static,
{
    Trial::test(name.replace('_', " "), move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run(prepare, test)).map_err(|error| Failed::from(format!("{error:?}")))
    })
}

async fn run(
    prepare: impl FnOnce(&mut SandboxPlan),
    test: impl AsyncFnOnce(&mut Pod) -> Result<()>,
) -> Result<()> {
    let mut pod = Pod::make(prepare).await.context("cannot make a Pod")?;
    let tested = tokio::time::timeout(DEADLINE, test(&mut pod)).await;
    let log = fs::read_to_string(pod.directory.root().join("shim.log")).unwrap_or_default();
    cleanup::remove(&pod.directory)?;
    let left = pod.census();
    tested.context("it took too long").flatten().with_context(|| format!("log of the shim: {log}"))?;
    left
}

impl Pod {
    async fn make(prepare: impl FnOnce(&mut SandboxPlan)) -> Result<Self> {
        let number = PODS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let files = tempfile::Builder::new().prefix("asb-shim-").tempdir()?;
        let directory = Directory::new(files.path().join("pods").join(&name));
        let mut plan = SandboxPlan {
            uid: name.clone(),
            hostname: "sandbox".to_owned(),
            ids: IdRange { first: 2_100_000_000 + number * 65536, count: 65536 },
            namespaces: Sharing::default(),
            sysctls: [("net.ipv4.ip_unprivileged_port_start".to_owned(), "0".to_owned())].into(),
            cgroup: PathBuf::from(format!("asb-test-{name}")),
            limits: Limits::default(),
            memory_volumes: Vec::new(),
            runtime: Runtime::Builtin,
        };
        prepare(&mut plan);
        make_image(&files.path().join("image"))?;
        let mut client = Client::spawn(&program(), &directory).await?;
        client.create_sandbox(plan.clone()).await?;
        Ok(Self { client, plan, directory, files })
    }

    /// What stands for the node's directory.
    pub(crate) fn root(&self) -> PathBuf {
        self.files.path().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// A shell that runs `script`.
    pub(crate) fn shell(&self, script: &str) -> ContainerPlan {
        self.container(&["/bin/sh", "-c", script])
    }

    /// This program, doing there what a shell cannot.
    pub(crate) fn payload(&self, words: &[&str]) -> ContainerPlan {
        self.container(&[&["/payload", "payload"], words].concat())
    }

    pub(crate) fn container(&self, args: &[&str]) -> ContainerPlan {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        ContainerPlan {
            root: Root {
                layers: vec![self.path("image")],
                overlays: vec![Overlay { target: "/usr".into(), layers: vec!["/usr".into()] }],
                read_only: false,
            },
            process: process(args),
            mounts: vec![Mount {
                source: Source::Path {
                    path: std::env::current_exe().expect("it runs"),
                    sub_path: None,
                    recursive: false,
                },
                target: "/payload".into(),
                read_only: true,
            }],
            limits: Limits::default(),
            oom_score_adj: 100,
            masked_paths: paths(MASKED_PATHS),
            read_only_paths: paths(READ_ONLY_PATHS),
            stdin: Stdin::Closed,
            log: Some(Log { path: self.path("log"), max_bytes: 1 << 20, max_files: 3 }),
            termination_message: Some("/dev/termination-log".into()),
        }
    }

    pub(crate) async fn start(&mut self, attempt: &Attempt, plan: ContainerPlan) -> Result<i32> {
        let pid = self.client.create_container(attempt, plan).await.context("cannot build")?;
        self.client.start_container(attempt).await.context("cannot start")?;
        Ok(pid)
    }

    /// Runs it to its end.
    pub(crate) async fn run(&mut self, plan: ContainerPlan) -> Result<(Exit, String)> {
        let attempt = attempt("main", 0);
        self.start(&attempt, plan).await?;
        let exit = self.exit(&attempt).await?;
        Ok((exit, self.log()))
    }

    /// The output of a shell that succeeds.
    pub(crate) async fn output(&mut self, script: &str) -> Result<String> {
        let plan = self.shell(script);
        self.succeed(plan).await
    }

    pub(crate) async fn succeed(&mut self, plan: ContainerPlan) -> Result<String> {
        let (exit, log) = self.run(plan).await?;
        ensure!(exit.status == Status::Code(0), "{exit:?}: {log}");
        Ok(log)
    }

    pub(crate) async fn exit(&mut self, attempt: &Attempt) -> Result<Exit> {
        let mut after = None;
        loop {
            let state = self.client.state(after).await?;
            after = Some(state.revision);
            let found = state.containers.into_iter().find(|container| container.attempt == *attempt);
            if let Phase::Exited(exit) = found.context("there is no such container")?.phase {
                return Ok(exit);
            }
        }
    }

    /// The text of the log, both streams together, as `kubectl logs` shows it.
    pub(crate) fn log(&self) -> String {
        plain(&fs::read_to_string(self.path("log")).unwrap_or_default())
    }

    /// Waits for what a container does; the deadline is that of the test.
    pub(crate) async fn until(&self, mut condition: impl FnMut() -> bool) -> Result<()> {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        while !condition() {
            looks.tick().await;
        }
        Ok(())
    }

    /// Executes a program and returns how it ended and what it wrote.
    pub(crate) async fn exec(&mut self, process: Process) -> Result<(Status, String)> {
        let (nothing, output) = (fs::File::open("/dev/null")?, tempfile::tempfile()?);
        let stdio = [nothing.as_fd(), output.as_fd(), output.as_fd()];
        let executed = self.client.exec(&attempt("main", 0), process, &stdio).await?;
        let status = self.client.wait_exec(executed.exec).await?;
        let mut text = String::new();
        std::io::Seek::rewind(&mut &output)?;
        std::io::Read::read_to_string(&mut &output, &mut text)?;
        Ok((status, text))
    }

    /// Nothing of the Pod may be left: by process, mount, cgroup or file.
    fn census(&self) -> Result<()> {
        let ids = self.plan.ids.first..self.plan.ids.first + self.plan.ids.count;
        let place = self.directory.root().display().to_string();
        for entry in fs::read_dir("/proc")?.flatten() {
            let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
            let status = read("status");
            // It has ended, and whoever adopted it or its children has not looked yet.
            if !status.contains("VmSize:") {
                continue;
            }
            let uid = status.lines().find_map(|line| line.strip_prefix("Uid:\t")?.split('\t').next());
            ensure!(
                !uid.and_then(|uid| uid.parse().ok()).is_some_and(|uid| ids.contains(&uid)),
                "left: {status}"
            );
            ensure!(!read("cmdline").contains(&place), "left: {status}");
        }
        ensure!(!fs::read_to_string("/proc/self/mountinfo")?.contains(&place), "a mount is left");
        ensure!(!Hierarchies::discover()?.cgroup(&self.plan.cgroup).exists(), "a cgroup is left");
        ensure!(!self.directory.root().exists(), "the directory is left");
        Ok(())
    }
}

pub(crate) fn program() -> Program {
    Program { path: "/proc/self/exe".into(), arguments: vec!["shim".to_owned()] }
}

pub(crate) fn attempt(container: &str, number: u32) -> Attempt {
    Attempt { container: container.to_owned(), number }
}

pub(crate) fn process(args: &[&str]) -> Process {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Process {
        args: names(args),
        env: names(&["PATH=/usr/bin:/bin"]),
        cwd: "/".into(),
        user: User::default(),
        capabilities: names(capabilities::DEFAULT),
        no_new_privileges: true,
        seccomp: Seccomp::Default,
        rlimits: Vec::new(),
        tty: false,
    }
}

pub(crate) fn shell(script: &str) -> Process {
    process(&["/bin/sh", "-c", script])
}

/// Of a directory of this machine.
pub(crate) fn volume(path: &Path, target: &str) -> Mount {
    let source = Source::Path { path: path.to_owned(), sub_path: None, recursive: false };
    Mount { source, target: target.into(), read_only: false }
}

/// Records of a log as the text that they were made from.
pub(crate) fn plain(records: &str) -> String {
    records
        .lines()
        .filter_map(|line| line.split(' ').nth(2).zip(line.splitn(4, ' ').nth(3)))
        .map(|(tag, text)| if tag == "F" { format!("{text}\n") } else { text.to_owned() })
        .collect()
}

/// What a root needs beside /usr.
fn make_image(image: &Path) -> Result<()> {
    for directory in ["etc", "proc", "sys", "dev", "tmp", "usr", "root"] {
        fs::create_dir_all(image.join(directory))?;
    }
    for name in ["bin", "lib", "lib64", "sbin"] {
        symlink(Path::new("usr").join(name), image.join(name))?;
    }
    fs::write(image.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/user:/bin/sh\n")?;
    Ok(())
}
