//! The valid forms of a `location`, decided from its text only and the same on every system.

use std::ffi::OsStr;
use std::fmt;

/// The location by which one runtime marks tensors whose `offset` is an address in its memory.
const MEMORY_MARKER: &str = "_ORT_MEM_ADDR_";

/// The path of a file below the directory of the model: at least one component, none of them `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location<'a> {
    components: Vec<&'a OsStr>,
}

impl<'a> Location<'a> {
    /// The components of a location, or why it is refused.
    pub(crate) fn parse(location: &'a str) -> Result<Self, &'static str> {
        if location.is_empty() {
            return Err("the location is empty");
        }
        if location.contains('\0') {
            return Err("the location contains a NUL character");
        }
        if location.contains(MEMORY_MARKER) {
            return Err(
                "the location marks an address in another process's memory; save the model with its weights",
            );
        }
        if location.starts_with(['/', '\\']) || has_drive(location) {
            return Err("the location must be relative to the directory of the model");
        }
        // Windows separates by both; a model that leaves its directory there must not be accepted elsewhere.
        if location.split(['/', '\\']).any(|component| component == "..") {
            return Err("the location must not contain the component `..`");
        }
        if cfg!(windows) {
            refuse_windows_names(location)?;
        }
        let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
        let all = || location.split(separators);
        if matches!(all().next_back(), Some("" | ".")) {
            return Err("the location names a directory, not a file");
        }
        let components = all().filter(|component| !matches!(*component, "" | ".")).map(OsStr::new).collect();
        Ok(Self { components })
    }

    /// The components, outermost first.
    pub(crate) fn components(&self) -> &[&'a OsStr] {
        &self.components
    }

    /// The directories and the name of the file.
    pub(crate) fn split(&self) -> (&[&'a OsStr], &'a OsStr) {
        match self.components.split_last() {
            Some((name, directories)) => (directories, name),
            // `parse` leaves at least the last component.
            None => (&[], OsStr::new("")),
        }
    }
}

/// The canonical form of all locations that name the same file.
impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.components.iter().map(|part| part.to_string_lossy()).collect();
        f.write_str(&parts.join("/"))
    }
}

/// Whether the text begins like `C:` or `C:\`.
fn has_drive(location: &str) -> bool {
    matches!(location.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Names that mean something other than a file on Windows: devices and alternative streams.
fn refuse_windows_names(location: &str) -> Result<(), &'static str> {
    if location.contains(':') {
        return Err("the location must not contain `:`");
    }
    for component in location.split(['/', '\\']) {
        let stem = component.split('.').next().unwrap_or_default().trim_end();
        let numbered = |prefix: &str| {
            let rest = stem.get(prefix.len()..).unwrap_or_default();
            let is_prefix = stem.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
            is_prefix && matches!(rest, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        };
        let devices = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
        if devices.iter().any(|device| stem.eq_ignore_ascii_case(device))
            || numbered("COM")
            || numbered("LPT")
        {
            return Err("the location names a device");
        }
        // Trailing dots and blanks are dropped by the system, so that `.. ` would mean `..`.
        if component != "." && component.ends_with(['.', ' ']) {
            return Err("a component of the location ends in a dot or a blank");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_leaves_the_directory() {
        for bad in [
            "",
            "/",
            "/x",
            "//x",
            "..",
            "../x",
            "a/..",
            "a/../x",
            "a/../../x",
            "./../x",
            "a//../..//x",
            "x/..",
            "../",
            "..\\x",
            "a\\..\\x",
            "a/..\\x",
            "\\x",
            "\\\\?\\C:\\x",
            "\\\\server\\share",
            "C:x",
            "c:\\x",
            "C:/x",
            "C:",
            "a\0b",
            "*/_ORT_MEM_ADDR_/*",
            "./*/_ORT_MEM_ADDR_/*",
            ".",
            "./",
            "a/",
            "a/.",
            "./.",
            "a//",
        ] {
            assert!(Location::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn accepts_odd_names() {
        for (good, components) in [
            ("x", &["x"][..]),
            ("a..b", &["a..b"]),
            ("...", &["..."]),
            ("..a", &["..a"]),
            ("a/..b/c", &["a", "..b", "c"]),
            (".//a/./b", &["a", "b"]),
            ("#x", &["#x"]),
            ("-rf", &["-rf"]),
            ("a\nb", &["a\nb"]),
            ("ab:stream", &["ab:stream"]),
            ("CON", &["CON"]),
            ("1:x", &["1:x"]),
            ("é/ü", &["é", "ü"]),
            ("%2e%2e/x", &["%2e%2e", "x"]),
            ("~/x", &["~", "x"]),
            ("$HOME/x", &["$HOME", "x"]),
        ] {
            if cfg!(windows) && (good.contains(':') || good == "CON" || good == "...") {
                continue;
            }
            let location = Location::parse(good).unwrap();
            assert_eq!(location.components(), components, "{good:?}");
        }
    }

    #[test]
    fn knows_the_names_of_devices() {
        for bad in ["CON", "con.txt", "a/nul", "COM1", "lpt9.bin", "a:b", "x.", "x ", ".. ", "aux .txt"] {
            assert!(refuse_windows_names(bad).is_err(), "{bad:?}");
        }
        for good in ["console", "COM", "COM0x", "com10", "x.bin", "./x", "lpt"] {
            assert!(refuse_windows_names(good).is_ok(), "{good:?}");
        }
    }
}
