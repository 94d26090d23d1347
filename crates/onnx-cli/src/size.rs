//! Numbers and sizes as people write and read them.

/// A number of bytes: `512 B`, `24.2 MB`.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, &["B", "kB", "MB", "GB", "TB", "PB", "EB"], true)
}

/// A count, abbreviated: `512`, `25.6 M`.
pub(crate) fn count(count: u64) -> String {
    if count < 100_000 {
        return grouped(count);
    }
    scaled(count, &["", "k", "M", "G", "T", "P", "E"], false)
}

/// A number with its thousands apart: `25,557,032`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits and a decimal prefix.
fn scaled(count: u64, units: &[&str], space_always: bool) -> String {
    let mut unit = 0;
    let mut scale = 1_u64;
    while count / scale >= 1000 && unit + 1 < units.len() {
        scale = scale.saturating_mul(1000);
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        return if space_always { format!("{count} {name}") } else { count.to_string() };
    }
    // Precision is lost beyond 2^53, far to the right of what is shown.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let value = count as f64 / scale as f64;
    if value < 99.95 { format!("{value:.1} {name}") } else { format!("{value:.0} {name}") }
}

/// Reads a size, a whole number: `4096`, `64K`, `2GiB`, `500MB`. Binary and decimal prefixes mean what they say; a bare
/// letter is binary, as in most tools.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
    let complaint = || format!("`{text}` is not a size: write a number of bytes, or `64K`, `2GiB`, `500MB`");
    let number: u64 = number.parse().map_err(|_| complaint())?;
    let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(complaint()),
    };
    number.checked_mul(scale).ok_or_else(complaint)
}

/// Reads a whole number, with an optional suffix: `k`, `M` and `G` are decimal, as for counts; `KiB`, `MiB` and `GiB`
/// are binary.
pub(crate) fn number(text: &str) -> Option<u64> {
    let suffixes = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("TiB", 1 << 40),
        ("T", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("k", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    let suffix = suffixes.iter().find_map(|&(suffix, scale)| Some((text.strip_suffix(suffix)?, scale)));
    let (digits, scale) = suffix.unwrap_or((text, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(scale)
}

/// `1 node`, `2 nodes`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (size, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (24_163_562, "24.2 MB"),
            (999_999, "1000 kB"),
            (102_057_667, "102 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(grouped(25_557_032), "25,557,032");
        assert_eq!(grouped(100), "100");
        assert_eq!(count(25_557_032), "25.6 M");
        assert_eq!(count(1234), "1,234");
        assert_eq!(plural(1, "node"), "1 node");
        assert_eq!(plural(1200, "node"), "1,200 nodes");
    }

    #[test]
    fn numbers_of_limits_are_read() {
        for (text, value) in [("0", 0), ("200", 200), ("20k", 20_000), ("3M", 3_000_000), ("4GiB", 4 << 30)] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert_eq!(number(&u64::MAX.to_string()), Some(u64::MAX));
        for text in ["", "k", "-1", "+1", "1.5M", "1K", "1MB", "1x", "18446744073709551616", "99999999999G"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, size) in
            [("0", 0), ("4096", 4096), ("64K", 65536), ("2GiB", 2 << 30), ("500 MB", 500_000_000)]
        {
            assert_eq!(parse(text), Ok(size), "{text}");
        }
        for text in ["", "K", "-1", "1.5M", "1X", "99999999999999999999", "99999999999T", "é"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
