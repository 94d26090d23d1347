//! What C90 takes for a name, what is a name in reverse-DNS style, and what does not belong to a string.

/// Whether a name has only ASCII letters, digits and underscores and does not begin with a digit.
pub(crate) fn is_identifier(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a name has at least two parts between dots, each of letters, digits, underscores and hyphens.
pub(crate) fn is_reverse_dns(name: &str) -> bool {
    let is_part_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_part_of_name);
    name.contains('.') && name.split('.').all(is_part)
}

/// Whether a text begins with a byte order mark or ends with a NUL, which are left over from files and from C.
pub(crate) fn is_padded(text: &str) -> bool {
    text.starts_with('\u{feff}') || text.ends_with('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_c90() {
        for name in ["x", "_", "_1", "Conv2d_3"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["", "1", "a.b", "a/b", "a b", "é", "a\u{0}"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}
