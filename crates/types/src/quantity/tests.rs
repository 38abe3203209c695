//! What Kubernetes 1.36.3 answered, and what holds for any text.

use super::*;

/// Recorded from `resource.ParseQuantity` of Kubernetes 1.36.3.
#[test]
fn quantities_are_written_as_kubernetes_writes_them() {
    let cases = [
        ("0", "0"),
        ("00", "0"),
        ("0.0", "0"),
        ("-", "0"),
        (".", "0"),
        ("1", "1"),
        ("+1", "+1"),
        ("1.", "1."),
        ("1000m", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.500", "1.500"),
        ("0.001", "1m"),
        ("1000", "1k"),
        ("1000E", "1"),
        ("12e6", "12e6"),
        ("1e1", "10"),
        ("1e100", "10e99"),
        ("1e+3", "1e+3"),
        ("1e-12", "1e-9"),
        ("1e4294967299", "1e4294967299"),
        ("1e-2147483649", "10e2147483646"),
        ("0.1n", "1n"),
        ("1.0000000001", "1000000001n"),
        ("1Gi", "1Gi"),
        ("05Gi", "05Gi"),
        ("8Gi", "8Gi"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1.5Gi", "1536Mi"),
        ("-0.5Gi", "-512Mi"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("9Ei", "9223372036854775807"),
        ("999999999999999999999Ki", "9223372036854775807"),
        ("123456789012345678901", "123456789012345678901"),
        ("1024Ki", "1Mi"),
        ("1023Ki", "1023Ki"),
        ("512", "512"),
        ("0.5Mi", "512Ki"),
        ("10000", "10k"),
        ("1500", "1500"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("1000e3", "1e6"),
        ("0.500", "500m"),
        ("010.500", "010.500"),
        ("0.050", "50m"),
        ("007", "007"),
        ("-1500m", "-1500m"),
        ("0Gi", "0"),
        ("100Ei", "9223372036854775807"),
        ("0.0000000001", "1n"),
        ("1E", "1E"),
        ("1E-1", "100e-3"),
        ("0.5e3", "500"),
        ("0.1Ki", "102400m"),
        ("100000000000000000000Ei", "9223372036854775807"),
        ("1000P", "1E"),
        ("1000Ki", "1000Ki"),
        ("100Mi", "100Mi"),
        ("12000", "12k"),
        ("-1", "-1"),
        ("1n", "1n"),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        let countable = Quantity::parse(text).filter(|quantity| quantity.nano < MOST);
        assert_eq!(countable.map_or(expected.into(), |quantity| quantity.to_string()), expected, "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_for_a_reason() {
    let format = ["", "x", "1 ", "1 Gi", "1.2.3", "1_0", "0x1", "1e1.5", "1KI", "1Kix"]
        .map(|text| (text, Error::Format));
    let suffix = ["1ki", "1K", "1i", "1e", "1mm", "--1"].map(|text| (text, Error::Suffix));
    for (text, expected) in format.into_iter().chain(suffix) {
        assert_eq!(canonical(text), Err(expected), "{text}");
        assert!(Quantity::parse(text).is_none(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_quantity_or_an_error(text in "\\PC{0,20}|[-+0-9.eEKMGi]{0,40}") {
        let _ = canonical(&text);
    }

    #[test]
    fn writing_a_quantity_again_changes_nothing(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,15})?([numkMGTPE]|[KMGTPE]i|e-?[0-9]{1,3})?") {
        if let Ok(first) = canonical(&text) {
            proptest::prop_assert_eq!(canonical(&first), Ok(first));
        }
    }

    /// Beyond its greatest suffix Kubernetes writes something else than it read.
    #[test]
    fn a_written_amount_is_read_as_the_same(text in "[+-]?[0-9.]{0,40}[a-zA-Z]{0,3}[0-9+-]{0,12}") {
        if let Some(quantity) = Quantity::parse(&text).filter(|it| it.whole().abs() < 1000 * 10_i128.pow(18)) {
            let written = quantity.to_string();
            proptest::prop_assert_eq!(Quantity::parse(&written), Some(quantity), "{} was written as {}", text, written);
        }
    }
}

#[test]
fn amounts_beyond_all_bounds_do_not_overflow() {
    let digits = "9".repeat(400);
    for text in [format!("{digits}Ei"), format!("-{digits}E"), format!("0.{digits}Ki"), "9e999999999".into()]
    {
        let quantity = Quantity::parse(&text);
        assert!(quantity.is_none_or(|quantity| quantity.plus(&quantity).whole() != 1));
    }
}

#[test]
fn amounts_are_compared_by_what_they_mean() {
    let parse = |text| Quantity::parse(text).unwrap();
    assert!(parse("1Gi") > parse("1G"));
    assert!(parse("1000m") == parse("1"));
    assert!(!parse("1500m").is_whole() && parse("2").is_whole());
    assert_eq!(parse("1500m").whole(), 2);
}
