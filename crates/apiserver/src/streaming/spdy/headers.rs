//! Names and values that open a stream: as a list, as a block of bytes, and compressed. One compression context
//! serves a direction for the life of a session, so a block can be read only after all blocks before it.

use bytes::{Buf, BufMut, BytesMut};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::dictionary::DICTIONARY;
use super::frame::Error;

/// What a decompressed block may take, however small it arrived.
const MAX_BLOCK: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// Names are in lower case. Kubernetes gives no name two values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The value of `name`, which is given in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn parse(mut block: &[u8]) -> Result<Self, Error> {
        let count = number(&mut block)?;
        if count > MAX_HEADERS {
            return Err(Error::TooManyHeaders(MAX_HEADERS));
        }
        let read = |_| Ok((text(&mut block)?.to_ascii_lowercase(), text(&mut block)?));
        let headers = (0..count).map(read).collect::<Result<_, _>>()?;
        if block.is_empty() { Ok(Self(headers)) } else { Err(Error::HeaderBlock) }
    }

    fn block(&self) -> Result<Vec<u8>, Error> {
        let mut block = Vec::new();
        block.put_u32(length(self.0.len())?);
        for word in self.0.iter().flat_map(|(name, value)| [name, value]) {
            block.put_u32(length(word.len())?);
            block.put_slice(word.as_bytes());
        }
        Ok(block)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let lower = |(name, value): (N, V)| (name.into().to_ascii_lowercase(), value.into());
        Self(headers.into_iter().map(lower).collect())
    }
}

fn number(block: &mut &[u8]) -> Result<usize, Error> {
    let number = block.try_get_u32().map_err(|_| Error::HeaderBlock)?;
    usize::try_from(number).map_err(|_| Error::HeaderBlock)
}

fn text(block: &mut &[u8]) -> Result<String, Error> {
    let length = number(block)?;
    let (word, rest) = block.split_at_checked(length).ok_or(Error::HeaderBlock)?;
    *block = rest;
    std::str::from_utf8(word).map(str::to_owned).map_err(|_| Error::HeaderText)
}

fn length(length: usize) -> Result<u32, Error> {
    u32::try_from(length).map_err(|_| Error::HeadersTooLong(MAX_BLOCK))
}

/// Reads the blocks of one direction.
pub(super) struct Reader(Decompress);

impl Reader {
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    pub(super) fn read(&mut self, compressed: &[u8]) -> Result<Headers, Error> {
        Headers::parse(&self.inflate(compressed)?)
    }

    fn inflate(&mut self, mut input: &[u8]) -> Result<Vec<u8>, Error> {
        let mut block = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let (consumed, produced) = self.step(&mut input, &mut chunk)?;
            block.extend_from_slice(&chunk[..produced]);
            if block.len() > MAX_BLOCK {
                return Err(Error::HeadersTooLong(MAX_BLOCK));
            }
            if input.is_empty() && produced < chunk.len() {
                return Ok(block);
            }
            if consumed == 0 && produced == 0 {
                return Err(Error::Decompress);
            }
        }
    }

    /// How much was consumed and produced. The first block asks for the dictionary after its first bytes.
    fn step(&mut self, input: &mut &[u8], output: &mut [u8]) -> Result<(usize, usize), Error> {
        let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
        let result = self.0.decompress(input, output, FlushDecompress::Sync);
        let consumed = difference(before_in, self.0.total_in());
        *input = input.get(consumed..).ok_or(Error::Decompress)?;
        match result {
            Ok(Status::StreamEnd) => return Err(Error::Decompress),
            Ok(_) => {}
            Err(error) if error.needs_dictionary().is_some() => {
                self.0.set_dictionary(&DICTIONARY).map_err(|_| Error::Decompress)?;
            }
            Err(_) => return Err(Error::Decompress),
        }
        Ok((consumed, difference(before_out, self.0.total_out())))
    }
}

/// Writes the blocks of one direction.
pub(super) struct Writer(Compress);

impl Writer {
    pub(super) fn new() -> Result<Self, Error> {
        let mut deflate = Compress::new(Compression::fast(), true);
        deflate.set_dictionary(&DICTIONARY).map_err(|_| Error::Compress)?;
        Ok(Self(deflate))
    }

    pub(super) fn write(&mut self, headers: &Headers, output: &mut BytesMut) -> Result<(), Error> {
        let block = headers.block()?;
        let mut input = block.as_slice();
        let mut chunk = [0; 4096];
        loop {
            let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
            self.0.compress(input, &mut chunk, FlushCompress::Sync).map_err(|_| Error::Compress)?;
            input = &input[difference(before_in, self.0.total_in())..];
            let produced = difference(before_out, self.0.total_out());
            output.extend_from_slice(&chunk[..produced]);
            if input.is_empty() && produced < chunk.len() {
                return Ok(());
            }
        }
    }
}

fn difference(before: u64, after: u64) -> usize {
    usize::try_from(after - before).expect("one step moves no more than a buffer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(headers: &Headers) -> BytesMut {
        let mut output = BytesMut::new();
        Writer::new().unwrap().write(headers, &mut output).unwrap();
        output
    }

    #[test]
    fn names_are_read_in_lower_case() {
        let headers = Headers::from_iter([("streamType", "data")]);
        assert_eq!(headers.get("streamtype"), Some("data"));
        assert_eq!(Reader::new().read(&compressed(&headers)).unwrap(), headers);
    }

    #[test]
    fn a_small_block_that_unpacks_to_a_large_one_is_refused() {
        let bomb = compressed(&Headers::from_iter([("a", "0".repeat(1 << 20))]));
        assert!(bomb.len() < 64 * 1024, "{}", bomb.len());
        assert_eq!(Reader::new().read(&bomb), Err(Error::HeadersTooLong(MAX_BLOCK)));
    }

    #[test]
    fn a_count_that_promises_more_than_there_is_costs_nothing() {
        assert_eq!(Headers::parse(&u32::MAX.to_be_bytes()), Err(Error::TooManyHeaders(MAX_HEADERS)));
        assert_eq!(Headers::parse(&[0, 0, 0, 1, 255, 255, 255, 255]), Err(Error::HeaderBlock));
        assert_eq!(Headers::parse(&[0, 0, 0, 0, 7]), Err(Error::HeaderBlock));
    }
}
