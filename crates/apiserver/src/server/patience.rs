//! Answers that are given up when nobody takes them: a client that asks and does not read may hold the memory of its
//! answer, and its place among the requests, for so long and no longer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use hyper::body::{Frame, SizeHint};
use thiserror::Error;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::limits::Permit;

/// How long a part of an answer waits to be sent.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is shorter is as good as sent.
const SHORT: u64 = 16 * 1024;

#[derive(Debug, Error)]
#[error("the client did not take the answer")]
struct GivenUp;

/// The body of an answer that is watched over.
struct Watched {
    state: Arc<Mutex<State>>,
    watchdog: AbortHandle,
}

struct State {
    /// What is left, with the place that it takes; nothing after it was given up.
    answer: Option<(Body, Permit)>,
    /// When the client was last given something, unless it has come back for more since.
    offered: Option<Instant>,
}

/// The same answer, holding its place for as long as it is being sent.
pub(super) fn holding(response: Response<Body>, permit: Permit) -> Response<Body> {
    if response.body().size_hint().exact().is_some_and(|size| size <= SHORT) {
        return response;
    }
    response.map(|body| Body::new(Watched::new(body, permit)))
}

impl Watched {
    fn new(body: Body, permit: Permit) -> Self {
        let state = State { answer: Some((body, permit)), offered: Some(Instant::now()) };
        let state = Arc::new(Mutex::new(state));
        let watchdog = tokio::spawn(watch_over(Arc::clone(&state))).abort_handle();
        Self { state, watchdog }
    }
}

async fn watch_over(state: Arc<Mutex<State>>) {
    let mut look = Instant::now() + PATIENCE;
    loop {
        tokio::time::sleep_until(look).await;
        let mut state = locked(&state);
        let due = state.offered.map(|offered| offered + PATIENCE);
        if due.is_some_and(|due| due <= Instant::now()) {
            state.answer = None;
            return;
        }
        look = due.unwrap_or_else(|| Instant::now() + PATIENCE);
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = locked(&self.state);
        let Some((body, _)) = &mut state.answer else {
            return Poll::Ready(Some(Err(axum::Error::new(GivenUp))));
        };
        let polled = Pin::new(body).poll_frame(context);
        state.offered = matches!(polled, Poll::Ready(Some(_))).then(Instant::now);
        polled
    }

    fn is_end_stream(&self) -> bool {
        locked(&self.state).answer.as_ref().is_some_and(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        locked(&self.state).answer.as_ref().map(|(body, _)| body.size_hint()).unwrap_or_default()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watchdog.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::BodyExt;

    use super::*;
    use crate::security::authentication::User;
    use crate::server::limits::Limits;

    fn answer(body: Body) -> Body {
        let permit = Limits::default().share(&User::anonymous()).watch().unwrap();
        holding(Response::new(body), permit).into_body()
    }

    fn pieces() -> Body {
        Body::from_stream(stream::iter(["a", "b"].map(Ok::<_, std::convert::Infallible>)))
    }

    /// Lets time go by for everybody who waits.
    async fn pass(time: Duration) {
        tokio::task::yield_now().await;
        tokio::time::advance(time).await;
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_read_in_time_arrives_whole() {
        let mut body = answer(pieces());
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
        pass(PATIENCE / 2).await;
        assert_eq!(body.collect().await.unwrap().to_bytes(), "b");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_given_up() {
        let mut body = answer(pieces());
        body.frame().await.unwrap().unwrap();
        pass(PATIENCE).await;
        assert!(body.frame().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_may_wait_for_events_for_as_long_as_it_likes() {
        let (sender, receiver) =
            futures::channel::mpsc::unbounded::<Result<&str, std::convert::Infallible>>();
        let mut body = answer(Body::from_stream(receiver));
        let late = async {
            for _ in 0..10 {
                pass(PATIENCE).await;
            }
            sender.unbounded_send(Ok("late")).unwrap();
        };
        let (frame, ()) = tokio::join!(body.frame(), late);
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "late");
    }
}
