//! The way to whoever serves a data directory at the moment, for those who go on over its deaths.

use std::time::Duration;

use anyhow::Result;
use asb_tests::wait;
use kube::Client;
use kube::core::Status;
use tokio::sync::watch;

/// How long anybody may go without an answer while one server after the other is killed.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Clone)]
pub(crate) struct Reach {
    current: watch::Receiver<Option<Client>>,
}

/// Where the one who starts servers says which one answers.
pub(crate) struct Door {
    current: watch::Sender<Option<Client>>,
}

impl Door {
    pub(crate) fn new() -> (Self, Reach) {
        let (sender, receiver) = watch::channel(None);
        (Self { current: sender }, Reach { current: receiver })
    }

    pub(crate) fn open(&self, client: Client) {
        self.current.send_replace(Some(client));
    }

    pub(crate) fn close(&self) {
        self.current.send_replace(None);
    }
}

impl Reach {
    /// To one server that is not killed.
    pub(crate) fn to(client: Client) -> Self {
        let (door, reach) = Door::new();
        door.open(client);
        reach
    }

    /// Whoever serves, as soon as somebody does.
    pub(crate) async fn client(&self) -> Result<Client> {
        let mut current = self.current.clone();
        let found = current.wait_for(Option::is_some).await.map(|found| found.clone());
        match found {
            Ok(Some(client)) => Ok(client),
            // The last one stays: whoever opened the door is done with it.
            _ => self.current.borrow().clone().ok_or_else(|| anyhow::anyhow!("nobody serves any more")),
        }
    }

    /// Asks until there is an answer, which may be a refusal: one who was killed gives none.
    pub(crate) async fn ask<T, F>(&self, what: String, ask: impl Fn(Client) -> F) -> Result<Result<T, Status>>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let answer = wait::until(PATIENCE, &what, || async {
            match ask(self.client().await.ok()?).await {
                Ok(answer) => Some(Ok(answer)),
                Err(kube::Error::Api(status)) if status.code < 500 => Some(Err(*status)),
                Err(_) => None,
            }
        });
        Ok(answer.await?)
    }
}
