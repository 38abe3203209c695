//! The expressions of which rules are made. Each loads, compares or decides; registers carry values between them.
//!
//! Numbers are those of `linux/netfilter/nf_tables.h`.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::attributes::Attributes;

/// Registers of four bytes; verdicts have one of their own.
pub(super) const FIRST: u32 = 8;
const VERDICT: u32 = 0;

const LIST_ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;

/// What `meta` knows of a packet.
#[derive(Clone, Copy)]
pub(super) enum Meta {
    InInterface,
    OutInterface,
    Family,
    Protocol,
}

/// Where a value is in a packet.
#[derive(Clone, Copy)]
pub(super) enum Payload {
    Source,
    Destination,
    DestinationPort,
}

#[derive(Clone, Copy)]
pub(super) enum Verdict<'a> {
    Accept,
    Drop,
    Jump(&'a str),
    Goto(&'a str),
}

/// A rule's expressions, in order.
#[derive(Default)]
pub(super) struct Expressions(Attributes);

impl Expressions {
    pub(super) fn into_attributes(self) -> Attributes {
        self.0
    }

    pub(super) fn meta(&mut self, what: Meta, register: u32) {
        let key = match what {
            Meta::InInterface => 6,
            Meta::OutInterface => 7,
            Meta::Family => 15,
            Meta::Protocol => 16,
        };
        self.push("meta", Attributes::default().number(1, register).number(2, key));
    }

    pub(super) fn payload(&mut self, what: Payload, register: u32) {
        const NETWORK: u32 = 1;
        const TRANSPORT: u32 = 2;
        let (base, offset, length) = match what {
            Payload::Source => (NETWORK, 12, 4),
            Payload::Destination => (NETWORK, 16, 4),
            Payload::DestinationPort => (TRANSPORT, 2, 2),
        };
        let data = Attributes::default().number(1, register).number(2, base).number(3, offset);
        self.push("payload", data.number(4, length));
    }

    pub(super) fn compare(&mut self, register: u32, is_equal: bool, value: &[u8]) {
        let operation = u32::from(!is_equal);
        let compared = Attributes::default().number(1, register).number(2, operation);
        self.push("cmp", compared.nested(3, data(value)));
    }

    pub(super) fn between(&mut self, register: u32, first: &[u8], last: &[u8]) {
        let start = Attributes::default().number(1, register).number(2, 0);
        self.push("range", start.nested(3, data(first)).nested(4, data(last)));
    }

    pub(super) fn mask(&mut self, register: u32, mask: [u8; 4]) {
        let registers = Attributes::default().number(1, register).number(2, register).number(3, 4);
        self.push("bitwise", registers.nested(4, data(&mask)).nested(5, data(&[0; 4])));
    }

    /// The state of the packet's connection, as one bit of a word in the machine's order.
    pub(super) fn connection_state(&mut self, register: u32) {
        self.push("ct", Attributes::default().number(1, register).number(2, 0));
    }

    /// Goes on if the registers' value is in the set; with a map of verdicts, goes where it says.
    pub(super) fn lookup(&mut self, set: &str, register: u32, is_verdict: bool) {
        let mut data = Attributes::default().text(1, set).number(2, register);
        if is_verdict {
            data = data.number(3, VERDICT);
        }
        self.push("lookup", data);
    }

    pub(super) fn random(&mut self, register: u32, below: u32) {
        let data = Attributes::default().number(1, register).number(2, below).number(3, 1);
        self.push("numgen", data.number(4, 0));
    }

    /// Takes the register's value into a set, or starts its time anew.
    pub(super) fn remember(&mut self, set: &str, register: u32, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let data = Attributes::default().text(1, set).number(3, 1).number(4, register);
        self.push("dynset", data.long(6, milliseconds));
    }

    pub(super) fn verdict(&mut self, verdict: Verdict<'_>) {
        let data = Attributes::default().number(1, VERDICT).nested(2, verdict_data(verdict));
        self.push("immediate", data);
    }

    pub(super) fn load(&mut self, register: u32, value: &[u8]) {
        self.push("immediate", Attributes::default().number(1, register).nested(2, data(value)));
    }

    pub(super) fn redirect(&mut self, address: Ipv4Addr, port: u16) {
        const DESTINATION: u32 = 1;
        const IPV4: u32 = 2;
        self.load(FIRST, &address.octets());
        self.load(FIRST + 1, &port.to_be_bytes());
        let data = Attributes::default().number(1, DESTINATION).number(2, IPV4);
        self.push("nat", data.number(3, FIRST).number(5, FIRST + 1));
    }

    pub(super) fn masquerade(&mut self) {
        self.push("masq", Attributes::default());
    }

    /// An ICMP message of the packet's own family.
    pub(super) fn reject(&mut self, code: u8) {
        const EITHER_FAMILY: u32 = 2;
        self.push("reject", Attributes::default().number(1, EITHER_FAMILY).bytes(2, &[code]));
    }

    fn push(&mut self, name: &str, data: Attributes) {
        let expression = Attributes::default().text(EXPRESSION_NAME, name).nested(EXPRESSION_DATA, data);
        self.0 = std::mem::take(&mut self.0).nested(LIST_ELEMENT, expression);
    }
}

pub(super) fn data(value: &[u8]) -> Attributes {
    Attributes::default().bytes(DATA_VALUE, value)
}

pub(super) fn verdict_data(verdict: Verdict<'_>) -> Attributes {
    let (code, chain) = match verdict {
        Verdict::Accept => (1i32, None),
        Verdict::Drop => (0, None),
        Verdict::Jump(chain) => (-3, Some(chain)),
        Verdict::Goto(chain) => (-4, Some(chain)),
    };
    let mut data = Attributes::default().number(1, code.cast_unsigned());
    if let Some(chain) = chain {
        data = data.text(2, chain);
    }
    Attributes::default().nested(DATA_VERDICT, data)
}
