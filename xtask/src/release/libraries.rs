//! What a program needs of a system, which decides on which systems it runs.

use crate::TaskResult;

/// The type of the segment that names the loader of a program.
const LOADER: u32 = 3;

/// Checks that a program is linked statically: it has no loader, which would find its libraries.
pub(super) fn check(program: &[u8]) -> TaskResult {
    match loader(program) {
        Some(None) => Ok(()),
        Some(Some(path)) => {
            Err(format!("the command needs {path} and libraries of the system; it must be linked statically"))
        }
        None => Err("the command is not a program for Linux on a 64-bit processor".to_owned()),
    }
}

/// The loader that a program names; `None` if this is not an ELF file of 64-bit numbers in little-endian order.
fn loader(program: &[u8]) -> Option<Option<String>> {
    if program.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let number = |offset: u64, bytes: usize| {
        let start = usize::try_from(offset).ok()?;
        let mut found = [0; 8];
        found.get_mut(..bytes)?.copy_from_slice(program.get(start..start.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(found))
    };
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let segment = table.checked_add(index * size)?;
        if number(segment, 4)? == u64::from(LOADER) {
            let (start, size) = (number(segment.checked_add(8)?, 8)?, number(segment.checked_add(32)?, 8)?);
            let (start, end) =
                (usize::try_from(start).ok()?, usize::try_from(start.checked_add(size)?).ok()?);
            let path = String::from_utf8_lossy(program.get(start..end)?);
            return Some(Some(path.trim_end_matches('\0').to_owned()));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with two segments, of which the second one has this type and the path of a loader.
    fn program(kind: u32) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64 + 2 * 56, 0);
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 2;
        let segment = 64 + 56;
        bytes[64] = 1;
        bytes[segment..segment + 4].copy_from_slice(&kind.to_le_bytes());
        bytes[segment + 8] = u8::try_from(bytes.len()).unwrap();
        bytes[segment + 32] = 8;
        bytes.extend(b"/lib/ld\0");
        bytes
    }

    #[test]
    fn programs_that_need_libraries_are_refused() {
        assert_eq!(check(&program(2)), Ok(()));
        let problem = "the command needs /lib/ld and libraries of the system; it must be linked statically";
        assert_eq!(check(&program(LOADER)), Err(problem.to_owned()));
        let problem = "the command is not a program for Linux on a 64-bit processor";
        assert_eq!(check(b"\x7fELF\x01\x01"), Err(problem.to_owned()));
        assert_eq!(check(&program(LOADER)[..100]), Err(problem.to_owned()));
        // The program that runs this test is linked dynamically.
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
            assert!(loader(&this).unwrap().unwrap().contains("/ld-linux"));
        }
    }
}
