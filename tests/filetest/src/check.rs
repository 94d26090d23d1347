//! `#! check`: the diagnostics of the checker for a model. `data` also checks the elements of tensors, `refuse-custom` reports
//! unknown operators, `recommendations` reports what is recommended only, and `any-opset` accepts functions that import other
//! versions than the model.

use onnx_check::{CheckOptions, CustomOperators, check};
use onnx_diag::Diagnostic;
use onnx_text::{ParseOptions, parse_model};

use super::{Finding, Outcome, directives};

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let findings = diagnostics(text, words)?;
    Ok(Outcome { findings: findings.iter().map(Finding::new).collect(), body: None })
}

/// The diagnostics of a test of the checker, with their loci, labels and help.
///
/// # Errors
///
/// If the test is not one of the checker, or its text has errors.
pub fn check_diagnostics(section: &str) -> Result<Vec<Diagnostic>, String> {
    let mut directives = directives(section);
    let words = directives.find_map(|words| match words.split_first() {
        Some((&"check", words)) => Some(words.to_vec()),
        _ => None,
    });
    diagnostics(section, &words.ok_or("the test has no directive `check`")?)
}

fn diagnostics(text: &str, words: &[&str]) -> Result<Vec<Diagnostic>, String> {
    let mut options = CheckOptions::default();
    for word in words {
        match *word {
            "data" => options.elements = true,
            "refuse-custom" => options.custom_operators = CustomOperators::Refuse,
            "recommendations" => options.recommendations = true,
            "any-opset" => options.opset_compatibility = false,
            word => return Err(format!("`check` does not know `{word}`")),
        }
    }
    let model = parse_model(text, &ParseOptions::default())
        .map_err(|error| format!("the text has errors: {error}"))?;
    Ok(check(&model, &options).into_diagnostics())
}
