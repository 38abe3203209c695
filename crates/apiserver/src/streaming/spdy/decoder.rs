//! Bytes to frames. Total: whatever arrives is a frame, the wish for more bytes, or an error; memory stays bounded by
//! what the caller buffered. Leaves the meaning of frames to `session`.

use bytes::{Buf, Bytes, BytesMut};

use super::frame::{
    Error, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, GOAWAY, HEADERS, MAX_CONTROL, PING, RST_STREAM, Reset,
    SYN_REPLY, SYN_STREAM, StreamId, VERSION,
};
use super::headers::Reader;

const HEADER: usize = 8;

/// The reading side of one session.
pub struct Decoder {
    headers: Reader,
    state: State,
}

/// Where in the bytes the decoder stands.
enum State {
    BetweenFrames,
    /// Data is handed on as it arrives, in as many frames as it takes, so its length needs no limit.
    InData {
        stream: StreamId,
        fin: bool,
        left: usize,
    },
    /// In a control frame that has no meaning here: settings, window updates, and types that nobody knows.
    Skipping {
        left: usize,
    },
}

/// The first eight bytes of a control frame.
struct Control {
    kind: u16,
    flags: u8,
    length: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { headers: Reader::new(), state: State::BetweenFrames }
    }
}

impl Decoder {
    /// Takes the next frame off `input`, or nothing if it has not arrived whole.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, Error> {
        loop {
            match self.state {
                State::InData { left, .. } | State::Skipping { left } if left > 0 && input.is_empty() => {
                    return Ok(None);
                }
                State::InData { stream, fin, left } => return Ok(Some(self.data(stream, fin, left, input))),
                State::Skipping { left } => self.skip(left, input),
                State::BetweenFrames if input.len() < HEADER => return Ok(None),
                State::BetweenFrames if input[0] & 0x80 == 0 => self.begin_data(input)?,
                State::BetweenFrames => match self.begin_control(input)? {
                    Step::More => return Ok(None),
                    Step::Skip => {}
                    Step::Frame(frame) => return Ok(Some(frame)),
                },
            }
        }
    }

    fn begin_data(&mut self, input: &mut BytesMut) -> Result<(), Error> {
        let stream = StreamId::new(input.get_u32()).ok_or(Error::StreamZero)?;
        let (flags, left) = flags_and_length(input.get_u32());
        self.state = State::InData { stream, fin: flags & FLAG_FIN != 0, left };
        Ok(())
    }

    /// The end of the stream is told with the last bytes only.
    fn data(&mut self, stream: StreamId, fin: bool, left: usize, input: &mut BytesMut) -> Frame {
        let taken = left.min(input.len());
        // A copy, because a slice would keep the whole read buffer alive for as long as somebody holds a byte of it.
        let bytes = Bytes::copy_from_slice(&input[..taken]);
        input.advance(taken);
        let left = left - taken;
        self.state = if left == 0 { State::BetweenFrames } else { State::InData { stream, fin, left } };
        Frame::Data { stream, bytes, fin: fin && left == 0 }
    }

    fn skip(&mut self, left: usize, input: &mut BytesMut) {
        let taken = left.min(input.len());
        input.advance(taken);
        let left = left - taken;
        self.state = if left == 0 { State::BetweenFrames } else { State::Skipping { left } };
    }

    fn begin_control(&mut self, input: &mut BytesMut) -> Result<Step, Error> {
        let control = control(input)?;
        if !matters(control.kind) {
            input.advance(HEADER);
            self.state = State::Skipping { left: control.length };
            return Ok(Step::Skip);
        }
        if control.length > MAX_CONTROL {
            return Err(Error::TooLong(control.length));
        }
        if input.len() < HEADER + control.length {
            return Ok(Step::More);
        }
        let frame = input.split_to(HEADER + control.length);
        self.control(&control, &frame[HEADER..]).map(Step::Frame)
    }

    fn control(&mut self, control: &Control, body: &[u8]) -> Result<Frame, Error> {
        let fin = control.flags & FLAG_FIN != 0;
        let mut body = Body { kind: control.kind, rest: body };
        match control.kind {
            SYN_STREAM => {
                let stream = body.stream()?;
                body.skip(6)?; // The associated stream, the priority and the credential slot.
                let unidirectional = control.flags & FLAG_UNIDIRECTIONAL != 0;
                Ok(Frame::SynStream { stream, headers: self.headers.read(body.rest)?, fin, unidirectional })
            }
            SYN_REPLY => {
                Ok(Frame::SynReply { stream: body.stream()?, headers: self.headers.read(body.rest)?, fin })
            }
            HEADERS => {
                Ok(Frame::Headers { stream: body.stream()?, headers: self.headers.read(body.rest)?, fin })
            }
            _ => fixed(body),
        }
    }
}

enum Step {
    More,
    Skip,
    Frame(Frame),
}

fn matters(kind: u16) -> bool {
    [SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY, HEADERS].contains(&kind)
}

fn control(mut header: &[u8]) -> Result<Control, Error> {
    let version = header.get_u16() & 0x7fff;
    let kind = header.get_u16();
    let (flags, length) = flags_and_length(header.get_u32());
    if version == VERSION { Ok(Control { kind, flags, length }) } else { Err(Error::Version(version)) }
}

fn flags_and_length(word: u32) -> (u8, usize) {
    let [flags, high, middle, low] = word.to_be_bytes();
    (flags, usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low))
}

/// The frames without headers, whose length is known.
fn fixed(mut body: Body<'_>) -> Result<Frame, Error> {
    let kind = body.kind;
    let frame = match kind {
        PING => Frame::Ping { id: body.number()? },
        GOAWAY => Frame::GoAway { last: body.number()?, status: body.number()? },
        _ => {
            let stream = body.stream()?;
            Frame::RstStream { stream, reset: Reset::new(body.number()?).ok_or(Error::Malformed(kind))? }
        }
    };
    if body.rest.is_empty() { Ok(frame) } else { Err(Error::Malformed(kind)) }
}

/// What is left of a control frame.
struct Body<'a> {
    kind: u16,
    rest: &'a [u8],
}

impl Body<'_> {
    fn number(&mut self) -> Result<u32, Error> {
        self.rest.try_get_u32().map_err(|_| Error::Malformed(self.kind))
    }

    fn stream(&mut self) -> Result<StreamId, Error> {
        StreamId::new(self.number()? & 0x7fff_ffff).ok_or(Error::StreamZero)
    }

    fn skip(&mut self, count: usize) -> Result<(), Error> {
        self.rest = self.rest.get(count..).ok_or(Error::Malformed(self.kind))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
