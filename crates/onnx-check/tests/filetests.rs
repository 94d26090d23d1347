//! Runs the file tests in `tests/filetests`; `BLESS=1` rewrites what they expect.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::{Path, PathBuf};

use onnx_filetest::{check_diagnostics, files, run_directory, sections};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests")
}

#[test]
fn files_hold_what_they_expect() {
    match run_directory(&root()) {
        Ok(count) => assert!(count >= 27, "{count} files"),
        Err(report) => panic!("\n{report}"),
    }
}

/// The file of the loci and the help of what the file tests of the rules find.
const LOCI: &str = "tests/filetest_loci.txt";

/// The locus and the help of each diagnostic in the file tests of the rules. `BLESS=1` writes the file.
#[test]
fn diagnostics_of_file_tests_have_their_loci() {
    let mut loci = String::new();
    for path in files(&root().join("rules")).unwrap() {
        let text = std::fs::read_to_string(&path).unwrap();
        loci.push_str(&format!("{}\n", path.file_name().unwrap().display()));
        for (first, section) in sections(&text) {
            for found in check_diagnostics(section).unwrap() {
                let help = found.help.as_deref().unwrap_or("-");
                loci.push_str(&format!("{first}: {} {}\n   {help}\n", found.rule.id(), found.locus));
            }
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(LOCI, &loci).unwrap();
    }
    let expected = std::fs::read_to_string(LOCI).unwrap();
    for (found, expected) in loci.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(loci.lines().count(), expected.lines().count());
}
