//! The wire format of protobuf: numbered values one after another. Every length is checked against what is there before
//! anything is taken, and nothing is copied.

use super::Malformed;

pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// The message that is read, for errors.
    name: &'static str,
}

/// One value as it is on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Datum<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], name: &'static str) -> Self {
        Self { rest: bytes, name }
    }

    /// The next value and its number; groups, which Kubernetes never writes, are stepped over.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Datum<'a>)>, Malformed> {
        while !self.rest.is_empty() {
            let (number, wire) = self.tag()?;
            match wire {
                3 => self.group()?,
                4 => return Err(Malformed::EndGroup { name: self.name }),
                wire => return Ok(Some((number, self.datum(wire)?))),
            }
        }
        Ok(None)
    }

    /// The next of several scalars without numbers.
    pub(super) fn packed(&mut self, is_float: bool) -> Result<Option<Datum<'a>>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.datum(u8::from(is_float)).map(Some)
    }

    fn tag(&mut self) -> Result<(u32, u8), Malformed> {
        let tag = self.varint()?;
        let wire = u8::try_from(tag & 7).unwrap_or_default();
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        number.map(|number| (number, wire)).ok_or(Malformed::Tag { name: self.name, number: tag >> 3, wire })
    }

    fn datum(&mut self, wire: u8) -> Result<Datum<'a>, Malformed> {
        Ok(match wire {
            0 => Datum::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?.try_into().unwrap_or_default();
                Datum::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                Datum::Bytes(self.take(usize::try_from(length).map_err(|_| Malformed::Truncated)?)?)
            }
            5 => {
                self.take(4)?;
                Datum::Fixed32
            }
            other => return Err(Malformed::Wire(other)),
        })
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::Overflow)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// To the end of a group that is open, however many are inside.
    fn group(&mut self) -> Result<(), Malformed> {
        let mut open = 1_usize;
        while open > 0 {
            match self.tag()?.1 {
                3 => open += 1,
                4 => open -= 1,
                wire => {
                    self.datum(wire)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> Datum<'a> {
    pub(super) fn bytes(&self, field: &'static str) -> Result<&'a [u8], Malformed> {
        match self {
            Datum::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong(field)),
        }
    }

    /// Go does not check that text is Unicode; JSON mends it when it is written.
    pub(super) fn text(&self, field: &'static str) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(self.bytes(field)?).into_owned())
    }

    pub(super) fn integer(&self, field: &'static str) -> Result<u64, Malformed> {
        match self {
            Datum::Varint(value) => Ok(*value),
            other => Err(other.wrong(field)),
        }
    }

    pub(super) fn float(&self, field: &'static str) -> Result<f64, Malformed> {
        match self {
            Datum::Fixed64(bits) => Ok(f64::from_bits(*bits)),
            other => Err(other.wrong(field)),
        }
    }

    fn wrong(&self, field: &'static str) -> Malformed {
        let wire = match self {
            Datum::Varint(_) => 0,
            Datum::Fixed64(_) => 1,
            Datum::Bytes(_) => 2,
            Datum::Fixed32 => 5,
        };
        Malformed::WrongWire { field, wire }
    }
}
