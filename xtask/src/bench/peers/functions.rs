//! Inlining functions.

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// Inlining 10,000 calls compared with decoding the model, with other tools, and its growth.
pub(super) fn functions(run: &mut Run) -> TaskResult {
    let path = run.model("functions", 10_000)?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for _ in 0..if run.quick { 1 } else { 5 } {
        ours.add(&run.measure(&["inline", &path, "3"])?)?;
        theirs.add(&output(run.peers().args(["inline", &path, "1"]))?)?;
    }
    let (inline, decode) = (ours.median("inline")?, ours.median("decode")?);
    let what = "inline 10k calls / decode the model".to_owned();
    run.push(Outcome::times("functions", what, inline, decode, Bar::AtMost(1.0)));
    for (name, tool) in [("inliner", "onnx.inliner"), ("inline-pass", "ir-py InlinePass")] {
        let what = format!("inline 10k calls / {tool}");
        run.push(Outcome::times("functions", what, inline, theirs.median(name)?, Bar::AtMost(0.1)));
    }
    run.keep("inline functions 10k", ours, theirs);
    growth(run)
}

/// How the time grows with the number of nodes that are created.
fn growth(run: &mut Run) -> TaskResult {
    let all = ["1000", "10000", "100000", "1000000"];
    let sizes = if run.quick { &all[..3] } else { &all[..] };
    let mut ours = Samples::default();
    let mut arguments = vec!["inline-growth", "3"];
    arguments.extend(sizes);
    ours.add(&run.measure(&arguments)?)?;
    let mut sides = Vec::new();
    for size in [sizes.first(), sizes.last()].into_iter().flatten() {
        let took = ours.median(&format!("inline/{size}"))?;
        sides.push(time(took / size.parse().unwrap_or(1.0)));
    }
    let value = ours.exponent("inline")?;
    let what = "exponent of inlining, per node created".to_owned();
    let sides = sides.join(" \u{2192} ");
    run.push(Outcome { group: "functions", what, sides, value, bar: Bar::AtMost(1.25) });
    run.keep("inline growth", ours, Samples::default());
    Ok(())
}
