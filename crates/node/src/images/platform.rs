//! Which of an image's variants runs on this machine.

use serde::{Deserialize, Serialize};

use super::manifest::Descriptor;

/// As Go spells them: `linux`, `amd64`, and `v7` or so for some architectures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    pub fn of_this_machine() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" => "ppc64le",
            "loongarch64" => "loong64",
            other => other,
        };
        Self { os: "linux".to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// The best of `offers`. One that does not say its platform is taken where no other fits.
    pub fn choose<'a>(&self, offers: &'a [Descriptor]) -> Option<&'a Descriptor> {
        let manifests = || offers.iter().filter(|offer| offer.is_manifest());
        let best = manifests()
            .filter_map(|offer| Some((self.rank(offer.platform.as_ref()?)?, offer)))
            .min_by_key(|(rank, _)| *rank);
        best.map(|(_, offer)| offer).or_else(|| manifests().find(|offer| offer.platform.is_none()))
    }

    /// Smaller is better. Without a wish every variant that all machines of the kind can run is as good.
    fn rank(&self, offer: &Self) -> Option<u8> {
        if offer.os != self.os || offer.architecture != self.architecture {
            return None;
        }
        if offer.variant == self.variant {
            return Some(0);
        }
        match (self.architecture.as_str(), offer.variant.as_deref(), self.variant.as_deref()) {
            // What they are by default, spelled out.
            ("amd64", Some("v1") | None, _) | ("arm64", Some("v8") | None, _) => Some(1),
            // Beyond the default: only for who asked.
            ("amd64" | "arm64", ..) => None,
            (_, None, _) => Some(1),
            (_, Some(offered), Some(wanted)) => (offered < wanted).then_some(2),
            (_, Some(_), None) => Some(2),
        }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(formatter, "/{variant}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::Digest;
    use super::super::manifest::ACCEPTED;
    use super::*;

    fn platform(text: &str) -> Platform {
        let mut parts = text.split('/').map(str::to_owned);
        Platform { os: parts.next().unwrap(), architecture: parts.next().unwrap(), variant: parts.next() }
    }

    fn offers(texts: &[&str]) -> Vec<Descriptor> {
        let offer = |text: &&str| Descriptor {
            media_type: ACCEPTED[2].to_owned(),
            digest: Digest::of(text.as_bytes()),
            size: 1,
            platform: (!text.is_empty()).then(|| platform(text)),
            annotations: None,
        };
        texts.iter().map(offer).collect()
    }

    fn chosen(wish: &str, texts: &[&str]) -> Option<String> {
        let offers = offers(texts);
        let chosen = platform(wish).choose(&offers)?;
        Some(chosen.platform.as_ref().map(ToString::to_string).unwrap_or_default())
    }

    #[test]
    fn the_machine_gets_its_own() {
        let all = ["linux/arm64/v8", "windows/amd64", "linux/amd64/v3", "linux/amd64", "unknown/unknown"];
        assert_eq!(chosen("linux/amd64", &all).unwrap(), "linux/amd64");
        assert_eq!(chosen("linux/arm64", &all).unwrap(), "linux/arm64/v8");
        assert_eq!(chosen("linux/amd64/v3", &all).unwrap(), "linux/amd64/v3");
        assert_eq!(chosen("linux/s390x", &all), None);
    }

    #[test]
    fn what_the_machine_might_not_run_is_not_chosen() {
        assert_eq!(chosen("linux/amd64", &["linux/amd64/v3"]), None);
        assert_eq!(chosen("linux/arm/v7", &["linux/arm/v8", "linux/arm/v6"]).unwrap(), "linux/arm/v6");
    }

    #[test]
    fn an_offer_without_a_platform_is_the_last_resort() {
        assert_eq!(chosen("linux/amd64", &["", "linux/amd64"]).unwrap(), "linux/amd64");
        assert_eq!(chosen("linux/amd64", &["linux/arm64", ""]).unwrap(), "");
    }
}
