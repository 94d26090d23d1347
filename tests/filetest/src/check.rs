//! `#! check`: the diagnostics of the checker for a model. `data` also checks the elements of tensors, and
//! `refuse-custom` reports unknown operators.

use onnx_check::{CheckOptions, CustomOperators, check};
use onnx_text::{ParseOptions, parse_model};

use super::{Finding, Outcome};

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let mut options = CheckOptions::default();
    for word in words {
        match *word {
            "data" => options.elements = true,
            "refuse-custom" => options.custom_operators = CustomOperators::Refuse,
            word => return Err(format!("`check` does not know `{word}`")),
        }
    }
    let model = parse_model(text, &ParseOptions::default())
        .map_err(|error| format!("the text has errors: {error}"))?;
    let findings = check(&model, &options);
    Ok(Outcome { findings: findings.diagnostics().iter().map(Finding::new).collect(), body: None })
}
