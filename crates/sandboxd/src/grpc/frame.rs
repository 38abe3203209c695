//! Messages on the wire of gRPC: a flag for compression, which is not served, four bytes of length, and the message.

use std::time::Duration;

use prost::Message;

use crate::failure::{Code, Failure};

const HEAD: usize = 5;

pub(super) fn encode(message: &impl Message) -> Vec<u8> {
    let length = message.encoded_len();
    let mut bytes = Vec::with_capacity(HEAD + length);
    bytes.push(0);
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    message.encode(&mut bytes).expect("a vector has room");
    bytes
}

/// Takes what arrives apart.
pub(super) struct Decoder {
    held: Vec<u8>,
    largest: u64,
}

impl Decoder {
    pub(super) fn new(largest: u64) -> Self {
        Self { held: Vec::new(), largest }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next message, once it is all there.
    pub(super) fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Failure> {
        let Some(([flag, length @ ..], rest)) = self.held.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length);
        if *flag != 0 {
            return Err(Failure::new(Code::Unimplemented, "messages are not taken compressed"));
        }
        if u64::from(length) > self.largest {
            let message = format!("the message is larger than {} bytes", self.largest);
            return Err(Failure::new(Code::ResourceExhausted, message));
        }
        let Some(body) = rest.get(..length as usize) else { return Ok(None) };
        let message = M::decode(body).map_err(|error| Failure::invalid(format!("the message: {error}")))?;
        self.held.drain(..HEAD + length as usize);
        Ok(Some(message))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// How long a client will wait: up to eight digits and a unit.
pub(super) fn timeout(header: &str) -> Option<Duration> {
    let at = header.len().checked_sub(1)?;
    let (digits, unit) = header.split_at_checked(at)?;
    let plain = !digits.is_empty() && digits.len() <= 8 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let amount: u64 = digits.parse().ok().filter(|_| plain)?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// Text for a header: what is not plain ASCII is encoded.
pub(super) fn percent(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b' '..=b'$' | b'&'..=b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::grpc::{ExecuteRequest, ProcessConfig, StdinPayload, WriteStdinRequest};

    fn request(command: Vec<String>) -> ExecuteRequest {
        ExecuteRequest { config: Some(ProcessConfig { command, ..ProcessConfig::default() }) }
    }

    #[test]
    fn messages_are_as_protobuf_has_them() {
        let eof = WriteStdinRequest { process_id: 1, payload: Some(StdinPayload::Eof(())) };
        assert_eq!(encode(&eof), [0, 0, 0, 0, 4, 8, 1, 26, 0]);
        assert_eq!(encode(&request(vec!["ls".to_owned()])), [0, 0, 0, 0, 6, 10, 4, 10, 2, b'l', b's']);
    }

    #[test]
    fn compressed_and_large_messages_are_refused() {
        let refused = |bytes: &[u8]| {
            let mut decoder = Decoder::new(10);
            decoder.push(bytes);
            decoder.next::<ExecuteRequest>().unwrap_err().code
        };
        assert_eq!(refused(&[1, 0, 0, 0, 0]), Code::Unimplemented);
        assert_eq!(refused(&[0, 0, 0, 0, 11]), Code::ResourceExhausted);
        assert_eq!(refused(&[0, 0, 0, 0, 1, 0xff]), Code::InvalidArgument);
    }

    #[test]
    fn timeouts_have_units() {
        assert_eq!(timeout("5S"), Some(Duration::from_secs(5)));
        assert_eq!(timeout("100m"), Some(Duration::from_millis(100)));
        assert_eq!(timeout("99999999H"), Some(Duration::from_hours(99_999_999)));
        for bad in ["", "S", "5", "123456789S", "-1S", "5x", "5ü"] {
            assert_eq!(timeout(bad), None, "{bad}");
        }
    }

    #[test]
    fn text_for_headers_is_plain() {
        assert_eq!(percent("50% of ü\n"), "50%25 of %C3%BC%0A");
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_messages_are_cut(words in proptest::collection::vec(".*", 0..5), cut in 0_usize..50) {
            let message = request(words);
            let bytes = [encode(&message), encode(&message)].concat();
            let mut decoder = Decoder::new(10_000);
            let mut found = Vec::new();
            for piece in [&bytes[..cut.min(bytes.len())], &bytes[cut.min(bytes.len())..]] {
                decoder.push(piece);
                while let Some(message) = decoder.next::<ExecuteRequest>().unwrap() {
                    found.push(message);
                }
            }
            prop_assert_eq!(found, vec![message.clone(), message]);
            prop_assert!(decoder.is_empty());
        }

        #[test]
        fn nothing_breaks_it(bytes in proptest::collection::vec(any::<u8>(), 0..100), header in ".*") {
            let mut decoder = Decoder::new(1000);
            decoder.push(&bytes);
            let _ = decoder.next::<WriteStdinRequest>();
            let _ = timeout(&header);
        }
    }
}
