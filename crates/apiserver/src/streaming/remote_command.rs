//! exec and attach: a client holds the ends of a process in a container. Over WebSocket channels and over SPDY streams
//! the same ends arrive in different ways; from there on everything is the same.

mod conduct;
mod outcome;
mod over_channels;
mod over_spdy;

use std::sync::Arc;

use axum::http::Request;
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncRead, AsyncWrite};

use super::Tasks;
use super::carrier::{Agreement, Protocols, SpdyUpgrade};
use super::pods::{Container, Error, Pod, PodStreams, Process, Wanted};
use super::query::Query;
use super::refusal::Refusal;

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const V3: &str = "v3.channel.k8s.io";
const V2: &str = "v2.channel.k8s.io";

/// Kubernetes speaks v5 over WebSockets only.
const PROTOCOLS: Protocols = Protocols { websocket: &[V5, V4], spdy: &[V4, V3, V2] };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Exec,
    Attach,
}

/// What is to be done in a Pod once the client is connected.
struct Job<P> {
    pods: Arc<P>,
    container: Container,
    /// Nothing for the process that runs already.
    command: Option<Vec<String>>,
    wanted: Wanted,
}

/// The client's ends of what it wants to hold.
struct Ends {
    stdin: Option<Box<dyn AsyncRead + Send + Unpin>>,
    stdout: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    stderr: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    /// Sizes of the client's terminal, one JSON object after the other.
    resize: Option<Box<dyn AsyncRead + Send + Unpin>>,
    error: Box<dyn AsyncWrite + Send + Unpin>,
}

pub(super) async fn serve<P: PodStreams, B: Send + 'static>(
    pods: Arc<P>,
    verb: Verb,
    pod: Pod,
    request: Request<B>,
    tasks: &Tasks,
) -> Result<Response, Refusal> {
    tasks.admit()?;
    let job = Job::parse(pods, verb, pod, &Query::of(request.uri()))?;
    job.pods.check(&job.container).await?;
    match PROTOCOLS.agree(request).await? {
        Agreement::WebSocket { upgrade, protocol } => {
            let serve = move |socket| over_channels::serve(job, socket, protocol);
            Ok(upgrade.on_upgrade(tasks.owning(serve)).into_response())
        }
        Agreement::Spdy { upgrade, protocol } => {
            let (pending, answer) = upgrade.split();
            tasks.spawn(async move {
                match SpdyUpgrade::connect(pending).await {
                    Ok(connection) => over_spdy::serve(job, connection, protocol).await,
                    Err(error) => tracing::debug!(%error, "a client left before its command was run"),
                }
            });
            Ok(answer)
        }
    }
}

impl<P: PodStreams> Job<P> {
    fn parse(pods: Arc<P>, verb: Verb, pod: Pod, query: &Query) -> Result<Self, Refusal> {
        let wanted = wanted(query)?;
        let command: Vec<_> = query.all("command").map(str::to_owned).collect();
        let command = match verb {
            Verb::Attach => None,
            Verb::Exec if command.is_empty() => {
                return Err(Refusal::Bad(
                    "you must specify at least one command for the container".to_owned(),
                ));
            }
            Verb::Exec => Some(command),
        };
        let container = Container { pod, name: query.first("container").map(str::to_owned) };
        Ok(Self { pods, container, command, wanted })
    }

    async fn start(&self) -> Result<Process, Error> {
        match &self.command {
            Some(command) => self.pods.exec(&self.container, command, self.wanted).await,
            None => self.pods.attach(&self.container, self.wanted).await,
        }
    }
}

fn wanted(query: &Query) -> Result<Wanted, Refusal> {
    let terminal = query.flag("tty");
    let wanted = Wanted {
        stdin: query.flag("stdin"),
        stdout: query.flag("stdout"),
        stderr: query.flag("stderr") && !terminal,
        terminal,
    };
    if !wanted.stdin && !wanted.stdout && !wanted.stderr {
        return Err(Refusal::Bad("you must specify at least 1 of stdin, stdout, stderr".to_owned()));
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Wanted, Refusal> {
        wanted(&Query::of(&format!("/exec?{query}").parse().unwrap()))
    }

    #[test]
    fn a_terminal_has_no_errors_of_its_own() {
        let wanted = parse("stdin=true&stdout=true&stderr=true&tty=true").unwrap();
        assert_eq!(wanted, Wanted { stdin: true, stdout: true, stderr: false, terminal: true });
    }

    #[test]
    fn a_client_that_wants_nothing_is_refused() {
        assert!(matches!(parse("tty=true"), Err(Refusal::Bad(_))));
    }
}
