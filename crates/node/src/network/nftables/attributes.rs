//! Netlink attributes: length, type, value, padded to four bytes. A value may be attributes again.

const NESTED: u16 = 0x8000;
const HEADER: usize = 4;

/// Attributes that are being written. Numbers are in network order, as nf_tables wants them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    #[must_use]
    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        self.put(kind, value);
        self
    }

    #[must_use]
    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes)
    }

    #[must_use]
    pub(crate) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    #[must_use]
    pub(crate) fn long(self, kind: u16, value: u64) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    #[must_use]
    pub(crate) fn nested(self, kind: u16, inner: Self) -> Self {
        self.bytes(kind | NESTED, &inner.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn put(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(HEADER + value.len()).expect("values are kept below 64 KiB");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

/// The attributes in a value, by type. What is cut off ends the list.
pub(crate) fn children(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !(NESTED | 0x4000), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let inner = Attributes::default().number(1, 7).text(2, "ab");
        let written = Attributes::default().nested(5, inner).bytes(6, &[9]).into_bytes();
        let read: Vec<_> = children(&written).collect();
        assert_eq!((read[0].0, read[1]), (5, (6, &[9u8][..])));
        let inner: Vec<_> = children(read[0].1).collect();
        assert_eq!(inner, [(1, &[0u8, 0, 0, 7][..]), (2, &b"ab\0"[..])]);
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let written = Attributes::default().number(1, 7).into_bytes();
        assert_eq!(children(&written[..6]).count(), 0);
    }
}
