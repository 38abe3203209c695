//! Whatever a request says, it means a Sandbox by its name and a port, or nothing; and what names a Sandbox is read back as that one.

use std::net::IpAddr;

use proptest::prelude::*;

use super::wanted::is_special;
use super::{Asked, Field, Named, Wanted};
use crate::object::Key;

const DOMAIN: &str = "boxes.test";

fn label() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?"
}

/// Near misses: what names are made of, and what addresses are made of.
fn anything() -> impl Strategy<Value = String> {
    prop_oneof![
        label(),
        "[a-z0-9.@%:/\\\\\\[\\]#?*_ -]{0,40}",
        "[0-9]{0,6}-[a-z0-9-]{0,20}(\\.boxes\\.test)?(:[0-9]{1,5})?",
        "/sandboxes/[a-z0-9./%-]{0,40}",
        "[0-9a-f:.]{0,20}",
        ".{0,20}",
    ]
}

fn field() -> impl Strategy<Value = Option<String>> {
    prop::option::of(anything())
}

fn one(text: Option<&String>) -> Field<'_> {
    text.map_or(Field::Absent, |text| Field::One(text))
}

fn keys(wanted: &Wanted) -> Vec<Key> {
    match &wanted.named {
        Named::Exactly(key) => vec![key.clone()],
        Named::Either(keys) => keys.clone(),
    }
}

/// As DNS has it, said in another way than the parser does.
fn is_label(text: &str) -> bool {
    let parts = text.split('-').collect::<Vec<_>>();
    let is_plain = |part: &&str| part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
    let ends = [parts.first(), parts.last()];
    text.len() <= 63
        && parts.iter().all(is_plain)
        && ends.iter().all(|end| end.is_some_and(|end| !end.is_empty()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn whatever_is_asked_means_names_and_a_port_or_nothing(
        id in field(), namespace in field(), port in field(), pod_ip in field(), uid in field(),
        timeout in field(), host in field(), path in anything(), has_domain in any::<bool>(),
    ) {
        let asked = Asked {
            id: one(id.as_ref()), namespace: one(namespace.as_ref()), port: one(port.as_ref()),
            pod_ip: one(pod_ip.as_ref()), uid: one(uid.as_ref()), timeout: one(timeout.as_ref()),
            host: host.as_deref(), path: &path, domain: has_domain.then_some(DOMAIN),
        };
        let Ok(wanted) = Wanted::of(&asked) else { return Ok(()) };
        let keys = keys(&wanted);
        prop_assert!(!keys.is_empty() && wanted.port != 0);
        prop_assert!(keys.iter().all(|key| is_label(&key.name) && is_label(&key.namespace)), "{keys:?}");
        prop_assert!(wanted.pod_ip.is_none_or(|address| !is_special(address)));
        prop_assert!(wanted.path.is_none_or(|rest| rest.starts_with('/') && path.ends_with(&rest[1..])));
    }

    #[test]
    fn what_names_a_sandbox_is_read_back_as_that_one(
        name in label(), namespace in label(), port in 1..=u16::MAX, rest in "[a-zA-Z0-9/%._-]{0,20}",
    ) {
        let (key, number) = (Key::new(&namespace, &name), port.to_string());
        let headers = Asked {
            id: Field::One(&name), namespace: Field::One(&namespace), port: Field::One(&number), path: "/",
            ..Asked::default()
        };
        let wanted = Wanted::of(&headers).expect("clear");
        prop_assert_eq!((keys(&wanted), wanted.port), (vec![key.clone()], port));
        let path = format!("/sandboxes/{namespace}/{name}/{port}/{rest}");
        let wanted = Wanted::of(&Asked { path: &path, ..Asked::default() }).expect("clear");
        prop_assert_eq!((keys(&wanted), wanted.port), (vec![key.clone()], port));
        prop_assert_eq!(wanted.path, Some(format!("/{rest}")));
        let host = format!("{port}-{name}-{namespace}.{DOMAIN}:8080").to_uppercase();
        let asked = Asked { host: Some(&host), domain: Some(DOMAIN), path: "/", ..Asked::default() };
        let wanted = Wanted::of(&asked).expect("clear");
        prop_assert!(keys(&wanted).contains(&key) && wanted.port == port);
    }

    #[test]
    fn an_address_that_is_believed_is_one_that_was_written(bits in any::<u128>(), is_v4 in any::<bool>()) {
        let address: IpAddr = if is_v4 {
            std::net::Ipv4Addr::from_bits(u32::try_from(bits >> 96).expect("32 bits")).into()
        } else {
            std::net::Ipv6Addr::from_bits(bits).into()
        };
        let text = address.to_string();
        let asked = Asked { id: Field::One("a"), pod_ip: Field::One(&text), path: "/", ..Asked::default() };
        match Wanted::of(&asked) {
            Ok(wanted) => prop_assert_eq!(wanted.pod_ip, Some(address.to_canonical())),
            Err(_) => prop_assert!(is_special(address.to_canonical())),
        }
    }
}
