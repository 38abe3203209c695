//! SPDY/3.1 as Kubernetes' clients speak it: they open streams, each side writes and half-closes them, and nobody
//! uses priorities, settings, pushed streams or flow control. Knows nothing of what the streams carry.

mod decoder;
mod dictionary;
mod encoder;
mod frame;
mod headers;
mod session;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use frame::{Error, Frame, Reset, StreamId};
pub use headers::Headers;
pub(super) use session::{Offer, Session};

/// A stream that a client opened.
pub(super) type Stream = super::multiplex::Stream<StreamId>;
