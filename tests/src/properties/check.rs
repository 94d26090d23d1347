//! The checker: it goes through with any model, and says the same every time.

use std::collections::BTreeMap;

use onnx_check::{CheckOptions, CustomOperators, Part, Profile, check_part, fix};
use onnx_diag::Sink;
use onnx_ir::Model;

use super::{equal, findings, model_of, sound};

/// Any model is checked, whole and in parts, in all ways; asking for more finds no less, and repairs leave it sound.
///
/// # Errors
///
/// What does not hold.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some(mut model) = model_of(bytes) else { return Ok(()) };
    let usual = CheckOptions::default();
    let found = onnx_check::check(&model, &usual);
    let again = onnx_check::check(&model, &usual);
    equal(&findings(&found)?, &findings(&again)?, "checking twice reports different diagnostics")?;
    let more = CheckOptions::default().with_elements(true).with_recommendations(true);
    at_most(&found, &onnx_check::check(&model, &more), "checking data reports fewer diagnostics")?;
    let fewer = CheckOptions::default().with_profile(Profile::Reference);
    at_most(&onnx_check::check(&model, &fewer), &found, "the reference's rules find more")?;
    let strict = CheckOptions::default().with_custom_operators(CustomOperators::Refuse);
    findings(&onnx_check::check(&model, &strict))?;
    parts(&model)?;
    fix(&mut model);
    sound(&model, "after repairs", true)?;
    findings(&onnx_check::check(&model, &usual)).map(drop)
}

/// No rule is broken more often in `fewer` than in `more`.
fn at_most(fewer: &Sink, more: &Sink, what: &str) -> Result<(), String> {
    findings(fewer)?;
    findings(more)?;
    let counts: BTreeMap<&str, u64> =
        more.rule_counts().map(|count| (count.rule.slug, count.found)).collect();
    for count in fewer.rule_counts() {
        let there = counts.get(count.rule.slug).copied().unwrap_or_default();
        if count.found > there {
            return Err(format!("{what}: {} {} times, not {there}", count.rule.slug, count.found));
        }
    }
    Ok(())
}

fn parts(model: &Model) -> Result<(), String> {
    let mut parts = vec![Part::Graph, Part::Inputs];
    if let Some(node) = model.nodes(model.main_graph()).next() {
        parts.extend([Part::Node(node), Part::Attributes(node), Part::Contents(node)]);
    }
    parts.extend(model.functions().first().copied().map(Part::Function));
    for part in parts {
        findings(&check_part(model, part, &CheckOptions::default()))?;
    }
    Ok(())
}
