//! Whether a connection is used. Whoever connects has to ask for something soon, and go on asking: a connection that nobody uses takes
//! the place of one that somebody would.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// What is asked on one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation(watch::Sender<State>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    asked: u64,
    under_way: usize,
}

/// A request that is not answered in full.
pub(crate) struct Busy(Conversation);

impl Conversation {
    pub(crate) fn begin(&self) -> Busy {
        self.0.send_modify(|state| {
            state.asked += 1;
            state.under_way += 1;
        });
        Busy(self.clone())
    }

    /// Waits until nothing was asked for so long: `first` of a new connection, `later` of one whose requests are all answered.
    pub(crate) async fn fall_silent(&self, first: Duration, later: Duration) {
        let mut states = self.0.subscribe();
        let (mut answered, mut patience) = (0, first);
        while has_asked(&mut states, answered, patience).await {
            let Ok(asked) = states.wait_for(|state| state.under_way == 0).await.map(|state| state.asked)
            else {
                return;
            };
            (answered, patience) = (asked, later);
        }
    }
}

async fn has_asked(states: &mut watch::Receiver<State>, answered: u64, patience: Duration) -> bool {
    let more = states.wait_for(|state| state.asked > answered);
    timeout(patience, more).await.is_ok_and(|state| state.is_ok())
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.under_way -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(10);
    const LATER: Duration = Duration::from_secs(100);

    async fn after(conversation: &Conversation, limit: Duration) -> bool {
        timeout(limit, conversation.fall_silent(FIRST, LATER)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_has_said_nothing_soon() {
        let conversation = Conversation::default();
        assert!(!after(&conversation, Duration::from_secs(9)).await);
        assert!(after(&conversation, Duration::from_secs(11)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_an_answer_is_not_silent() {
        let conversation = Conversation::default();
        let busy = conversation.begin();
        assert!(!after(&conversation, Duration::from_secs(10_000)).await);
        drop(busy);
        assert!(!after(&conversation, Duration::from_secs(99)).await, "it may ask for more");
        assert!(after(&conversation, Duration::from_secs(101)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_answered_at_once_counts_too() {
        let conversation = Conversation::default();
        let ask = async {
            tokio::time::advance(Duration::from_secs(9)).await;
            drop(conversation.begin());
        };
        let (is_silent, ()) = tokio::join!(after(&conversation, Duration::from_secs(105)), ask);
        assert!(!is_silent, "it counts from the last answer");
    }
}
