//! Inlining functions.

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// Number of calls that each of the other tools inlines: the most that the reference accepts, and fewer where the time grows with
/// the square of it.
const PEERS: [(&str, &str, u64); 2] =
    [("inliner", "onnx.inliner", 10_000), ("inline-pass", "ir-py InlinePass", 1_000)];

/// Inlining 10,000 calls compared with decoding the model, fewer calls compared with other tools, and how the time grows.
pub(super) fn functions(run: &mut Run) -> TaskResult {
    let path = run.model("functions", 10_000)?;
    let turns = if run.quick { 1 } else { 5 };
    let mut ours = Samples::default();
    for _ in 0..turns {
        ours.add(&run.measure(&["inline", &path, "3"])?)?;
    }
    let (inline, decode) = (ours.median("inline")?, ours.median("decode")?);
    let what = "inline 10k calls / decode the model".to_owned();
    run.push(Outcome::times("functions", what, inline, decode, Bar::AtMost(1.0)));
    run.keep("inline functions 10k", ours, Samples::default());
    other_tools(run, turns)?;
    growth(run)
}

/// The same models with other tools.
fn other_tools(run: &mut Run, turns: usize) -> TaskResult {
    for (name, tool, calls) in PEERS {
        let path = run.model("functions", calls)?;
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..turns {
            ours.add(&run.measure(&["inline", &path, "3"])?)?;
            theirs.add(&output(run.peers().args(["inline", &path, "1", name]))?)?;
        }
        let what = format!("inline {calls} calls / {tool}");
        let (inline, other) = (ours.median("inline")?, theirs.median(name)?);
        run.push(Outcome::times("functions", what, inline, other, Bar::AtMost(0.1)));
        run.keep(&format!("inline functions {calls} {name}"), ours, theirs);
    }
    Ok(())
}

/// How the time grows with the number of nodes that are created: a row for each number, and the exponent.
fn growth(run: &mut Run) -> TaskResult {
    let all = ["1000", "10000", "100000", "1000000"];
    let sizes = if run.quick { &all[..3] } else { &all[..] };
    let mut ours = Samples::default();
    let mut arguments = vec!["inline-growth", "3"];
    arguments.extend(sizes);
    ours.add(&run.measure(&arguments)?)?;
    let mut sides = Vec::new();
    for size in sizes {
        let took = ours.median(&format!("inline/{size}"))?;
        let of_node = took / size.parse().unwrap_or(1.0);
        sides.push(time(of_node));
        let what = format!("nanoseconds per node, {size} nodes created");
        run.push(Outcome { group: "functions", what, sides: time(took), value: of_node, bar: Bar::None });
    }
    let value = ours.exponent("inline")?;
    let what = "exponent of inlining, per node created".to_owned();
    let sides = sides.join(" \u{2192} ");
    run.push(Outcome { group: "functions", what, sides, value, bar: Bar::AtMost(1.25) });
    run.keep("inline growth", ours, Samples::default());
    Ok(())
}
