//! Without assumptions, results are those with assumptions, or coarser.

use onnx_schema::all;
use onnx_shape_infer::{InferOptions, Inference, infer};

use crate::generate::{Made, Numbers, Plan, variables};
use crate::monotone::{Known, lost, lost_content};
use crate::rounds;

/// Operators whose rules need guards for some random inputs, about one in a thousand: more nodes are made of these.
const GUARDED: [&str; 6] = ["AveragePool", "LpPool", "MaxPool", "Reshape", "Slice", "Split"];

/// Infers with and without assumptions; says what is wrong, or whether there was an assumption.
fn compare(plan: &Plan) -> Result<bool, String> {
    let tell = |what: &str| Err(format!("{what}\n  {plan:?}"));
    let (plenty, few): (Made, Made) = (plan.make(), plan.make());
    let mut options = InferOptions::default();
    options.check_types = true;
    let more = infer(&plenty.model, &options);
    let less = infer(&few.model, &options.with_assumed(false));
    if less.facts().guards().next().is_some() {
        return tell("a guard");
    }
    let messages = |inference: &Inference| -> Vec<String> {
        inference.findings().diagnostics().iter().map(|found| found.message.to_string()).collect()
    };
    let known = messages(&more);
    if !known.is_empty() {
        // What must fail says nothing about its outputs.
        return Ok(false);
    }
    if let Some(found) = messages(&less).first() {
        return tell(&format!("a contradiction without assumptions: {found}"));
    }
    let variables = variables();
    let more_known = Known { inference: &more, variables };
    let less_known = Known { inference: &less, variables };
    let has_guards = more.facts().guards().next().is_some();
    for (&ours, &theirs) in plenty.outputs.iter().zip(&few.outputs) {
        let (ty, before) = (more_known.ty(ours), less_known.ty(theirs));
        if let Some(what) = lost(&more_known, &less_known, &ty, &before) {
            return tell(&format!("{what}: {before:?} without assumptions, {ty:?} with them"));
        }
        if lost_content(&more_known, &less_known, ours) {
            return tell("elements are only known without assumptions");
        }
        // Without a guard, nothing is assumed.
        if !has_guards && lost(&less_known, &more_known, &before, &ty).is_some() {
            return tell(&format!("{ty:?} without a guard becomes {before:?}"));
        }
    }
    Ok(has_guards)
}

#[test]
fn without_assumptions_nothing_is_different_or_more() {
    let variables = variables();
    let mut failures = Vec::new();
    let mut assumed = 0;
    for (index, schema) in all().iter().enumerate() {
        let rounds = rounds() * if GUARDED.contains(&schema.name()) { 100 } else { 1 };
        for round in 0..rounds {
            let mut numbers = Numbers::new(round * 1000 + index as u64 + 700_000_000);
            let plan = Plan::random(schema, &mut numbers, &variables, 0);
            match compare(&plan) {
                Ok(has_guards) => assumed += usize::from(has_guards),
                Err(problem) => failures.push(format!("{schema} {problem}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    assert!(assumed > 10, "only {assumed} nodes have guards");
}
