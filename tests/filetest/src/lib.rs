//! File tests: models as text whose comments say what is expected.
//!
//! A file begins with its directives, comments such as `#! check data`: the kind of test, which has a module here, and
//! words that it understands. The kinds find something out about the text; what they find must be what the comments
//! `# error: CODE "text"` expect ([`expect`]). `docs/testing.md` has the details.
//!
//! The crates of the workspace depend on this one only for their tests: each has its file tests in `tests/filetests`,
//! and turns on the features for the kinds that it has.
#![forbid(unsafe_code)]

#[cfg(feature = "check")]
mod check;
mod directory;
#[cfg(feature = "infer")]
mod example;
pub mod expect;
#[cfg(feature = "infer")]
pub mod given;
#[cfg(feature = "infer")]
mod infer;
#[cfg(any(feature = "infer", feature = "run"))]
mod marks;
pub mod pages;
#[cfg(feature = "pass")]
mod pass;
#[cfg(feature = "roundtrip")]
mod roundtrip;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "text")]
mod text;

#[cfg(feature = "check")]
pub use check::check_diagnostics;
pub use directory::{files, run_directory};
#[cfg(feature = "infer")]
pub use example::{Example, Range, examples};
use expect::{Finding, Strictness};

/// What a kind of test found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings, in any order.
    pub findings: Vec<Finding>,
    /// The expected text, if the test is about that, without directives.
    pub body: Option<String>,
}

/// What a kind of test does with a text, given the words behind its name; an error is something that no comment can
/// expect.
type Kind = fn(text: &str, words: &[&str]) -> Result<Outcome, String>;

const KINDS: &[(&str, Kind)] = &[
    #[cfg(feature = "check")]
    ("check", check::run),
    #[cfg(feature = "infer")]
    ("infer", infer::run),
    #[cfg(feature = "pass")]
    ("pass", pass::run),
    #[cfg(feature = "roundtrip")]
    ("roundtrip", roundtrip::run),
    #[cfg(feature = "run")]
    ("run", run::run),
    #[cfg(feature = "text")]
    ("text", text::run),
];

/// Runs the tests of a file.
///
/// # Errors
///
/// When a test fails: what is expected and not found, and what is found and not expected.
pub fn run(text: &str) -> Result<(), String> {
    let mut report = String::new();
    for (first, section) in sections(text) {
        if let Err(failure) = outcome(section).and_then(|outcome| judge(section, &outcome)) {
            let from =
                if first > 1 { format!("in the test that begins at line {first}:\n") } else { String::new() };
            report.push_str(&format!("{from}{failure}"));
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// The tests of a file, each with its first line. A test begins with comments in the first column, of which one is a directive.
pub fn sections(text: &str) -> Vec<(usize, &str)> {
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let (mut offset, mut comments) = (0, None);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match line.strip_prefix('#') {
            Some(comment) => {
                let start = *comments.get_or_insert((number, offset));
                if comment.starts_with('!') && starts.last() != Some(&start) {
                    starts.push(start);
                }
            }
            None => comments = None,
        }
        offset += line.len();
    }
    if let Some(first) = starts.first_mut() {
        *first = (1, 0);
    }
    let ends = starts.iter().skip(1).map(|&(_, at)| at).chain([text.len()]);
    let section = |((number, start), end): (_, usize)| (number, text.get(start..end).unwrap_or_default());
    let sections: Vec<_> = starts.iter().copied().zip(ends).map(section).collect();
    // A file without a directive is one test, which fails.
    if sections.is_empty() { vec![(1, text)] } else { sections }
}

/// Compares what a file expects with what came out.
fn judge(text: &str, outcome: &Outcome) -> Result<(), String> {
    if let Some(wanted) = &outcome.body {
        let (_, body) = split(text);
        if body != wanted {
            return Err(format!("the text should be\n{wanted}"));
        }
    }
    expect::compare(&expect::expectations(text)?, &outcome.findings, Strictness::Full)
}

/// The file with the expectations that make its tests pass: those that pass are as they are, whatever their expectations leave
/// out.
///
/// # Errors
///
/// When a test fails for a reason that no expectation can mend.
pub fn bless(text: &str) -> Result<String, String> {
    let mut blessed = String::new();
    for (first, section) in sections(text) {
        let section = bless_one(section);
        blessed
            .push_str(&section.map_err(|error| format!("in the test that begins at line {first}: {error}"))?);
    }
    Ok(blessed)
}

fn bless_one(text: &str) -> Result<String, String> {
    let outcome = outcome(text)?;
    if judge(text, &outcome).is_ok() {
        return Ok(text.to_owned());
    }
    match outcome.body {
        Some(body) => expect::rewrite(&format!("{}{body}", split(text).0), &outcome.findings),
        None => expect::rewrite(text, &outcome.findings),
    }
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let mut all = Outcome::default();
    let mut any = false;
    for words in directives(text) {
        let (&kind, words) = words.split_first().ok_or("a directive names no kind of test")?;
        let known = KINDS.iter().find(|(name, _)| *name == kind);
        let (_, run) = known.ok_or_else(|| format!("unknown kind of test `{kind}`"))?;
        let outcome = run(text, words)?;
        all.findings.extend(outcome.findings);
        all.body = outcome.body.or(all.body);
        any = true;
    }
    if any { Ok(all) } else { Err("the file begins with no directive such as `#! check`".to_owned()) }
}

/// The words of the directives that a test begins with.
fn directives(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let comments = text.lines().map_while(|line| line.strip_prefix('#'));
    // Further words of the line may be expectations, which begin with another `#`.
    let directives = comments.filter_map(|line| line.strip_prefix('!'));
    directives.map(|line| line.split('#').next().unwrap_or_default().split_whitespace().collect())
}

/// The comments that a file begins with, and the rest.
fn split(text: &str) -> (&str, &str) {
    let length = text.split_inclusive('\n').take_while(|line| line.starts_with('#')).map(str::len).sum();
    text.split_at(length)
}

#[cfg(all(test, feature = "check", feature = "roundtrip", feature = "text"))]
mod tests {
    use super::*;

    const WRONG: &str = "#! check\n<ir_version: 10, opset_import: [\"\": 18]>\ng (float[N] x) => (float[N] y) {\n  y = Rellu (x)\n}\n";

    #[test]
    fn blessed_files_pass() {
        assert!(run(WRONG).unwrap_err().contains("ONNX2303"));
        let blessed = bless(WRONG).unwrap();
        assert!(
            blessed.contains("y = Rellu (x)  # error: ONNX2303 \"ONNX has no operator `Rellu`\"\n"),
            "{blessed}"
        );
        run(&blessed).unwrap();
        assert_eq!(bless(&blessed).unwrap(), blessed);
        // What is gone is taken out.
        let repaired = blessed.replace("Rellu (x)", "Relu (x)");
        assert!(run(&repaired).unwrap_err().contains("not found"));
        assert_eq!(bless(&repaired).unwrap(), WRONG.replace("Rellu", "Relu"));
    }

    #[test]
    fn a_file_has_several_tests() {
        let right = WRONG.replace("Rellu", "Relu");
        let file = format!("{right}\n# The second.\n{WRONG}");
        let found: Vec<_> = sections(&file).into_iter().map(|(first, text)| (first, text.len())).collect();
        assert_eq!(found, [(1, right.len() + 1), (7, WRONG.len() + 14)]);
        let report = run(&file).unwrap_err();
        assert!(report.starts_with("in the test that begins at line 7:\nnot expected: line 5:"), "{report}");
        let blessed = bless(&file).unwrap();
        assert!(blessed.starts_with(&right), "{blessed}");
        run(&blessed).unwrap();
    }

    #[test]
    fn texts_take_their_canonical_layout() {
        let text = "#! roundtrip\n# About it.\n<ir_version: 10>\ng () => () { }\n";
        run(text).unwrap_err();
        let blessed = bless(text).unwrap();
        assert!(blessed.starts_with("#! roundtrip\n# About it.\n<\n   ir_version: 10\n>\n"), "{blessed}");
        run(&blessed).unwrap();
    }

    #[test]
    fn directives_are_known() {
        for (text, message) in [
            ("g () => () { }", "begins with no directive"),
            ("#! chekc\n", "unknown kind of test `chekc`"),
            ("#!\n", "names no kind"),
            ("#! check dta\n<ir_version: 10>\ng () => () { }", "`dta`"),
            ("#! text as=thing\ng () => () { }", "`as=thing`"),
        ] {
            let error = run(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
