//! Addresses and ranges of addresses in forms that are read but should not be written.

use std::net::IpAddr;

use super::Remarks;
use crate::field::Quoted;
use crate::validation::address::{is_mapped, sloppy_address, sloppy_network, strict_network, unmapped};
use crate::validation::at::At;

pub(super) fn address(place: &At, remarks: &mut Remarks) {
    let text = place.text();
    let Some(read) = sloppy_address(text) else { return };
    let strict = text.parse().ok().filter(|address| !is_mapped(*address));
    let Some(strict) = strict else {
        let better = unmapped(read);
        let text = Quoted(text);
        return remarks.add(place, format!("non-standard IP address {text} is invalid: use \"{better}\""));
    };
    if matches!(strict, IpAddr::V6(_)) && strict.to_string() != text {
        let text = Quoted(text);
        remarks
            .add(place, format!("IPv6 address {text} should be in RFC 5952 canonical format (\"{strict}\")"));
    }
}

pub(super) fn network(place: &At, remarks: &mut Remarks) {
    let Some(read) = sloppy_network(place.text()) else { return };
    let text = Quoted(place.text());
    let plain = read.plain();
    let before = remarks.0.len();
    if !read.is_masked() {
        let single = read.single();
        let remark = format!(
            "CIDR value {text} is ambiguous in this context (should be \"{plain}\" or \"{single}\"?)"
        );
        remarks.add(place, remark);
    }
    let strict = strict_network(place.text()).filter(|network| !network.is_mapped());
    if strict.is_none() {
        remarks.add(place, format!("non-standard CIDR value {text} is invalid: use \"{plain}\""));
    }
    if remarks.0.len() == before && read.is_v6() && plain != place.text() {
        let remark = format!("IPv6 CIDR value {text} should be in RFC 5952 canonical format (\"{plain}\")");
        remarks.add(place, remark);
    }
}
