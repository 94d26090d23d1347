//! Simplification: other simplifiers, growth with the model, and with the number of rules.

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// Other simplifiers.
const TOOLS: [&str; 4] = ["onnxsim", "onnxslim", "onnxscript", "onnxoptimizer"];

/// What our simplification must take at most, as a part of what the fastest of the others takes.
const BAR: Bar = Bar::AtMost(0.05);

/// Generated rules of one sweep.
const RULES: [&str; 3] = ["10", "100", "1000"];

pub(super) fn simplify(run: &mut Run) -> TaskResult {
    compared(run)?;
    growth(run)?;
    super::simplifiers::simplifiers(run)
}

/// The same files with each of the tools. The number of nodes afterwards is in the name of the row.
fn compared(run: &mut Run) -> TaskResult {
    let sizes = if run.quick { [2_000, 1_000] } else { [20_000, 11_302] };
    for (kind, nodes) in ["chain", "transformer"].into_iter().zip(sizes) {
        let path = run.model(kind, nodes)?;
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        ours.add(&run.measure(&["simplify", &path, "5"])?)?;
        let (our, left) = (ours.median("simplify")?, ours.median("simplify-nodes")?);
        for tool in TOOLS {
            let row = match output(run.peers().args(["optimize", tool, &path])) {
                Ok(printed) => {
                    theirs.add(&printed)?;
                    let others = theirs.median(&format!("{tool}-nodes"))?;
                    let what = format!("simplify / {tool}, {kind} {nodes}: {left} and {others} nodes");
                    Outcome::times("simplify", what, our, theirs.median(tool)?, BAR)
                }
                Err(error) => {
                    println!("leaving out {tool}: {}", error.lines().last().unwrap_or_default());
                    let what = format!("simplify / {tool}, {kind} {nodes}: {left} nodes");
                    Outcome::without("simplify", what, "it failed, or took too long")
                }
            };
            run.push(row);
        }
        run.keep(&format!("simplify {kind} {nodes}"), ours, theirs);
    }
    Ok(())
}

/// How the time grows with the number of nodes, and with the number of rules.
fn growth(run: &mut Run) -> TaskResult {
    let all = ["1000", "10000", "100000", "1000000"];
    let sizes = if run.quick { &all[..2] } else { &all[..] };
    let mut ours = Samples::default();
    let mut arguments = vec!["simplify-growth", "3"];
    arguments.extend(sizes);
    ours.add(&run.measure(&arguments)?)?;
    let mut sides = Vec::new();
    for size in [sizes.first(), sizes.last()].into_iter().flatten() {
        sides.push(time(ours.median(&format!("simplify/{size}"))? / size.parse().unwrap_or(1.0)));
    }
    let value = ours.exponent("simplify")?;
    let what = "exponent of simplify, per node, chain".to_owned();
    let sides = sides.join(" \u{2192} ");
    run.push(Outcome { group: "simplify", what, sides, value, bar: Bar::AtMost(1.25) });
    let mut arguments = vec!["sweep"];
    arguments.extend(RULES);
    ours.add(&run.measure(&arguments)?)?;
    for pair in RULES.windows(2) {
        let [fewer, more] = pair else { continue };
        let (few, many) = (ours.median(&format!("sweep/{fewer}"))?, ours.median(&format!("sweep/{more}"))?);
        let what = format!("a sweep of {more} rules / of {fewer}, transformer 11k");
        run.push(Outcome::times("simplify", what, many, few, Bar::None));
    }
    run.keep("simplify growth", ours, Samples::default());
    Ok(())
}
