//! What the Secret with the webhook's certificates holds, and what each step of their rotation makes of it.
//! When to take which step is decided in [`asb_core::rotation`].

use asb_core::rotation::{Held, Step, step};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::identity::{self, Broken, Identity};
use super::issue::Issued;

/// The keys of the Secret. Those of the successor are there only between its announcement and the switch.
const BUNDLE: &str = "ca.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";

/// Everything in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    bundle: String,
    serving: Option<Pair>,
    next: Option<Pair>,
}

#[derive(Clone, PartialEq, Eq)]
struct Pair {
    certificate: String,
    key: String,
}

/// Keys stay out of logs.
impl std::fmt::Debug for Pair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pair")
    }
}

impl Contents {
    pub(crate) fn read(secret: &Value) -> Self {
        let text = |key: &str| {
            let bytes = STANDARD.decode(secret["data"][key].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let pair = |certificate, key| Some(Pair { certificate: text(certificate)?, key: text(key)? });
        Self {
            bundle: text(BUNDLE).unwrap_or_default(),
            serving: pair(CERTIFICATE, KEY),
            next: pair(NEXT_CERTIFICATE, NEXT_KEY),
        }
    }

    /// As a Secret has it; what is to be absent is null.
    pub(crate) fn data(&self) -> Value {
        let encode = |text: &String| STANDARD.encode(text);
        let certificate = |pair: &Option<Pair>| pair.as_ref().map(|pair| encode(&pair.certificate));
        let key = |pair: &Option<Pair>| pair.as_ref().map(|pair| encode(&pair.key));
        json!({
            BUNDLE: encode(&self.bundle),
            CERTIFICATE: certificate(&self.serving),
            KEY: key(&self.serving),
            NEXT_CERTIFICATE: certificate(&self.next),
            NEXT_KEY: key(&self.next),
        })
    }

    /// What to do about them, for a server of this name.
    pub(crate) fn step(&self, name: &str, now: Timestamp) -> Step {
        let authorities = identity::certificates(&self.bundle);
        let accepted = |pair: &Option<Pair>| {
            let certified = pair.as_ref()?.certified().ok()?;
            let is_accepted = identity::is_accepted(&certified.cert, &authorities, name, now);
            is_accepted.then(|| identity::validity(certified.cert.first()?)).flatten()
        };
        let held = Held {
            serving: accepted(&self.serving),
            next: accepted(&self.next),
            authorities: authorities.iter().filter_map(identity::validity).collect(),
        };
        step(&held, now)
    }

    /// What a step makes of them, without a certificate that it may need.
    pub(crate) fn after(
        self,
        step: Step,
        now: Timestamp,
        issue: impl FnOnce() -> Result<Issued, rcgen::Error>,
    ) -> Result<Self, rcgen::Error> {
        let bundle = current(&self.bundle, now);
        Ok(match step {
            Step::Keep => self,
            Step::Forget => Self { bundle, ..self },
            Step::Switch => Self { bundle, serving: self.next, next: None },
            Step::Announce => {
                let (authority, pair) = Pair::of(issue()?);
                Self { bundle: authority + &bundle, next: Some(pair), ..self }
            }
            Step::Replace => {
                let (authority, pair) = Pair::of(issue()?);
                Self { bundle: authority + &bundle, serving: Some(pair), next: None }
            }
        })
    }

    pub(crate) fn identity(&self) -> Result<Identity, Broken> {
        let pair = self.serving.as_ref().ok_or(Broken::Certificate)?;
        Ok(Identity { key: pair.certified()?.into(), bundle: Some(self.bundle.clone()) })
    }
}

impl Pair {
    fn of(issued: Issued) -> (String, Self) {
        (issued.authority, Self { certificate: issued.certificate, key: issued.key })
    }

    fn certified(&self) -> Result<tokio_rustls::rustls::sign::CertifiedKey, Broken> {
        identity::certified(&self.certificate, &self.key)
    }
}

/// The certificates of a bundle that have not ended, and nothing else of it.
fn current(bundle: &str, now: Timestamp) -> String {
    const END: &str = "-----END CERTIFICATE-----";
    let sections = bundle.split_inclusive(END).filter_map(|section| {
        let section = &section[section.find("-----BEGIN CERTIFICATE-----")?..];
        let certificates = identity::certificates(section);
        let validity = identity::validity(certificates.first()?)?;
        (now < validity.ends).then(|| format!("{section}\n"))
    });
    sections.collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::issue::issue;
    use super::*;

    const NAME: &str = "hook.system.svc";

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000).expect("in range") + SignedDuration::from_hours(hours)
    }

    fn turn(contents: Contents, now: Timestamp) -> (Step, Contents) {
        let step = contents.step(NAME, now);
        (step, contents.after(step, now, || issue(&[NAME.to_owned()], now)).expect("a certificate"))
    }

    fn accepts(bundle: &Contents, served: &Contents, now: Timestamp) -> bool {
        let identity = served.identity().expect("something is served");
        identity::is_accepted(&identity.key.cert, &identity::certificates(&bundle.bundle), NAME, now)
    }

    /// An API server that is a day behind meets operators that are up to date, and the other way round.
    #[test]
    fn for_two_years_nobody_is_distrusted_even_by_those_who_are_hours_behind() {
        let (_, mut contents) = turn(Contents::default(), at(0));
        let mut steps = Vec::new();
        for hour in (0..2 * 365 * 24).step_by(12) {
            let before = contents.clone();
            let (step, after) = turn(contents, at(hour));
            contents = after;
            assert!(
                accepts(&before, &contents, at(hour)),
                "a new certificate under an old bundle, hour {hour}"
            );
            assert!(
                accepts(&contents, &before, at(hour)),
                "an old certificate under a new bundle, hour {hour}"
            );
            steps.extend(Some(step).filter(|step| *step != Step::Keep));
        }
        let year = [Step::Announce, Step::Switch, Step::Forget];
        assert_eq!(steps, [year, year].concat());
    }

    #[test]
    fn a_secret_survives_the_way_through_the_api_server() {
        let (_, contents) = turn(Contents::default(), at(0));
        let (_, contents) = turn(contents, at(330 * 24));
        assert!(contents.next.is_some());
        assert_eq!(Contents::read(&json!({"data": contents.data()})), contents);
    }

    #[test]
    fn what_cannot_be_used_is_replaced() {
        let (_, good) = turn(Contents::default(), at(0));
        let (_, other) = turn(Contents::default(), at(0));
        let broken = [
            Contents::default(),
            Contents { bundle: "rubbish".to_owned(), ..good.clone() },
            Contents { bundle: other.bundle.clone(), ..good.clone() },
            Contents { serving: None, ..good.clone() },
        ];
        for contents in broken {
            assert_eq!(contents.step(NAME, at(1)), Step::Replace, "{contents:?}");
        }
        assert_eq!(good.step("another.system.svc", at(1)), Step::Replace, "it is for another name");
        assert_eq!(good.step(NAME, at(366 * 24)), Step::Replace, "it has ended");
        assert_eq!(good.step(NAME, at(1)), Step::Keep);
    }

    #[test]
    fn the_key_of_another_certificate_is_noticed() {
        let ((_, one), (_, other)) = (turn(Contents::default(), at(0)), turn(Contents::default(), at(0)));
        let mixed = Pair {
            certificate: one.serving.clone().expect("served").certificate,
            key: other.serving.expect("served").key,
        };
        let mixed = Contents { serving: Some(mixed), ..one };
        assert_eq!(mixed.step(NAME, at(1)), Step::Replace);
    }

    #[test]
    fn replacing_keeps_trust_in_what_others_may_still_serve() {
        let (_, old) = turn(Contents::default(), at(0));
        let lost = Contents { serving: None, ..old.clone() };
        let (_, new) = turn(lost, at(1));
        assert!(accepts(&new, &old, at(1)));
    }
}
