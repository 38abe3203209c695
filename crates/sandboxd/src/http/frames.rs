//! The frames of WebSocket (RFC 6455), from the server's side: what a client sent so far becomes messages, and messages become
//! bytes. No extensions. Whatever arrives, no more than one message of the largest size is held.

/// The largest message that a client may send.
const LARGEST: usize = 1024 * 1024;
const LARGEST_CONTROL: usize = 125;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    /// The code, if there was one.
    Close(Option<u16>),
}

/// What a client did wrong, each with the code by which a connection is closed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("a frame is not as RFC 6455 has it")]
    Protocol,
    #[error("a text message is not UTF-8")]
    NotText,
    #[error("a message is larger than {LARGEST} bytes")]
    TooLarge,
}

impl Violation {
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Protocol => 1002,
            Self::NotText => 1007,
            Self::TooLarge => 1009,
        }
    }
}

#[derive(Default)]
pub(crate) struct Decoder {
    held: Vec<u8>,
    /// The kind of a message that has begun, and what came of it.
    begun: Option<(u8, Vec<u8>)>,
}

struct Frame {
    last: bool,
    opcode: u8,
    payload: Vec<u8>,
}

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Decoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next message, if it is all there.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Violation> {
        while let Some(frame) = self.frame()? {
            if let Some(message) = self.message(frame)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn frame(&mut self) -> Result<Option<Frame>, Violation> {
        let [first, second, rest @ ..] = &self.held[..] else { return Ok(None) };
        let (last, reserved, opcode) = (first & 0x80 != 0, first & 0x70, first & 0x0f);
        let is_control = opcode >= CLOSE;
        // Clients mask what they send, so that no proxy takes it for something else.
        if reserved != 0 || second & 0x80 == 0 || (is_control && !last) {
            return Err(Violation::Protocol);
        }
        let Some((length, rest)) = length(second & 0x7f, rest) else { return Ok(None) };
        let before = self.begun.as_ref().filter(|_| !is_control).map_or(0, |(_, begun)| begun.len());
        let length = usize::try_from(length).ok().filter(|length| length.saturating_add(before) <= LARGEST);
        let length = length.ok_or(Violation::TooLarge)?;
        if is_control && length > LARGEST_CONTROL {
            return Err(Violation::Protocol);
        }
        let Some((mask, masked)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let Some(masked) = masked.get(..length) else { return Ok(None) };
        let payload = masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        let used = self.held.len() - rest.len() + 4 + length;
        self.held.drain(..used);
        Ok(Some(Frame { last, opcode, payload }))
    }

    /// What a frame completes.
    fn message(&mut self, frame: Frame) -> Result<Option<Message>, Violation> {
        match (frame.opcode, self.begun.take()) {
            (CLOSE, _) => close(&frame.payload).map(Some),
            (PING, begun) => {
                self.begun = begun;
                Ok(Some(Message::Ping(frame.payload)))
            }
            (PONG, begun) => {
                self.begun = begun;
                Ok(Some(Message::Pong(frame.payload)))
            }
            (CONTINUATION, Some((kind, mut begun))) => {
                begun.extend(frame.payload);
                self.continued(frame.last, kind, begun)
            }
            (kind @ (TEXT | BINARY), None) => self.continued(frame.last, kind, frame.payload),
            _ => Err(Violation::Protocol),
        }
    }

    fn continued(&mut self, last: bool, kind: u8, payload: Vec<u8>) -> Result<Option<Message>, Violation> {
        if !last {
            self.begun = Some((kind, payload));
            return Ok(None);
        }
        if kind == BINARY {
            return Ok(Some(Message::Binary(payload)));
        }
        String::from_utf8(payload).map(|text| Some(Message::Text(text))).map_err(|_| Violation::NotText)
    }
}

fn length(short: u8, rest: &[u8]) -> Option<(u64, &[u8])> {
    match short {
        126 => rest.split_first_chunk().map(|(length, rest)| (u64::from(u16::from_be_bytes(*length)), rest)),
        127 => rest.split_first_chunk().map(|(length, rest)| (u64::from_be_bytes(*length), rest)),
        short => Some((u64::from(short), rest)),
    }
}

fn close(payload: &[u8]) -> Result<Message, Violation> {
    match payload {
        [] => Ok(Message::Close(None)),
        [high, low, ..] => Ok(Message::Close(Some(u16::from_be_bytes([*high, *low])))),
        _ => Err(Violation::Protocol),
    }
}

/// The bytes of a message to a client, which are not masked.
pub(crate) fn encode(message: &Message) -> Vec<u8> {
    match message {
        Message::Text(text) => frame(TEXT, &[text.as_bytes()]),
        Message::Binary(bytes) => frame(BINARY, &[bytes]),
        Message::Ping(bytes) => frame(PING, &[bytes]),
        Message::Pong(bytes) => frame(PONG, &[bytes]),
        Message::Close(None) => frame(CLOSE, &[]),
        Message::Close(Some(code)) => frame(CLOSE, &[&code.to_be_bytes()]),
    }
}

/// A binary message in two parts, without putting them together first.
pub(crate) fn encode_binary(head: &[u8], data: &[u8]) -> Vec<u8> {
    frame(BINARY, &[head, data])
}

fn frame(opcode: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(length + 10);
    bytes.push(0x80 | opcode);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 126 => bytes.push(short),
        (_, Ok(medium)) => {
            bytes.push(126);
            bytes.extend(medium.to_be_bytes());
        }
        _ => {
            bytes.push(127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame as a client sends it.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut plain = frame(first & 0x0f, &[payload]);
        plain[0] = first;
        plain[1] |= 0x80;
        let head = plain.len() - payload.len();
        let mask = [1, 2, 3, 4];
        let covered = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        plain[..head].iter().copied().chain(mask).chain(covered).collect()
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<Message>, Violation> {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        let mut messages = Vec::new();
        while let Some(message) = decoder.next()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn messages_of_a_client_are_read() {
        let bytes = [masked(0x81, b"hi"), masked(0x82, &[0, 255]), masked(0x88, &[3, 232])].concat();
        let expected =
            [Message::Text("hi".to_owned()), Message::Binary(vec![0, 255]), Message::Close(Some(1000))];
        assert_eq!(decoded(&bytes).unwrap(), expected);
    }

    #[test]
    fn a_message_may_come_in_frames_with_pings_between() {
        let bytes = [masked(0x01, b"a"), masked(0x89, b"p"), masked(0x00, b"b"), masked(0x80, b"c")].concat();
        let expected = [Message::Ping(b"p".to_vec()), Message::Text("abc".to_owned())];
        assert_eq!(decoded(&bytes).unwrap(), expected);
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let unmasked = frame(BINARY, &[b"x"]);
        for bytes in [
            unmasked,
            masked(0xc2, b"reserved"),
            masked(0x09, b"ping in parts"),
            masked(0x89, &[0; 126]),
            masked(0x80, b"nothing to continue"),
            masked(0x83, b"no such kind"),
            [masked(0x01, b"a"), masked(0x81, b"b")].concat(),
        ] {
            assert_eq!(decoded(&bytes), Err(Violation::Protocol), "{bytes:?}");
        }
        assert_eq!(decoded(&masked(0x81, &[0xff])), Err(Violation::NotText));
    }

    #[test]
    fn a_large_message_is_refused_by_its_head() {
        let announced = [&[0x82, 0xff][..], &(LARGEST as u64 + 1).to_be_bytes()].concat();
        assert_eq!(decoded(&announced), Err(Violation::TooLarge));
        let half = vec![0; LARGEST / 2 + 1];
        assert_eq!(decoded(&[masked(0x02, &half), masked(0x80, &half)].concat()), Err(Violation::TooLarge));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn no_more_than_the_largest_message_is_held(
            frames in proptest::collection::vec((prop_oneof![Just(0x00), Just(0x02), Just(0x82), any::<u8>()], 0..LARGEST / 2), 1..8),
        ) {
            let mut decoder = Decoder::default();
            for piece in frames.iter().flat_map(|(first, size)| masked(*first, &vec![7; *size])).collect::<Vec<_>>().chunks(4096) {
                decoder.push(piece);
                while let Ok(Some(_)) = decoder.next() {}
                // A frame that is refused is not read on.
                if decoder.next().is_err() {
                    break;
                }
                let begun = decoder.begun.as_ref().map_or(0, |(_, begun)| begun.len());
                prop_assert!(decoder.held.len() + begun <= LARGEST + LARGEST_CONTROL + 14);
            }
        }
    }

    proptest! {
        #[test]
        fn lengths_of_all_sizes_are_written_and_read(size in prop_oneof![0_usize..300, 65_500_usize..65_600]) {
            let payload = vec![7; size];
            prop_assert_eq!(decoded(&masked(0x82, &payload)).unwrap(), [Message::Binary(payload.clone())]);
            let sent = encode(&Message::Binary(payload));
            prop_assert_eq!(sent.len(), size + if size < 126 { 2 } else if size < 65_536 { 4 } else { 10 });
        }

        #[test]
        fn it_does_not_matter_how_bytes_are_cut(cut in 0_usize..40, text in "[a-z]{0,20}") {
            let bytes = [masked(0x81, text.as_bytes()), masked(0x8a, b"")].concat();
            let mut decoder = Decoder::default();
            let mut messages = Vec::new();
            for piece in [&bytes[..cut.min(bytes.len())], &bytes[cut.min(bytes.len())..]] {
                decoder.push(piece);
                while let Some(message) = decoder.next().unwrap() {
                    messages.push(message);
                }
            }
            prop_assert_eq!(messages, [Message::Text(text), Message::Pong(Vec::new())]);
        }

        #[test]
        fn what_a_client_said_last_comes_back(kind in 0_usize..3, bytes in proptest::collection::vec(any::<u8>(), 0..125)) {
            let message = [Message::Binary, Message::Ping, Message::Pong][kind](bytes.clone());
            let plain = encode(&message);
            prop_assert_eq!(decoded(&masked(plain[0], &bytes)).unwrap(), [message]);
        }

        #[test]
        fn nothing_breaks_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&bytes);
        }
    }
}
