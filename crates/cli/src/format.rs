//! Formatting of numbers for people.

/// Formats a number with digits in groups of three: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Formats a number with a noun: `1 heap`, `2,000 heaps`.
pub(crate) fn count_of(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// Formats a duration with two or three digits, in at most five characters: `87ns`, `1.2µs`, `12µs`, `340µs`, `3.4s`.
pub(crate) fn duration(nanoseconds: f64) -> String {
    // Slightly less than the unit, because 999.6 of the smaller unit would be rounded to 1000.
    const UNITS: [(f64, &str); 3] = [(999.5, "ns"), (999.5e3, "µs"), (999.5e6, "ms")];
    let (mut scaled, mut name) = (nanoseconds / 1e9, "s");
    let mut unit = 1.0;
    for (limit, unit_name) in UNITS {
        if nanoseconds < limit {
            (scaled, name) = (nanoseconds / unit, unit_name);
            break;
        }
        unit *= 1e3;
    }
    let decimals = usize::from(scaled < 9.95 && name != "ns");
    format!("{scaled:.decimals$}{name}")
}

/// Formats a size with three digits, in at most eight characters: `256 B`, `1.50 KiB`, `60.6 MiB`, `522 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 999.5 {
        scaled /= 1024.0;
        unit += 1;
    }
    let decimals = match scaled {
        _ if scaled < 9.995 => 2,
        _ if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), text);
        }
        assert_eq!(count_of(1, "heap"), "1 heap");
        assert_eq!(count_of(0, "heap"), "0 heaps");
        assert_eq!(count_of(2000, "heap"), "2,000 heaps");
    }

    #[test]
    fn durations_have_two_or_three_digits() {
        let cases = [
            (0.0, "0ns"),
            (87.4, "87ns"),
            (999.4, "999ns"),
            (999.6, "1.0µs"),
            (1_249.0, "1.2µs"),
            (9_949.0, "9.9µs"),
            (9_951.0, "10µs"),
            (340_400.0, "340µs"),
            (999_600.0, "1.0ms"),
            (34e6, "34ms"),
            (999.6e6, "1.0s"),
            (61e9, "61s"),
        ];
        for (nanoseconds, text) in cases {
            assert_eq!(duration(nanoseconds), text);
        }
    }

    #[test]
    fn sizes_have_three_digits() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (1536, "1.50 KiB"),
            (63_554_960, "60.6 MiB"),
            (547_181_424, "522 MiB"),
            (1_048_064, "1.00 MiB"),
            (9_111_441_408, "8.49 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
            assert!(text.len() <= 8);
        }
    }
}
