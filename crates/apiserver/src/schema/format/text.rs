//! Formats of identifiers, colours and encoded bytes.

use std::sync::LazyLock;

use regex::Regex;

macro_rules! matches_pattern {
    ($($(#[$doc:meta])* $name:ident: $pattern:literal;)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(text: &str) -> bool {
            static PATTERN: LazyLock<Regex> =
                LazyLock::new(|| Regex::new($pattern).expect("the pattern is written here"));
            PATTERN.is_match(text)
        }
    )*};
}

matches_pattern! {
    is_object_id: "^[0-9a-fA-F]{24}$";
    is_uuid: "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    is_uuid3: "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    is_uuid4: "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    is_uuid5: "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    is_hex_color: "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    is_rgb_color: r"^rgb\( *(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5]) *, *(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5]) *, *(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5]) *\)$";
    /// The empty text is none.
    is_base64: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    has_name_shape: r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    has_long_name_shape: r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
}

pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && has_name_shape(text)
}

pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && has_long_name_shape(text)
}
