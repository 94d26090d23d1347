//! Checking models.

use super::{Run, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// What a verdict must take at most from a file, as a part of what the reference takes.
const FILE_BAR: Bar = Bar::AtMost(0.2);

/// The same for a model in memory.
const MEMORY_BAR: Bar = Bar::AtMost(0.1);

/// Checking models of many nodes and real ones, and many nested graphs and functions.
pub(super) fn check(run: &mut Run) -> TaskResult {
    let sizes = [
        ("chain", 20_000),
        ("chain", 200_000),
        ("transformer", 20_000),
        ("subgraphs", 10_000),
        ("functions", 10_000),
    ];
    for (kind, nodes) in sizes {
        if run.quick && nodes > 20_000 {
            continue;
        }
        let path = run.model(kind, nodes)?;
        let (ours, theirs) = by_turns(run, &path, if run.quick { 1 } else { 5 }, "3")?;
        let name = format!("{kind} {}k", nodes / 1000);
        let rows = [
            ("file to verdict / check_model(path)", "check-file", "check-path", FILE_BAR),
            ("in memory / check_model(proto)", "check", "check-proto", MEMORY_BAR),
        ];
        for (what, our, their, bar) in rows {
            let (our, their) = (ours.median(our)?, theirs.median(their)?);
            run.push(Outcome::times("check", format!("{what}, {name}"), our, their, bar));
        }
        run.keep(&format!("check {name}"), ours, theirs);
    }
    real(run)?;
    growth(run)
}

/// Samples of both sides for one model.
fn by_turns(run: &Run, path: &str, turns: usize, rounds: &str) -> Result<(Samples, Samples), String> {
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for _ in 0..turns {
        ours.add(&run.measure(&["check", path, rounds])?)?;
        theirs.add(&output(run.peers().args(["check", path, rounds]))?)?;
    }
    Ok((ours, theirs))
}

/// Real models, if a folder of them was given.
fn real(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    let (mut file, mut memory) = (Vec::new(), Vec::new());
    for path in real_models(&folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (ours, theirs) = by_turns(run, &path.to_string_lossy(), 1, "3")?;
        for (our, their, list) in
            [("check-file", "check-path", &mut file), ("check", "check-proto", &mut memory)]
        {
            let (our, their) = (ours.median(our)?, theirs.median(their)?);
            list.push((our / their, our, their, name.clone()));
        }
        run.keep(&format!("check {name}"), ours, theirs);
    }
    run.summary("check", "file", file, [FILE_BAR; 2]);
    run.summary("check", "in memory", memory, [MEMORY_BAR; 2]);
    Ok(())
}

/// How times grow with the number of nested graphs and of functions.
fn growth(run: &mut Run) -> TaskResult {
    let mut ours = Samples::default();
    ours.add(&run.measure(&["check-growth", "5", "1000", "3000", "10000"])?)?;
    for name in ["check-subgraphs", "check-functions"] {
        let each = ["1000", "10000"].map(|size| Ok((ours.median(&format!("{name}/{size}"))?, size)));
        let mut sides = Vec::new();
        for side in each {
            let (took, size): (f64, &str) = side.map_err(|error: String| error)?;
            sides.push(time(took / size.parse().unwrap_or(1.0)));
        }
        let value = ours.exponent(name)?;
        let (what, sides) = (format!("exponent of {name}"), sides.join(" \u{2192} "));
        run.push(Outcome { group: "check", what, sides, value, bar: Bar::AtMost(1.25) });
    }
    run.keep("check growth", ours, Samples::default());
    Ok(())
}
