//! Which schemas are reached, and that everything which is made is valid.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, infer};
use onnx_smith::{Made, SmithOptions, from_seed};

/// What is wrong with a generated model.
fn problem(model: &Model) -> Option<String> {
    if let Err(fault) = model.verify() {
        return Some(format!("verify: {fault:?}"));
    }
    let options = CheckOptions::default().with_elements(true);
    if let Some(found) =
        check(model, &options).diagnostics().iter().find(|found| found.severity == onnx_diag::Severity::Error)
    {
        return Some(format!("check: {} {}", found.locus, found.message));
    }
    let mut options = InferOptions::default();
    options.check_types = true;
    let copy = model.clone();
    let inference = infer(&copy, &options);
    let found = inference.findings().diagnostics().first()?;
    Some(format!("infer: {} {}", found.locus, found.message))
}

/// How many seeds an operator may need.
const SEEDS: u64 = 24;

#[test]
fn every_operator_of_every_version_is_reached() {
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    for schema in onnx_schema::all().iter().filter(|schema| !schema.is_deprecated()) {
        let options = SmithOptions::default().with_nodes(3).with_schema(schema.id());
        let mut is_reached = false;
        for seed in 0..SEEDS {
            let Made { model, stats } = from_seed(seed * 1000 + schema.id().index() as u64, &options);
            if let Some(problem) = problem(&model) {
                wrong.push(format!("{schema} seed {seed}: {problem}"));
            }
            is_reached = stats.made(schema.id()) > 0;
            if is_reached {
                break;
            }
        }
        if !is_reached {
            missing.push(schema.to_string());
        }
    }
    println!("{} missing: {}", missing.len(), missing.join(" "));
    println!("{} wrong:\n{}", wrong.len(), wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n"));
    assert!(missing.is_empty() && wrong.is_empty());
}
