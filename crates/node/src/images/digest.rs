//! What content is known by: an algorithm and a hash of every byte. Leaves what the content means to others.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use ring::digest::{Context, SHA256, SHA512};
use serde::{Deserialize, Serialize};

/// `sha256:…` or `sha512:…`, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Sha256,
    Sha512,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no digest: sha256 or sha512, a colon, and its hash in lower case")]
pub struct InvalidDigest(String);

/// Hashes what passes.
pub struct Hasher {
    algorithm: Algorithm,
    context: Context,
}

/// Hashes everything that is read through it.
pub struct Hashed<R> {
    inner: R,
    hasher: Hasher,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

impl Digest {
    /// The sha256 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::with(Algorithm::Sha256, bytes)
    }

    /// Of `bytes`, by the algorithm of this one: to compare.
    #[must_use]
    pub fn again(&self, bytes: &[u8]) -> Self {
        Self::with(self.algorithm, bytes)
    }

    pub fn hasher(&self) -> Hasher {
        Hasher::new(self.algorithm)
    }

    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// A name for a file that holds the content.
    pub fn file_name(&self) -> String {
        format!("{}-{}", self.algorithm(), self.hex)
    }

    /// The digest that a file of [`Self::file_name`] is for.
    pub fn from_file_name(name: &str) -> Option<Self> {
        name.replacen('-', ":", 1).parse().ok()
    }

    fn with(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }
}

impl Hasher {
    pub fn new(algorithm: Algorithm) -> Self {
        let context = match algorithm {
            Algorithm::Sha256 => Context::new(&SHA256),
            Algorithm::Sha512 => Context::new(&SHA512),
        };
        Self { algorithm, context }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    pub fn finish(self) -> Digest {
        let hash = self.context.finish();
        let hex = hash.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Digest { algorithm: self.algorithm, hex }
    }
}

impl<R: Read> Hashed<R> {
    pub fn new(inner: R, hasher: Hasher) -> Self {
        Self { inner, hasher }
    }

    pub fn finish(self) -> Digest {
        self.hasher.finish()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm(), self.hex)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let invalid = || InvalidDigest(text.chars().take(200).collect());
        let (algorithm, hex) = text.split_once(':').ok_or_else(invalid)?;
        let algorithm = match algorithm {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(invalid()),
        };
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (is_hex && hex.len() == algorithm.length())
            .then(|| Self { algorithm, hex: hex.to_owned() })
            .ok_or_else(invalid)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn content_is_known_by_its_hash() {
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        let mut read = Hashed::new(&b"abc"[..], Digest::of(b"").hasher());
        io::copy(&mut read, &mut io::sink()).unwrap();
        assert_eq!(read.finish(), Digest::of(b"abc"));
    }

    #[test]
    fn the_name_of_a_file_says_the_digest() {
        let digest: Digest = EMPTY.parse().unwrap();
        assert_eq!(Digest::from_file_name(&digest.file_name()), Some(digest));
        assert_eq!(Digest::from_file_name("sha256-.."), None);
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let long = format!("sha512:{}", &EMPTY[7..]);
        for text in
            ["", "sha256", "sha256:", "md5:00", "sha256:../../etc/passwd", &EMPTY.to_uppercase(), &long]
        {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
