//! Notices a layer that unpacks to more than it may: too many bytes, or far too many for what it was packed in.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use super::super::limits::Limits;
use super::{Decoder, UnpackError};

/// A bomb.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    #[error("the layer unpacks to more than {0} bytes")]
    Bytes(u64),
    #[error("the layer unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("the layer has more than {0} entries")]
    Entries(u64),
    #[error("the layer has a header of {0} bytes, and no more than {1} are allowed")]
    Header(u64, u64),
}

pub(super) struct Meter<'a, R: Read> {
    plain: Decoder<Counted<R>>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    limits: &'a Limits,
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

impl<'a, R: Read> Meter<'a, R> {
    pub(super) fn open(inner: R, limits: &'a Limits) -> Result<Self, UnpackError> {
        let packed = Rc::new(Cell::new(0));
        let counted = Counted { inner, count: Rc::clone(&packed) };
        let plain = Decoder::new(counted).map_err(UnpackError::Read)?;
        Ok(Self { plain, packed, unpacked: 0, limits })
    }

    fn excess(&self) -> Option<Excess> {
        let Limits { layer_bytes, ratio, ratio_from, .. } = *self.limits;
        if self.unpacked > layer_bytes {
            return Some(Excess::Bytes(layer_bytes));
        }
        let disproportionate = self.unpacked > self.packed.get().saturating_mul(ratio);
        (self.unpacked > ratio_from && disproportionate).then_some(Excess::Ratio(ratio))
    }
}

impl<R: Read> Read for Meter<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.plain.read(buffer)?;
        self.unpacked += count as u64;
        self.excess().map_or(Ok(count), |excess| Err(io::Error::other(excess)))
    }
}
