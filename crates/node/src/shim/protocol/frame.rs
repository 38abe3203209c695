//! Frames on a stream socket: the length of the text, the number of descriptors, the text. Descriptors go with the first
//! byte of their frame, so they can never be there later than it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// No plan comes near it; a peer that says more is none of ours.
const MAX_BYTES: usize = 16 << 20;
const MAX_DESCRIPTORS: usize = 8;
const HEADER: usize = 5;

/// A frame that has arrived.
#[derive(Debug)]
pub(crate) struct Message<T> {
    pub(crate) body: T,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The bytes of a frame.
pub(crate) fn encode(body: &impl Serialize, descriptors: usize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(body)?;
    let length = u32::try_from(text.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let count = u8::try_from(descriptors).map_err(|_| ErrorKind::InvalidInput)?;
    if descriptors > MAX_DESCRIPTORS {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok([&length.to_be_bytes()[..], &[count], &text].concat())
}

/// Sends what it can; the descriptors go with the first byte.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?)
}

/// Sends a frame through a socket that blocks.
pub(crate) fn send_whole(
    socket: impl AsFd,
    body: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = encode(body, descriptors.len())?;
    let mut sent = send(&socket, &bytes, descriptors)?;
    while sent < bytes.len() {
        sent += send(&socket, &bytes[sent..], &[])?;
    }
    Ok(())
}

/// What has arrived and was not taken out yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Inbox {
    /// Receives once. False at the end of the stream.
    pub(crate) fn receive(&mut self, socket: impl AsFd) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut chunk = [0; 16 << 10];
        let received =
            recvmsg(socket, &mut [IoSliceMut::new(&mut chunk)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.bytes.extend_from_slice(&chunk[..received.bytes]);
        Ok(received.bytes > 0)
    }

    /// Takes the next frame out, if it has arrived as a whole.
    pub(crate) fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<Message<T>>> {
        let Some((header, rest)) = self.bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let count = usize::from(header[4]);
        if length > MAX_BYTES || count > MAX_DESCRIPTORS {
            return Err(ErrorKind::InvalidData.into());
        }
        let Some(text) = rest.get(..length) else { return Ok(None) };
        if count > self.descriptors.len() {
            return Err(ErrorKind::InvalidData.into());
        }
        let body = serde_json::from_slice(text)?;
        self.bytes.drain(..HEADER + length);
        // An idle connection should not keep the memory of its largest message.
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        Ok(Some(Message { body, descriptors: self.descriptors.drain(..count).collect() }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn frames_come_apart_as_they_were_put_together_however_they_arrive() {
        let (left, right) = UnixStream::pair().unwrap();
        let bytes = [encode(&"one", 0).unwrap(), encode(&"two", 0).unwrap()].concat();
        let mut inbox = Inbox::default();
        for byte in bytes.chunks(3) {
            send(&left, byte, &[]).unwrap();
            assert!(inbox.receive(&right).unwrap());
        }
        let taken: Vec<String> = std::iter::from_fn(|| inbox.take().unwrap()).map(|m| m.body).collect();
        assert_eq!(taken, ["one", "two"]);
    }

    #[test]
    fn descriptors_arrive_with_the_frame_that_they_belong_to() {
        let (left, right) = UnixStream::pair().unwrap();
        let null = File::open("/dev/null").unwrap();
        send_whole(&left, &"none", &[]).unwrap();
        send_whole(&left, &"two", &[null.as_fd(), null.as_fd()]).unwrap();
        send_whole(&left, &"one", &[null.as_fd()]).unwrap();
        drop(left);
        let mut inbox = Inbox::default();
        while inbox.receive(&right).unwrap() {}
        let counts: Vec<usize> =
            std::iter::from_fn(|| inbox.take::<String>().unwrap()).map(|m| m.descriptors.len()).collect();
        assert_eq!(counts, [0, 2, 1]);
    }

    #[test]
    fn a_peer_that_promises_too_much_is_not_listened_to() {
        let (left, right) = UnixStream::pair().unwrap();
        send(&left, &[0xff; 8], &[]).unwrap();
        let mut inbox = Inbox::default();
        inbox.receive(&right).unwrap();
        assert!(inbox.take::<String>().is_err());
    }
}
