//! What somebody asked for, as a Sandbox to be made; or why it cannot be. Pure, but for the environment and the
//! directory that the command is typed in.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use asb_client::{Home, Mount, NewSandbox};

use super::Arguments;
use crate::environment::Variable;

/// The image of this machine's own programs.
const HOST_IMAGE: &str = "asb.local/host";
/// What it runs where nothing else was asked for.
const HOST_COMMAND: &str = "/bin/sh";

/// `HOST:PATH[:ro]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountPoint(Mount);

impl FromStr for MountPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |why: &str| format!("{why}; it must be HOST:PATH or HOST:PATH:ro");
        let parts: Vec<&str> = text.split(':').collect();
        let (host, path, read_only) = match parts[..] {
            [host, path] | [host, path, "rw"] => (host, path, false),
            [host, path, "ro"] => (host, path, true),
            [_, _, _] => return Err(problem("only ro and rw can be said about a mount")),
            _ => return Err(problem("that names no two places")),
        };
        if host.is_empty() || !path.starts_with('/') {
            return Err(problem("the path inside must begin with /"));
        }
        Ok(Self(Mount { host: host.to_owned(), path: path.to_owned(), read_only }))
    }
}

impl MountPoint {
    /// With the place of here as it is without links and detours.
    fn mount(&self) -> Result<Mount> {
        let host = std::fs::canonicalize(&self.0.host);
        let host =
            host.with_context(|| format!("cannot mount {}, which is to be of this machine", self.0.host))?;
        Ok(Mount { host: host.display().to_string(), ..self.0.clone() })
    }
}

pub(super) fn wish(arguments: &Arguments, home: Home) -> Result<NewSandbox> {
    if home != Home::Local && !arguments.mount.is_empty() {
        bail!(
            "--mount gives a directory of this machine, and the machines behind a kubeconfig may not have it; copy it with \
             `asb cp` once the sandbox runs"
        );
    }
    let image = match (&arguments.image, home) {
        (Some(image), _) => image.clone(),
        (None, Home::Local | Home::Machine) => HOST_IMAGE.to_owned(),
        (None, Home::Cluster) => {
            bail!("name an image with --image: only an Agent Sandbox without a cluster has one of its own")
        }
    };
    Ok(NewSandbox {
        name: arguments.name.clone(),
        command: command(&arguments.command, &image),
        image,
        env: Variable::all(&arguments.env)?,
        cpu: arguments.cpu.clone(),
        memory: arguments.memory.clone(),
        mounts: arguments.mount.iter().map(MountPoint::mount).collect::<Result<_>>()?,
        runtime_class: arguments.runtime.clone(),
        deadline: arguments.timeout,
        stdin: arguments.interactive,
        tty: arguments.tty,
        restarts: false,
    })
}

/// This machine as an image has no command of its own.
fn command(asked: &[String], image: &str) -> Vec<String> {
    if asked.is_empty() && image == HOST_IMAGE { vec![HOST_COMMAND.to_owned()] } else { asked.to_vec() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: Arguments,
    }

    fn made(line: &str, home: Home) -> Result<NewSandbox> {
        let words = ["run"].into_iter().chain(line.split_whitespace());
        wish(&Line::try_parse_from(words).map_err(anyhow::Error::new)?.run, home)
    }

    #[test]
    fn the_least_on_this_machine_is_a_command() {
        let wish = made("-- python3 -c print(42)", Home::Local).unwrap();
        assert_eq!((wish.image.as_str(), wish.command.len()), ("asb.local/host", 3));
        assert_eq!(made("-it", Home::Local).unwrap().command, ["/bin/sh"]);
    }

    #[test]
    fn elsewhere_an_image_must_be_named_and_has_its_own_command() {
        let refused = made("-- true", Home::Cluster).unwrap_err();
        insta::assert_snapshot!(refused, @"name an image with --image: only an Agent Sandbox without a cluster has one of its own");
        assert_eq!(made("-- true", Home::Machine).unwrap().image, "asb.local/host");
        assert!(made("--image busybox", Home::Cluster).unwrap().command.is_empty());
    }

    #[test]
    fn a_mount_is_of_this_machine_only() {
        let refused = made("--image busybox --mount /src:/work -- ls", Home::Cluster).unwrap_err();
        assert!(refused.to_string().starts_with("--mount gives a directory of this machine"), "{refused}");
        let mounts = made("--mount /usr/../usr:/work:ro -- ls", Home::Local).unwrap().mounts;
        assert_eq!(mounts, [Mount { host: "/usr".into(), path: "/work".into(), read_only: true }]);
        let missing = made("--mount /no/such/place:/work -- ls", Home::Local).unwrap_err();
        assert_eq!(missing.to_string(), "cannot mount /no/such/place, which is to be of this machine");
    }

    #[test]
    fn everything_that_is_asked_for_is_wished_for() {
        let line = "--name box --image i --cpu 0.5 --memory 512m -e A=b --runtime gvisor --timeout 90s -it -- sh -c ls";
        insta::assert_debug_snapshot!(made(line, Home::Cluster).unwrap());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for line in [
            "-d --rm -- x",
            "--template t",
            "--template t --image i -- x",
            "--memory lots -- x",
            "--mount a -- x",
        ] {
            assert!(made(line, Home::Local).is_err(), "{line}");
        }
    }

    #[test]
    fn a_mount_has_two_places() {
        let read = |text: &str| text.parse::<MountPoint>().map(|it| it.0);
        let mount = |read_only| Mount { host: "/a".to_owned(), path: "/b".to_owned(), read_only };
        assert_eq!(
            [read("/a:/b"), read("/a:/b:ro"), read("/a:/b:rw")],
            [Ok(mount(false)), Ok(mount(true)), Ok(mount(false))]
        );
        for wrong in ["", "/a", "/a:b", "/a:/b:x", ":/b", "/a:/b:ro:x"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
