//! As the first process of a container, in a process namespace of its own.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::service::{PROGRAM, Service, free_port};
use super::wait::until;

/// sandboxd with a command, in namespaces of its own where it is the first process.
fn container(port: u16, command: &[&str]) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", PROGRAM]);
    serving(&mut unshare, port, command);
    unshare
}

fn serving(program: &mut Command, port: u16, command: &[&str]) {
    program.args(["serve", "--listen-host", "127.0.0.1", "--rest-port", "0", "--grpc-port", "0"]);
    program.args(["--runtime-port", &port.to_string(), "--root-dir", "/tmp", "--"]).args(command);
    program.stdin(Stdio::null()).stdout(Stdio::piped());
}

fn plain(command: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    serving(&mut program, free_port(), command);
    program
}

/// How it ends, which it must soon. One that does not is killed, so that it is nobody's burden.
fn code(child: &mut Child) -> i32 {
    let mut looks = 0;
    let status = until("it has ended", || {
        looks += 1;
        if looks == 1000 {
            child.kill().unwrap();
        }
        child.try_wait().unwrap()
    });
    status.code().expect("it ends by itself")
}

fn line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
fn it_ends_as_its_command_does() {
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
        let status = plain(&["sh", "-c", script]).status().unwrap();
        assert_eq!(status.code(), Some(code), "{script}: {status:?} {:?}", status.signal());
    }
    assert_eq!(plain(&["/no/such/program"]).stderr(Stdio::null()).status().unwrap().code(), Some(127));
    assert_eq!(plain(&["/"]).stderr(Stdio::null()).status().unwrap().code(), Some(126));
}

#[test]
fn signals_are_passed_on() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1] {
        let number = signal as i32;
        let script = format!("trap 'exit 9{number}' {number}; echo ready; while :; do sleep 0.05; done");
        let mut child = plain(&["sh", "-c", &script]).spawn().unwrap();
        assert_eq!(line(&mut child), "ready");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let expected = format!("9{number}").parse::<i32>().unwrap() & 0xff;
        assert_eq!(code(&mut child), expected);
    }
}

#[test]
fn every_orphan_is_reaped() {
    let port = free_port();
    // Each inner shell leaves an orphan behind that ends soon; the outer one, itself a child of the first process, then looks at
    // what other children there are, for ten seconds at most.
    let script = "i=0; while [ $i -lt 50 ]; do sh -c 'sleep 0.05 &'; i=$((i+1)); done; echo orphaned; \
                  others() { cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') [RSZ] 1 '; }; \
                  i=0; while [ $(others) -gt 1 ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; echo $(others) left";
    let mut child = container(port, &["sh", "-c", script]).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "orphaned");
    assert_eq!(output.next().unwrap().unwrap(), "1 left");
    assert!(child.wait().unwrap().success());
}

#[test]
fn it_serves_while_its_command_runs_and_takes_everything_with_it() {
    let port = free_port();
    let mut child =
        plain_on(port, &["sh", "-c", "echo ready; read x; exit 3"]).stdin(Stdio::piped()).spawn().unwrap();
    assert_eq!(line(&mut child), "ready");
    let home = tempfile::tempdir().unwrap();
    let mut service = Service { child, port, ports: vec![port], home };
    let started = service
        .post("/v1/processes", &json!({"shell": "trap '' TERM; echo on; while :; do sleep 1000; done"}));
    let pid = started.json()["pid"].as_i64().unwrap();
    until("it runs", || (service.get("/v1/processes/1/output?format=raw").text() == "on\n").then_some(()));
    service.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(code(&mut service.child), 3);
    until("it is gone", || (!super::service::runs(pid)).then_some(()));
}

fn plain_on(port: u16, command: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    serving(&mut program, port, command);
    program
}

#[test]
fn without_a_command_it_ends_on_request_and_says_so_before() {
    let mut service = Service::start();
    // It has two seconds to end, and does not.
    service.post("/v1/processes", &json!({"shell": "trap '' TERM; echo on; while :; do sleep 1000; done"}));
    until("it runs", || (service.get("/v1/processes/1/output?format=raw").text() == "on\n").then_some(()));
    kill(Pid::from_raw(i32::try_from(service.child.id()).unwrap()), Signal::SIGTERM).unwrap();
    until("it drains", || (service.get("/v1/health").status == 503).then_some(()));
    assert_eq!(service.post("/v1/processes", &json!({"command": ["true"]})).status, 503);
    assert_eq!(code(&mut service.child), 0);
}

#[test]
fn a_copy_is_installed_and_works() {
    let home = tempfile::tempdir().unwrap();
    assert!(Command::new(PROGRAM).arg("install").arg(home.path().join("bin")).status().unwrap().success());
    let version = Command::new(home.path().join("bin/sandboxd")).arg("version").output().unwrap();
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("sandboxd "));
}

#[test]
fn help_teaches_and_misuse_is_explained() {
    let help = Command::new(PROGRAM).arg("--help").output().unwrap();
    insta::assert_snapshot!(String::from_utf8(help.stdout).unwrap());
    let wrong = Command::new(PROGRAM).args(["serve", "--prot", "1"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let expected =
        "sandboxd: `--prot` is not known; `sandboxd --help` says what is\nTry `sandboxd --help`.\n";
    assert_eq!(String::from_utf8(wrong.stderr).unwrap(), expected);
}
