//! `onnx self-test`: whether this program answers on this machine as the reference did when its answers were recorded.

mod cases;
mod samples;

use std::fmt::Write as _;

use onnx_diag::Clean;
use serde_json::json;

use crate::args::SelfTestArgs;
use crate::exit::{Failure, Outcome};
use crate::json::JsonText;
use crate::output::{BAD, DIM, GOOD, Out, paint};
use crate::progress::Progress;
use crate::size::plural;

use samples::{Area, Samples};

/// The areas in the order of the report, with what their cases show. The codec is tested with the models of the others.
const AREAS: [(&str, Option<Area>, &str); 6] = [
    ("codec", None, "are read and written without a different byte"),
    ("evaluator", Some(Area::Evaluator), "compute the recorded outputs"),
    ("checker", Some(Area::Checker), "are accepted or refused as recorded"),
    ("inference", Some(Area::Inference), "have the recorded types and errors"),
    ("parser", Some(Area::Parser), "are read as the recorded models and errors"),
    ("simplifier", Some(Area::Simplifier), "compute the recorded outputs after edits that are proved"),
];

pub(crate) fn run(_: &SelfTestArgs, out: &mut Out) -> Result<Outcome, Failure> {
    report(&Samples::bundled()?, out)
}

fn report(samples: &Samples, out: &mut Out) -> Result<Outcome, Failure> {
    let results = results(samples);
    let all: usize = results.iter().map(|results| results.count).sum();
    let differing: usize = results.iter().map(|results| results.differing.len()).sum();
    if out.is_for_people() {
        out.text(&text(&results, &samples.reference, [all, differing])?)?;
    } else {
        out.result_kind("self-test/1", "areas");
        let items = results.iter().map(|results| {
            let differing = results.differing.iter();
            let differing = differing.map(|(name, reason)| json!({ "case": name, "reason": reason }));
            JsonText::of(&json!({
                "name": results.name,
                "reference": samples.reference,
                "cases": results.count,
                "differing": differing.collect::<Vec<_>>(),
            }))
        });
        out.items(items.collect::<Result<_, _>>()?);
    }
    Ok(if differing == 0 { Outcome::Fine } else { Outcome::Findings })
}

/// What was found in an area.
struct Results {
    name: &'static str,
    claim: &'static str,
    count: usize,
    /// The cases that differ, and how.
    differing: Vec<(String, String)>,
}

fn results(samples: &Samples) -> Vec<Results> {
    let progress = Progress::start("testing", AREAS.len());
    let areas = AREAS.iter().map(|&(name, area, claim)| {
        progress.begin(name);
        let mut results = Results { name, claim, count: 0, differing: Vec::new() };
        let mut add = |name: String, result: Result<(), String>| {
            results.count += 1;
            if let Err(reason) = result {
                results.differing.push((name, reason));
            }
        };
        match area {
            Some(area) => samples
                .cases
                .iter()
                .filter(|case| case.area == area)
                .for_each(|case| add(case.name.clone(), cases::test(case, samples))),
            None => {
                for (name, bytes) in samples.models() {
                    if let Some(result) = cases::round_trip(bytes) {
                        add(name.to_owned(), result);
                    }
                }
            }
        }
        progress.end();
        results
    });
    areas.collect()
}

fn text(results: &[Results], reference: &str, [all, differing]: [usize; 2]) -> Result<String, Failure> {
    use std::env::consts::{ARCH, OS};
    let mut text = String::new();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(text, "onnx {version} on {ARCH} {OS}, compared with what {reference} answered")?;
    for Results { name, claim, count, differing } in results {
        let fine = count - differing.len();
        let style = if differing.is_empty() { GOOD } else { BAD };
        let fine = paint(style, format!("{fine:>5}"));
        writeln!(text, "  {name:<11}{fine} of {count} cases {claim}", claim = paint(DIM, claim))?;
        for (name, reason) in differing {
            writeln!(text, "    {}: {}", Clean(name), Clean(reason))?;
        }
    }
    let all = plural(all as u64, "case");
    match differing {
        0 => writeln!(text, "{}", paint(GOOD, format!("all {all} are as recorded")))?,
        _ => {
            writeln!(text, "{}", paint(BAD, format!("{differing} of {all} are not as recorded")))?;
            writeln!(
                text,
                "   {} this program is not reliable on this machine: report it with this output",
                paint(DIM, "= help:")
            )?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of cases, and of those that differ.
    fn counts(samples: &Samples) -> Vec<(&'static str, usize, usize)> {
        let counts = results(samples).into_iter();
        counts.map(|results| (results.name, results.count, results.differing.len())).collect()
    }

    fn only(area: Area) -> Samples {
        let mut samples = Samples::bundled().unwrap();
        samples.cases.retain(|case| case.area == area);
        samples
    }

    /// Each case with the answer to the next one.
    fn differing_after(area: Area, change: impl Fn(&mut samples::Case, &samples::Case)) -> usize {
        let mut samples = only(area);
        let others = samples.cases.clone();
        for (case, other) in samples.cases.iter_mut().zip(others.iter().cycle().skip(1)) {
            change(case, other);
        }
        let results = results(&samples);
        let counts =
            results.iter().filter(|results| results.name != "codec").map(|results| results.differing.len());
        counts.sum()
    }

    #[test]
    fn recorded_answers_are_those_of_this_program() {
        let expected = [
            ("codec", 819, 0),
            ("evaluator", 140, 0),
            ("checker", 224, 0),
            ("inference", 189, 0),
            ("parser", 161, 0),
            ("simplifier", 53, 0),
        ];
        assert_eq!(counts(&Samples::bundled().unwrap()), expected);
    }

    /// Neighbors can have equal answers, and an inferred type can state less than the one here.
    #[test]
    fn other_answers_are_reported() {
        // 30 models are refused for defects that the reference has no check for: if it accepted them, nothing would differ.
        assert_eq!(differing_after(Area::Checker, |case, _| case.refused = !case.refused), 194);
        let outputs =
            |case: &mut samples::Case, other: &samples::Case| case.outputs.clone_from(&other.outputs);
        let result = |case: &mut samples::Case, other: &samples::Case| case.result = other.result;
        assert!(differing_after(Area::Evaluator, outputs) > 100);
        assert!(differing_after(Area::Simplifier, outputs) > 25);
        assert!(differing_after(Area::Inference, result) > 60);
        assert!(differing_after(Area::Parser, result) > 100);
    }

    #[test]
    fn a_difference_is_named_and_ends_with_status_1() {
        let mut samples = only(Area::Checker);
        samples.cases.truncate(2);
        samples.cases[1].refused = !samples.cases[1].refused;
        samples.cases[1].name = "a\u{1b}[31m".to_owned();
        let results = results(&samples);
        let text = text(&results, "onnx 1", [224, 1]).unwrap();
        assert!(text.contains("\n    a\\u{1b}[31m: the reference "), "{text}");
        assert!(text.contains("1 of 224 cases are not as recorded"), "{text}");
        let mut out = Out::new(crate::args::Color::Never, "self-test", crate::report::ReportFormat::Json);
        assert_eq!(report(&samples, &mut out).unwrap(), Outcome::Findings);
    }
}
