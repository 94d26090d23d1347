//! Passes: the common ones, a pipeline, and how its time grows.

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// Our passes and the one of onnx-ir that does the same, where the model has something to do for both.
const COMMON: &[(&str, &str)] = &[
    ("sorted", "TopologicalSortPass"),
    ("no-dead-nodes", "RemoveUnusedNodesPass"),
    ("no-unused-imports", "RemoveUnusedOpsetsPass"),
    ("no-unused-functions", "RemoveUnusedFunctionsPass"),
    ("no-identities", "IdentityEliminationPass"),
    ("unique-subexpressions", "CommonSubexpressionEliminationPass"),
    ("unique-constants", "DeduplicateInitializersPass"),
    ("constants-as-initializers", "LiftConstantsToInitializersPass"),
    ("no-nested-initializers", "LiftSubgraphInitializersToMainGraphPass"),
    ("initializers-as-inputs", "AddInitializersToInputsPass"),
    ("no-initializer-inputs", "RemoveInitializersFromInputsPass"),
    ("explicit-default-attributes", "AddDefaultAttributesPass"),
    ("unique-names", "NameFixPass"),
    ("no-documentation", "ClearMetadataAndDocStringPass"),
    ("value-info", "ShapeInferencePass"),
];

/// What a pass must take at most, as a part of what the one of onnx-ir takes.
const COMMON_BAR: Bar = Bar::AtMost(0.05);

/// How often a file may be read in the time of the pipeline.
const READS: f64 = 10.0;

/// The common passes, a pipeline of twenty of them, and its growth.
pub(super) fn passes(run: &mut Run) -> TaskResult {
    common(run)?;
    pipeline(run)?;
    growth(run)
}

/// Each common pass on a model with something to do for most of them.
fn common(run: &mut Run) -> TaskResult {
    let nodes = if run.quick { 2_000 } else { 20_000 };
    let path = run.model("redundant", nodes)?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for turn in 0..if run.quick { 1 } else { 3 } {
        ours.add(&run.measure(&["passes", &path, "3"])?)?;
        if turn < 2 {
            theirs.add(&output(run.peers().args(["passes", &path, "1"]))?)?;
        }
    }
    let size = format!("redundant {}k", nodes / 1000);
    for (our, their) in COMMON {
        let (one, two) = (ours.median(our)?, theirs.median(their)?);
        let what = format!("{our} / ir-py {their}, {size}");
        run.push(Outcome::times("passes", what, one, two, COMMON_BAR));
    }
    let context = (ours.median("context")?, ours.median("decode")?);
    let what = format!("context, which a pipeline makes once / decode, {size}");
    run.push(Outcome::times("passes", what, context.0, context.1, Bar::None));
    run.keep(&format!("passes {size}"), ours, theirs);
    Ok(())
}

/// Other tools that run several passes.
const TOOLS: [&str; 3] = ["onnx-ir", "onnxoptimizer", "onnxslim"];

/// A pipeline with structure, rules and types proved, compared with reading the file, and with other optimizers on the same
/// file.
fn pipeline(run: &mut Run) -> TaskResult {
    let nodes = if run.quick { 2_000 } else { 20_000 };
    for kind in ["chain", "transformer", "redundant"] {
        let path = run.model(kind, nodes)?;
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..if run.quick { 1 } else { 5 } {
            ours.add(&run.measure(&["pipeline", &path, "3"])?)?;
        }
        let name = format!("{kind} {}k", nodes / 1000);
        let (our, load) = (ours.median("pipeline")?, ours.median("load")?);
        let what = format!("20 passes / reading the file {READS} times, {name}");
        run.push(Outcome::times("passes", what, our, READS * load, Bar::AtMost(1.0)));
        for tool in TOOLS {
            let what = format!("20 passes / {tool}, {name}");
            // Their time on long chains is minutes; once is enough for a ratio of such size.
            let row = match output(run.peers().args(["optimize", tool, &path])) {
                Ok(printed) => {
                    theirs.add(&printed)?;
                    Outcome::times("passes", what, our, theirs.median(tool)?, Bar::None)
                }
                Err(error) => {
                    println!("leaving out {tool}: {}", error.lines().last().unwrap_or_default());
                    Outcome::without("passes", what, "it failed, or took too long")
                }
            };
            run.push(row);
        }
        run.keep(&format!("pipeline {name}"), ours, theirs);
    }
    Ok(())
}

/// How the time of the pipeline grows with the number of nodes.
fn growth(run: &mut Run) -> TaskResult {
    let all = ["1000", "10000", "100000", "1000000"];
    let sizes = if run.quick { &all[..2] } else { &all[..] };
    for kind in ["chain", "redundant"] {
        let mut ours = Samples::default();
        let mut arguments = vec!["pipeline-growth", kind, "3"];
        arguments.extend(sizes);
        ours.add(&run.measure(&arguments)?)?;
        let mut sides = Vec::new();
        for size in [sizes.first(), sizes.last()].into_iter().flatten() {
            sides.push(time(ours.median(&format!("pipeline/{size}"))? / size.parse().unwrap_or(1.0)));
        }
        let value = ours.exponent("pipeline")?;
        let what = format!("exponent of 20 passes, per node, {kind}");
        let sides = sides.join(" \u{2192} ");
        run.push(Outcome { group: "passes", what, sides, value, bar: Bar::AtMost(1.25) });
        run.keep(&format!("pipeline growth {kind}"), ours, Samples::default());
    }
    Ok(())
}
