//! Carries what a client and a Pod send each other.

use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::time::timeout;

/// How long a Pod that takes nothing more may go on talking.
const LINGER: Duration = Duration::from_secs(10);

/// How a client says that it has no more to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// It ends its half, and may go on listening.
    Half,
    /// It cannot: whoever ends has left.
    Whole,
}

/// Until both have ended, or one is gone. A Pod that refuses what it is sent has answered first, as servers do that do not wait
/// for the end of a request; that answer arrives.
pub(super) async fn relay<C, P>(client: C, pod: P, closing: Closing)
where
    C: AsyncRead + AsyncWrite,
    P: AsyncRead + AsyncWrite,
{
    let (mut from_client, mut to_client) = split(client);
    let (mut from_pod, mut to_pod) = split(pod);
    let mut inward = pin!(async {
        copy(&mut from_client, &mut to_pod).await?;
        to_pod.shutdown().await
    });
    let mut outward = pin!(async {
        copy(&mut from_pod, &mut to_client).await?;
        to_client.shutdown().await
    });
    tokio::select! {
        sent = &mut inward => match (sent, closing) {
            (Ok(()), Closing::Half) => drop(outward.await),
            (Ok(()), Closing::Whole) => {}
            (Err(_), _) => drop(timeout(LINGER, outward).await),
        },
        received = &mut outward => if received.is_ok() && closing == Closing::Half {
            // Whoever is gone by now would have ended anyway.
            drop(inward.await);
        },
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    #[tokio::test]
    async fn an_answer_arrives_also_from_a_pod_that_does_not_wait_for_the_whole_request() {
        for closing in [Closing::Half, Closing::Whole] {
            let ((client, near), (mut pod, far)) = (duplex(16), duplex(64));
            let relaying = tokio::spawn(relay(near, far, closing));
            pod.write_all(b"no, thank you").await.expect("room");
            drop(pod);
            let (mut reader, mut writer) = split(client);
            let sending = tokio::spawn(async move {
                // More than fits anywhere; it ends when nobody takes it.
                while writer.write_all(&[b'x'; 64]).await.is_ok() {}
            });
            let mut answer = String::new();
            reader.read_to_string(&mut answer).await.expect("text");
            assert_eq!(answer, "no, thank you");
            relaying.await.expect("it ends");
            drop(reader);
            sending.abort();
        }
    }

    #[tokio::test]
    async fn a_client_that_has_sent_all_still_hears_the_answer() {
        let ((mut client, near), (mut pod, far)) = (duplex(64), duplex(64));
        let relaying = tokio::spawn(relay(near, far, Closing::Half));
        client.write_all(b"all").await.expect("room");
        client.shutdown().await.expect("its half ends");
        let mut request = String::new();
        pod.read_to_string(&mut request).await.expect("text");
        pod.write_all(b"heard").await.expect("room");
        drop(pod);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("text");
        assert_eq!((request.as_str(), answer.as_str()), ("all", "heard"));
        relaying.await.expect("it ends");
    }
}
