//! `#! pass NAME`: models before and after a pass.
//!
//! A file holds several models. Each is followed by comments that begin with `#>` and have the result: the model as text,
//! and a line for each verdict, refusal and node that is left with its reason. `BLESS=1` writes them; compare the result with what the
//! page of the pass promises.
//!
//! Words: the names of the passes, separated by commas; `exact` allows exact edits only, `guards` allows those that depend on
//! guards of inferred results, and `no-nan`, `finite` and `no-negative-zero` grant a condition.

use onnx_pass::{Condition, Exactness, PassOptions, Pipeline, PipelineReport};
use onnx_schema::Registry;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

use super::{Outcome, split};

/// Begins the lines of a result.
const RESULT: &str = "#>";

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let (&names, words) = words.split_first().ok_or("the directive names no pass")?;
    let names: Vec<&str> = names.split(',').collect();
    let pipeline = Pipeline::named(&names, Registry::STANDARD).map_err(|error| error.to_string())?;
    let mut body = String::new();
    for model in models(split(text).1) {
        body.push_str(&model);
        body.push_str(&result(&model, &pipeline, words)?);
    }
    Ok(Outcome { findings: Vec::new(), body: Some(body) })
}

/// The models of a file, each with what precedes it, without their results.
fn models(body: &str) -> Vec<String> {
    let mut models = vec![String::new()];
    let mut is_result = false;
    for line in body.split_inclusive('\n') {
        if line.starts_with(RESULT) {
            is_result = true;
            continue;
        }
        if std::mem::take(&mut is_result) {
            models.push(String::new());
        }
        if let Some(model) = models.last_mut() {
            model.push_str(line);
        }
    }
    models.retain(|model| !model.trim().is_empty());
    models
}

fn result(text: &str, pipeline: &Pipeline, words: &[&str]) -> Result<String, String> {
    let mut model = parse_model(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let mut conditions = Vec::new();
    let mut options = PassOptions::default().with_untested(true);
    for &word in words {
        match word {
            "exact" => options = options.with_class(Exactness::Exact),
            "guards" => options = options.with_assumed(true),
            "no-nan" => conditions.push(Condition::NoNan),
            "finite" => conditions.push(Condition::Finite),
            "no-negative-zero" => conditions.push(Condition::NoNegativeZero),
            _ => return Err(format!("`pass` does not know `{word}`")),
        }
    }
    let done = pipeline.run(&mut model, &options.with_conditions(&conditions));
    model.verify().map_err(|faults| format!("the graph does not fit together: {faults:?}"))?;
    let printed = print_model(&model, &PrintOptions::default()).map_err(|error| error.to_string())?.text;
    let mut result = String::new();
    for line in printed.lines().map(str::to_owned).chain(notes(&done)) {
        for line in line.lines() {
            result.push_str(format!("{RESULT} {line}").trim_end());
            result.push('\n');
        }
    }
    Ok(result)
}

/// The verdicts, refusals and the nodes that are left.
fn notes(done: &PipelineReport) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for entry in &done.journal {
        // The number of runs is not what a test is about.
        let verdict = match &entry.verdict {
            onnx_pass::Verdict::Tested { .. } => "tested".to_owned(),
            verdict => verdict.to_string(),
        };
        let times = if entry.edits == 1 { String::new() } else { format!(" ({} edits)", entry.edits) };
        notes.push(format!("{}: {}, {verdict}{times}", entry.pass, entry.class.name()));
        notes.extend(entry.assumed.iter().map(|guard| format!("  if {guard}")));
    }
    for pass in &done.passes {
        notes.extend(pass.report.refusals.iter().map(|refusal| format!("refused: {refusal}")));
        notes.extend(pass.report.missed.iter().map(|missed| format!("{} leaves {missed}", pass.name)));
    }
    notes
}
