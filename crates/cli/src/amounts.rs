//! Amounts of processor and memory, as people type and read them.

use asb_types::quantity::Quantity;

/// Processors: `2`, `0.5`, `500m`. What Kubernetes writes for it.
pub(crate) fn cpu(text: &str) -> Result<String, String> {
    positive(text).ok_or_else(|| "it must be a number of processors such as 2, 0.5 or 500m".to_owned())
}

/// Memory: `512m`, `1g`, `512MiB`, `1Gi`, `500M`. Small letters are powers of 1024, as container programs have it; the
/// notation of Kubernetes is itself, except `m`, which there is a thousandth of a byte and never meant.
pub(crate) fn memory(text: &str) -> Result<String, String> {
    let problem = || "it must be an amount of memory such as 512m, 1g or 1.5Gi".to_owned();
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "" | "b" | "B" => "",
        "k" | "kb" | "Ki" | "KiB" => "Ki",
        "m" | "mb" | "Mi" | "MiB" => "Mi",
        "g" | "gb" | "Gi" | "GiB" => "Gi",
        "t" | "tb" | "Ti" | "TiB" => "Ti",
        "K" | "KB" => "k",
        "M" | "MB" => "M",
        "G" | "GB" => "G",
        "T" | "TB" => "T",
        _ => return Err(problem()),
    };
    positive(&format!("{number}{unit}")).ok_or_else(problem)
}

fn positive(text: &str) -> Option<String> {
    Quantity::parse(text).filter(Quantity::is_positive)?;
    Some(text.to_owned())
}

/// Bytes, in the unit that is easiest to read.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| count >= *size) {
        None => format!("{count} B"),
        Some((unit, size)) => {
            let (whole, tenth) = (count / size, count % size * 10 / size);
            if whole >= 10 { format!("{whole} {unit}") } else { format!("{whole}.{tenth} {unit}") }
        }
    }
}

/// Processors from billionths of one: `0.25`.
pub(crate) fn processors(nano: u64) -> String {
    let hundredths = (nano + 5_000_000) / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_people_type_it() {
        let read =
            ["512m", "1g", "1.5Gi", "500M", "512MiB", "1GB", "1048576", "64k"].map(|it| memory(it).unwrap());
        assert_eq!(read, ["512Mi", "1Gi", "1.5Gi", "500M", "512Mi", "1G", "1048576", "64Ki"]);
        for wrong in ["", "m", "5x", "-1g", "0", "1 g", "1..5g"] {
            assert!(memory(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn processors_are_read_as_kubernetes_does() {
        assert_eq!(["2", "0.5", "500m"].map(|it| cpu(it).unwrap()), ["2", "0.5", "500m"]);
        for wrong in ["", "two", "-1", "0", "1 2"] {
            assert!(cpu(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn amounts_are_written_to_be_read() {
        assert_eq!(
            [0, 1023, 1536, 50 << 20, 3 << 40].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "50 MiB", "3.0 TiB"]
        );
        assert_eq!(
            [0, 4_999_999, 250_000_000, 1_500_000_000].map(processors),
            ["0.00", "0.00", "0.25", "1.50"]
        );
    }
}
