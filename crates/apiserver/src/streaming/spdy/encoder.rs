//! Frames to bytes.

use bytes::{BufMut, BytesMut};

use super::frame::{
    Error, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, GOAWAY, HEADERS, PING, RST_STREAM, SYN_REPLY, SYN_STREAM,
    StreamId, VERSION,
};
use super::headers::{Headers, Writer};

const MAX_LENGTH: usize = 0xff_ffff;

/// The writing side of one session.
pub struct Encoder {
    headers: Writer,
}

impl Encoder {
    pub fn new() -> Result<Self, Error> {
        Ok(Self { headers: Writer::new()? })
    }

    /// Appends `frame` to `output`. Frames must leave in the order in which they were encoded.
    pub fn encode(&mut self, frame: &Frame, output: &mut BytesMut) -> Result<(), Error> {
        match frame {
            Frame::SynStream { stream, headers, fin, unidirectional } => {
                let one_way = if *unidirectional { FLAG_UNIDIRECTIONAL } else { 0 };
                self.with_headers(SYN_STREAM, fin_flag(*fin) | one_way, *stream, headers, output)
            }
            Frame::SynReply { stream, headers, fin } => {
                self.with_headers(SYN_REPLY, fin_flag(*fin), *stream, headers, output)
            }
            Frame::Headers { stream, headers, fin } => {
                self.with_headers(HEADERS, fin_flag(*fin), *stream, headers, output)
            }
            Frame::RstStream { stream, reset } => {
                numbers(RST_STREAM, &[stream.number(), reset.status()], output)
            }
            Frame::Ping { id } => numbers(PING, &[*id], output),
            Frame::GoAway { last, status } => numbers(GOAWAY, &[*last, *status], output),
            Frame::Data { stream, bytes, fin } => data(*stream, bytes, *fin, output),
        }
    }

    fn with_headers(
        &mut self,
        kind: u16,
        flags: u8,
        stream: StreamId,
        headers: &Headers,
        output: &mut BytesMut,
    ) -> Result<(), Error> {
        let mut body = BytesMut::new();
        body.put_u32(stream.number());
        if kind == SYN_STREAM {
            body.put_bytes(0, 6); // No associated stream, the highest priority, no credential slot.
        }
        self.headers.write(headers, &mut body)?;
        control(kind, flags, body.len(), output)?;
        output.put_slice(&body);
        Ok(())
    }
}

fn fin_flag(fin: bool) -> u8 {
    if fin { FLAG_FIN } else { 0 }
}

fn numbers(kind: u16, numbers: &[u32], output: &mut BytesMut) -> Result<(), Error> {
    control(kind, 0, numbers.len() * 4, output)?;
    for number in numbers {
        output.put_u32(*number);
    }
    Ok(())
}

fn control(kind: u16, flags: u8, length: usize, output: &mut BytesMut) -> Result<(), Error> {
    let word = flags_and_length(flags, length)?;
    output.put_u16(0x8000 | VERSION);
    output.put_u16(kind);
    output.put_u32(word);
    Ok(())
}

fn data(stream: StreamId, bytes: &[u8], fin: bool, output: &mut BytesMut) -> Result<(), Error> {
    let word = flags_and_length(fin_flag(fin), bytes.len())?;
    output.put_u32(stream.number());
    output.put_u32(word);
    output.put_slice(bytes);
    Ok(())
}

fn flags_and_length(flags: u8, length: usize) -> Result<u32, Error> {
    let short = u32::try_from(length).ok().filter(|_| length <= MAX_LENGTH).ok_or(Error::TooLong(length))?;
    Ok(u32::from(flags) << 24 | short)
}
