//! The defects of claims.

use onnx_diag::{Rule, Severity};

/// A run refutes a claim, or the claim cannot be run.
pub static REFUTED_CLAIM: Rule =
    Rule::new(6004, "refuted-claim", Severity::Error, "The two sides of a claim compute different results.")
        .with_explain(include_str!("rules/refuted-claim.md"));

/// The rules about claims, by ascending code.
pub static RULES: &[&Rule] = &[&REFUTED_CLAIM];
