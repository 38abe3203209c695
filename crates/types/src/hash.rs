//! The hash behind every `…-hash` label: short enough for a label value, the same in every implementation.

/// FNV-1a over the UTF-8 bytes of `text`, 32 bits wide, as eight lowercase hexadecimal digits.
///
/// Not collision resistant: a label with this value finds candidates, and the owner's UID decides.
pub fn fnv1a_hex(text: &str) -> String {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let hash = text.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests {
    use super::fnv1a_hex;

    #[test]
    fn agrees_with_the_published_vectors() {
        let vectors = [
            ("", "811c9dc5"),
            ("a", "e40c292c"),
            ("my-sandbox", "374de8f5"),
            ("my-pool", "244dc158"),
            ("my-template", "aeae83fc"),
            ("python-sandbox-template", "d274c066"),
        ];
        for (text, expected) in vectors {
            assert_eq!(fnv1a_hex(text), expected, "hash of {text:?}");
        }
    }

    #[test]
    fn small_hashes_keep_their_leading_zeros() {
        let padded = (0..100_000).map(|n| fnv1a_hex(&n.to_string())).find(|hash| hash.starts_with("00"));
        assert_eq!(padded.expect("one in 256 hashes starts with two zeros").len(), 8);
    }
}
