//! The version of the C library that a program needs, which decides on which systems it runs.

use crate::TaskResult;

/// The newest version of glibc that the command may need, which `docs/install.md` states.
const MAX_GLIBC: (u32, u32) = (2, 34);

/// Checks that a program needs no newer C library than is promised.
pub(super) fn check(program: &[u8]) -> TaskResult {
    match newest_glibc(program) {
        Some((major, minor)) if (major, minor) > MAX_GLIBC => Err(format!(
            "the command needs glibc {major}.{minor}; {}.{} is promised: `objdump -T` lists the functions",
            MAX_GLIBC.0, MAX_GLIBC.1
        )),
        _ => Ok(()),
    }
}

/// The newest version that the symbols of a program name, as major and minor numbers.
fn newest_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let starts = program.windows(PREFIX.len()).enumerate().filter(|(_, found)| *found == PREFIX);
    let version = |start: usize| {
        let rest = program.get(start + PREFIX.len()..)?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(rest.len());
        let mut numbers = std::str::from_utf8(rest.get(..end)?).ok()?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    starts.filter_map(|(start, _)| version(start)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_need_a_newer_library_are_refused() {
        assert_eq!(check(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), Ok(()));
        let problem = "the command needs glibc 2.35; 2.34 is promised: `objdump -T` lists the functions";
        assert_eq!(check(b"\0GLIBC_2.2.5\0hypot\0GLIBC_2.35\0GLIBC_2.9"), Err(problem.to_owned()));
        assert_eq!(newest_glibc(b"GLIBC_PRIVATE\0GLIBC_2."), None);
        assert_eq!(check(b"static"), Ok(()));
    }
}
