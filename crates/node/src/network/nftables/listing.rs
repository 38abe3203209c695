//! What the kernel says is in our table.

use std::collections::BTreeSet;

use super::super::netlink::{Message, Netlink, NetlinkError};
use super::attributes::{Attributes, children};
use super::transaction::{FAMILY, header};

const SUBSYSTEM: u16 = 10;
const GET_SET: u16 = 10;
const GET_ELEMENTS: u16 = 13;

/// An element of a set that says whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub set: String,
    pub remark: String,
    /// As the kernel writes it.
    pub(super) key: Vec<u8>,
}

/// Nothing if there is no such table.
pub(super) fn list(netlink: &mut Netlink, table: &str) -> Result<Vec<Listed>, NetlinkError> {
    let mut listed = Vec::new();
    for set in sets(netlink, table)? {
        let request = request(GET_ELEMENTS, Attributes::default().text(1, table).text(2, &set));
        let answers = match netlink.dump(&request) {
            Err(error) if error.is(rustix::io::Errno::NOENT) => continue,
            answers => answers?,
        };
        let owned = answers.iter().flat_map(|answer| owned(answer.payload.get(4..).unwrap_or_default()));
        listed.extend(owned.map(|(key, remark)| Listed { set: set.clone(), remark, key }));
    }
    Ok(listed)
}

fn sets(netlink: &mut Netlink, table: &str) -> Result<BTreeSet<String>, NetlinkError> {
    let answers = match netlink.dump(&request(GET_SET, Attributes::default().text(1, table))) {
        Err(error) if error.is(rustix::io::Errno::NOENT) => return Ok(BTreeSet::new()),
        answers => answers?,
    };
    let names = answers.iter().filter_map(|answer| {
        let attributes = answer.payload.get(4..)?;
        (text(attributes, 1)? == table).then_some(text(attributes, 2)?)
    });
    Ok(names.collect())
}

fn request(kind: u16, attributes: Attributes) -> Message {
    let payload = [header(FAMILY, 0), attributes.into_bytes()].concat();
    Message { kind: SUBSYSTEM << 8 | kind, flags: 0, payload }
}

/// Elements with a remark, and their keys.
fn owned(attributes: &[u8]) -> Vec<(Vec<u8>, String)> {
    let lists = children(attributes).filter(|(kind, _)| *kind == 3);
    let elements = lists.flat_map(|(_, list)| children(list));
    let of = |element, wanted| children(element).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let owned = elements.filter_map(|(_, element)| {
        let remark = until_zero(of(element, 6)?.get(2..)?);
        Some((of(element, 1)?.to_vec(), remark))
    });
    owned.collect()
}

fn text(attributes: &[u8], kind: u16) -> Option<String> {
    children(attributes).find(|(found, _)| *found == kind).map(|(_, value)| until_zero(value))
}

fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
