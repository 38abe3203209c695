//! Files with holes: which parts of them an archive holds. GNU tar has written it in four ways.

use std::io::Read;

use tar::{GnuExtSparseHeader, GnuHeader, GnuSparseHeader};

use super::super::limits::Limits;
use super::number;
use super::pax::Extra;
use super::{Excess, Refusal, UnpackError};

const BLOCK: u64 = 512;

/// The stretches of data in a file, in their order; the rest of its size is holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::images) struct Sparse {
    pub(super) size: u64,
    pub(super) stretches: Vec<(u64, u64)>,
}

impl Sparse {
    /// As the header of old, and the blocks that follow it, say.
    pub(super) fn of_header(
        header: &GnuHeader,
        reader: &mut impl Read,
        limits: &Limits,
    ) -> Result<Self, UnpackError> {
        let size = header.real_size().map_err(|_| Refusal::Holes)?;
        let mut sparse = Self { size, stretches: vec![] };
        sparse.add(&header.sparse)?;
        let mut extended = header.is_extended();
        while extended {
            let mut block = GnuExtSparseHeader::new();
            reader.read_exact(block.as_mut_bytes()).map_err(UnpackError::read)?;
            sparse.add(&block.sparse)?;
            bounded(sparse.stretches.len(), limits)?;
            extended = block.is_extended();
        }
        Ok(sparse)
    }

    fn add(&mut self, headers: &[GnuSparseHeader]) -> Result<(), UnpackError> {
        for header in headers.iter().filter(|header| !header.is_empty()) {
            let stretch = (header.offset().ok(), header.length().ok());
            let (Some(offset), Some(length)) = stretch else { return Err(Refusal::Holes.into()) };
            self.stretches.push((offset, length));
        }
        Ok(())
    }

    /// As the records of an extra header say, if they do: all of it, or that a list precedes the data. Returns the
    /// name they give the file too.
    pub(super) fn of_records(extra: &Extra) -> Result<Option<Recorded>, UnpackError> {
        let last =
            |key: &str| extra.sparse.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        let size = last("realsize").or_else(|| last("size"));
        let Some(size) = size else { return Ok(None) };
        let size = number::natural(size).ok_or(Refusal::Holes)?;
        let name = last("name").cloned();
        let listed_in_data = last("major").is_some_and(|major| major == b"1");
        let stretches = if listed_in_data { vec![] } else { stretches_of(extra)? };
        Ok(Some(Recorded { name, sparse: Self { size, stretches }, listed_in_data }))
    }

    /// The list before the data: a count, then offsets and lengths, each in a line, filled up to a block. Returns how
    /// many bytes it took.
    pub(super) fn read_list(&mut self, reader: &mut impl Read, limits: &Limits) -> Result<u64, UnpackError> {
        let mut lines = Lines { reader, taken: 0 };
        let count = lines.number()?;
        bounded(usize::try_from(count).unwrap_or(usize::MAX), limits)?;
        for _ in 0..count {
            self.stretches.push((lines.number()?, lines.number()?));
        }
        lines.fill_up()
    }

    /// The stretches must follow each other within the file, and be what the archive holds.
    pub(super) fn check(&self, stored: u64) -> Result<(), Refusal> {
        let mut end = 0;
        let mut total = 0u64;
        for (offset, length) in &self.stretches {
            if *offset < end {
                return Err(Refusal::Holes);
            }
            end = offset.checked_add(*length).ok_or(Refusal::Holes)?;
            total += length;
        }
        if end <= self.size && total == stored { Ok(()) } else { Err(Refusal::Holes) }
    }
}

pub(super) struct Recorded {
    pub(super) name: Option<Vec<u8>>,
    pub(super) sparse: Sparse,
    pub(super) listed_in_data: bool,
}

/// In one record with commas, or in many records.
fn stretches_of(extra: &Extra) -> Result<Vec<(u64, u64)>, UnpackError> {
    let values = |key: &str| -> Vec<&[u8]> {
        extra.sparse.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_slice()).collect()
    };
    let numbers: Vec<&[u8]> = match values("map").last().copied() {
        Some(b"") => vec![],
        Some(map) => map.split(|byte| *byte == b',').collect(),
        None if values("offset").len() == values("numbytes").len() => values("offset")
            .into_iter()
            .zip(values("numbytes"))
            .flat_map(|(offset, length)| [offset, length])
            .collect(),
        None => return Err(Refusal::Holes.into()),
    };
    if !numbers.len().is_multiple_of(2) {
        return Err(Refusal::Holes.into());
    }
    let numbers: Option<Vec<u64>> = numbers.into_iter().map(number::natural).collect();
    let numbers = numbers.ok_or(Refusal::Holes)?;
    Ok(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// A stretch takes 24 bytes of header.
fn bounded(count: usize, limits: &Limits) -> Result<(), UnpackError> {
    let bytes = (count as u64).saturating_mul(24);
    if bytes > limits.header_bytes {
        return Err(UnpackError::Excess(Excess::Header(bytes, limits.header_bytes)));
    }
    Ok(())
}

struct Lines<'a, R> {
    reader: &'a mut R,
    taken: u64,
}

impl<R: Read> Lines<'_, R> {
    fn number(&mut self) -> Result<u64, UnpackError> {
        let mut digits = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => return number::natural(&digits).ok_or_else(|| Refusal::Holes.into()),
                digit if digits.len() < 20 => digits.push(digit),
                _ => return Err(Refusal::Holes.into()),
            }
        }
    }

    fn byte(&mut self) -> Result<u8, UnpackError> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte).map_err(UnpackError::read)?;
        self.taken += 1;
        Ok(byte[0])
    }

    fn fill_up(mut self) -> Result<u64, UnpackError> {
        while !self.taken.is_multiple_of(BLOCK) {
            self.byte()?;
        }
        Ok(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(size: u64, stretches: &[(u64, u64)]) -> Sparse {
        Sparse { size, stretches: stretches.to_vec() }
    }

    #[test]
    fn stretches_must_fit_the_file_and_the_data() {
        assert_eq!(sparse(10, &[(0, 2), (5, 5)]).check(7), Ok(()));
        assert_eq!(sparse(10, &[]).check(0), Ok(()));
        for (wrong, stored) in [
            (sparse(10, &[(0, 2), (1, 1)]), 3),
            (sparse(10, &[(9, 2)]), 2),
            (sparse(10, &[(0, 2)]), 3),
            (sparse(10, &[(u64::MAX, 2)]), 2),
        ] {
            assert_eq!(wrong.check(stored), Err(Refusal::Holes), "{wrong:?}");
        }
    }

    #[test]
    fn a_list_before_the_data_fills_its_block() {
        let mut block = b"2\n0\n3\n7\n1\n".to_vec();
        block.resize(512, 0);
        let mut read = sparse(8, &[]);
        assert_eq!(read.read_list(&mut &block[..], &Limits::default()).unwrap(), 512);
        assert_eq!(read.stretches, [(0, 3), (7, 1)]);
    }

    #[test]
    fn a_list_without_end_is_refused_before_it_is_read() {
        let error = sparse(8, &[]).read_list(&mut &b"99999999\n"[..], &Limits::default()).unwrap_err();
        assert!(matches!(error, UnpackError::Excess(Excess::Header(..))), "{error}");
    }

    #[test]
    fn records_of_either_kind_are_read() {
        let extra = |records: &[(&str, &str)]| Extra {
            sparse: records.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            ..Extra::default()
        };
        let many =
            extra(&[("size", "9"), ("offset", "0"), ("numbytes", "2"), ("offset", "5"), ("numbytes", "1")]);
        let one = extra(&[("size", "9"), ("map", "0,2,5,1")]);
        for records in [many, one] {
            let read = Sparse::of_records(&records).unwrap().unwrap().sparse;
            assert_eq!(read, sparse(9, &[(0, 2), (5, 1)]));
        }
        assert!(Sparse::of_records(&extra(&[("size", "9"), ("map", "0,2,5")])).is_err());
        assert!(Sparse::of_records(&extra(&[])).unwrap().is_none());
    }
}
