//! The message that is around every object: what kind it is of, and its own message as bytes.

use super::Malformed;
use super::wire::Reader;

/// What every body begins with.
const PREFIX: &[u8] = b"k8s\0";

#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::decode) struct Envelope<'a> {
    pub api_version: String,
    pub kind: String,
    pub(super) raw: &'a [u8],
}

pub(in crate::decode) fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, Malformed> {
    if bytes.is_empty() {
        return Err(Malformed::Empty);
    }
    let message = bytes.strip_prefix(PREFIX).ok_or(Malformed::Prefix)?;
    if message.is_empty() {
        return Err(Malformed::EmptyBody);
    }
    let mut envelope = Envelope::default();
    let mut reader = Reader::new(message, "Unknown");
    while let Some((number, datum)) = reader.next()? {
        match number {
            1 => type_meta(datum.bytes("TypeMeta")?, &mut envelope)?,
            2 => envelope.raw = datum.bytes("Raw")?,
            // How the object is encoded, which nobody sets.
            3 | 4 => {
                datum.bytes("ContentType")?;
            }
            _ => {}
        }
    }
    Ok(envelope)
}

fn type_meta<'a>(message: &'a [u8], envelope: &mut Envelope<'a>) -> Result<(), Malformed> {
    let mut reader = Reader::new(message, "TypeMeta");
    while let Some((number, datum)) = reader.next()? {
        match number {
            1 => envelope.api_version = datum.text("APIVersion")?,
            2 => envelope.kind = datum.text("Kind")?,
            _ => {}
        }
    }
    Ok(())
}
