//! The frames that matter here, and what can be wrong with what a peer sends. How they look on the wire is the
//! business of `decoder` and `encoder`.

use bytes::Bytes;

use super::headers::Headers;

/// The control frame version of SPDY/3.1.
pub(super) const VERSION: u16 = 3;

/// A control frame of Kubernetes' clients is a few hundred bytes; a longer one is an attack or a mistake.
pub(super) const MAX_CONTROL: usize = 64 * 1024;

pub(super) const SYN_STREAM: u16 = 1;
pub(super) const SYN_REPLY: u16 = 2;
pub(super) const RST_STREAM: u16 = 3;
pub(super) const PING: u16 = 6;
pub(super) const GOAWAY: u16 = 7;
pub(super) const HEADERS: u16 = 8;

pub(super) const FLAG_FIN: u8 = 1;
pub(super) const FLAG_UNIDIRECTIONAL: u8 = 2;

/// The number of a stream: 31 bits, never zero; odd for those that the client opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// Nothing for zero and for what does not fit into 31 bits.
    pub fn new(number: u32) -> Option<Self> {
        (number != 0 && number >> 31 == 0).then_some(Self(number))
    }

    pub fn number(self) -> u32 {
        self.0
    }

    pub fn is_from_client(self) -> bool {
        self.0 % 2 == 1
    }
}

/// Why a stream is ended at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset(u32);

impl Reset {
    pub const PROTOCOL_ERROR: Self = Self(1);
    pub const REFUSED: Self = Self(3);
    pub const CANCEL: Self = Self(5);
    pub const FLOW_CONTROL: Self = Self(7);

    /// Nothing for zero, which no reason has.
    pub fn new(status: u32) -> Option<Self> {
        (status != 0).then_some(Self(status))
    }

    pub fn status(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    SynStream { stream: StreamId, headers: Headers, fin: bool, unidirectional: bool },
    SynReply { stream: StreamId, headers: Headers, fin: bool },
    RstStream { stream: StreamId, reset: Reset },
    Ping { id: u32 },
    GoAway { last: u32, status: u32 },
    Headers { stream: StreamId, headers: Headers, fin: bool },
    Data { stream: StreamId, bytes: Bytes, fin: bool },
}

/// Any of these leaves the two sides disagreeing about where frames begin or what headers were said, so it ends the
/// session.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("control frame of version {0}, not {VERSION}")]
    Version(u16),
    #[error("control frame of {0} bytes, more than {MAX_CONTROL}")]
    TooLong(usize),
    #[error("frame of type {0} with too few or too many bytes")]
    Malformed(u16),
    #[error("frame for stream zero")]
    StreamZero,
    #[error("decompressing headers")]
    Decompress,
    #[error("compressing headers")]
    Compress,
    #[error("headers that take more than {0} bytes")]
    HeadersTooLong(usize),
    #[error("more than {0} headers")]
    TooManyHeaders(usize),
    #[error("header block that ends in the middle, or goes on after its end")]
    HeaderBlock,
    #[error("header that is not text")]
    HeaderText,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_number_is_31_bits_and_not_zero() {
        assert_eq!(StreamId::new(0), None);
        assert_eq!(StreamId::new(1 << 31), None);
        assert_eq!(StreamId::new((1 << 31) - 1).map(StreamId::number), Some((1 << 31) - 1));
    }
}
