//! Undoes the compression that the first bytes show: gzip, zstd or none. Media types lie, first bytes do not.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Frames of zstd that hold nothing, with any last half byte first.
const SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];
const BUFFER: usize = 64 << 10;

/// Reads the plain content. Its memory does not depend on the content: zstd's window is at most 128 MiB.
pub enum Decoder<R: Read> {
    Plain(BufReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<Frames<BufReader<R>>>),
}

/// One zstd frame after another, as tools that split layers write them.
pub struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: Read> Decoder<R> {
    pub fn new(reader: R) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(BUFFER, reader);
        let start = first_bytes(&mut reader)?;
        Ok(if start.starts_with(&GZIP) {
            Self::Gzip(Box::new(MultiGzDecoder::new(reader)))
        } else if start == ZSTD || (start[0] & 0xf0 == 0x50 && start[1..] == SKIPPED) {
            Self::Zstd(Box::new(Frames { source: reader, decoder: FrameDecoder::new(), within: false }))
        } else {
            Self::Plain(reader)
        })
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

/// A pipe may give less than four bytes at first; then they are taken as they come, which suits an empty layer.
fn first_bytes(reader: &mut impl BufRead) -> io::Result<[u8; 4]> {
    let seen = reader.fill_buf()?;
    let mut start = [0; 4];
    let count = seen.len().min(4);
    start[..count].copy_from_slice(&seen[..count]);
    Ok(start)
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
        }
    }
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame; false at the end of all.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within {
                self.within = self.begin()?;
                if !self.within {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(broken)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.within = false;
        }
    }
}

fn broken(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        compress_to_vec(plain, CompressionLevel::Fastest)
    }

    fn decoded(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Decoder::new(bytes)?.read_to_end(&mut plain).map(|_| plain)
    }

    #[test]
    fn every_compression_is_known_by_its_first_bytes() {
        let plain = b"some text ".repeat(100_000);
        for packed in [plain.clone(), gzip(&plain), zstd(&plain)] {
            assert_eq!(decoded(&packed).unwrap(), plain);
        }
        assert_eq!(decoded(b"").unwrap(), b"");
    }

    #[test]
    fn parts_one_after_another_are_one() {
        assert_eq!(decoded(&[gzip(b"a"), gzip(b"b")].concat()).unwrap(), b"ab");
        let skipped = [&[0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
        let frames = [skipped.clone(), zstd(b"a"), skipped.clone(), zstd(b""), zstd(b"b"), skipped];
        assert_eq!(decoded(&frames.concat()).unwrap(), b"ab");
    }

    #[test]
    fn what_ends_too_soon_is_an_error() {
        let plain = b"some text ".repeat(1000);
        for packed in [gzip(&plain), zstd(&plain)] {
            assert!(decoded(&packed[..packed.len() / 2]).is_err());
        }
        assert!(decoded(&[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]).is_err());
    }

    #[test]
    fn a_window_larger_than_memory_is_refused() {
        let giant = [&ZSTD[..], &[0x00, 0xf8], &[0; 16]].concat();
        let error = decoded(&giant).unwrap_err().to_string();
        assert!(error.to_lowercase().contains("window"), "{error}");
    }
}
