//! What is said on the socket.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::image::work::{Step, Task};
use crate::node::State;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "request", content = "with")]
pub(crate) enum Request {
    /// Who is there.
    Hello,
    /// Work on the images of the node.
    Image(Task),
    /// Stop what runs in Pods, none of them with more than this grace, and end.
    Halt { grace: Duration },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "reply", content = "with")]
pub(crate) enum Reply {
    /// On the way; more replies come.
    Step(Step),
    /// The last one.
    Done(Value),
    /// The last one, and why.
    Failed(String),
}

/// What a daemon says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hello {
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) address: SocketAddr,
    pub(crate) node: State,
    /// Where requests are let into Sandboxes. One of an older version has nothing to say of it.
    #[serde(default)]
    pub(crate) router: Option<SocketAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_read_as_they_were_written() {
        let hello = Hello {
            pid: 7,
            version: "1".to_owned(),
            address: ([127, 0, 0, 1], 6443).into(),
            node: State::Off { reason: "no root".to_owned() },
            router: Some(([127, 0, 0, 1], 8880).into()),
        };
        let lines = [
            serde_json::to_string(&Request::Hello).unwrap(),
            serde_json::to_string(&Request::Image(Task::Prune { all: true })).unwrap(),
            serde_json::to_string(&Request::Halt { grace: Duration::from_millis(1500) }).unwrap(),
            serde_json::to_string(&Reply::Done(serde_json::to_value(&hello).unwrap())).unwrap(),
            serde_json::to_string(&Reply::Failed("no".to_owned())).unwrap(),
        ];
        insta::assert_snapshot!(lines.join("\n"));
        let read: Request = serde_json::from_str(&lines[1]).unwrap();
        assert_eq!(read, Request::Image(Task::Prune { all: true }));
        let Reply::Done(value) = serde_json::from_str(&lines[3]).unwrap() else { panic!("{}", lines[3]) };
        assert_eq!(serde_json::from_value::<Hello>(value).unwrap(), hello);
    }
}
