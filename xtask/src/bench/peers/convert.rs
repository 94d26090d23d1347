//! Conversion between versions of operator sets.

use super::{Run, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// The version to which models are converted.
const VERSION: &str = "25";

/// Converting generated models compared with the reference's converter, and how the time grows.
pub(super) fn convert(run: &mut Run) -> TaskResult {
    let turns = if run.quick { 1 } else { 3 };
    for (kind, size) in [("chain", 20_000), ("transformer", 20_000), ("subgraphs", 10_000)] {
        let path = run.model(kind, size)?;
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..turns {
            ours.add(&run.measure(&["convert", &path, VERSION, "3"])?)?;
            theirs.add(&output(run.peers().args(["convert", &path, VERSION, "1"]))?)?;
        }
        let what = format!("convert {kind} {size} / onnx.version_converter");
        let (ours_time, theirs_time) = (ours.median("convert")?, theirs.median("convert")?);
        run.push(Outcome::times("convert", what, ours_time, theirs_time, Bar::AtMost(0.05)));
        run.keep(&format!("convert {kind} {size}"), ours, theirs);
    }
    real(run)?;
    growth(run)
}

/// What the conversion of a real model must take at most, as a part of what the reference takes.
const BAR: Bar = Bar::AtMost(0.05);

/// The real models that the reference converts, if a folder of them was given.
fn real(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    let models = real_models(&folder)?;
    let (mut list, mut refused) = (Vec::new(), 0_u32);
    for path in models {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match sides(run, &path.to_string_lossy()) {
            Ok((ours, theirs)) => {
                let (ours, theirs) = (ours.median("convert")?, theirs.median("convert")?);
                list.push((ours / theirs, ours, theirs, name));
            }
            Err(_) => refused += 1,
        }
    }
    let what = format!("convert / onnx.version_converter ({refused} models refused by either)");
    run.summary("convert", &what, list, [BAR; 2]);
    Ok(())
}

/// Both sides for one model.
fn sides(run: &Run, path: &str) -> Result<(Samples, Samples), String> {
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    ours.add(&run.measure(&["convert", path, VERSION, "3"])?)?;
    theirs.add(&output(run.peers().args(["convert", path, VERSION, "1"]))?)?;
    Ok((ours, theirs))
}

/// How the time grows with the number of nodes: a row for each number, and the exponent.
fn growth(run: &mut Run) -> TaskResult {
    let all = ["1000", "10000", "100000", "1000000"];
    let sizes = if run.quick { &all[..3] } else { &all[..] };
    let mut ours = Samples::default();
    let mut arguments = vec!["convert-growth", VERSION, "3"];
    arguments.extend(sizes);
    ours.add(&run.measure(&arguments)?)?;
    let sides: Result<Vec<String>, _> = sizes
        .iter()
        .map(|size| {
            let took = ours.median(&format!("convert/{size}"))?;
            Ok::<String, String>(time(took / size.parse().unwrap_or(1.0)))
        })
        .collect();
    let sides = sides?.join(" \u{2192} ");
    let value = ours.exponent("convert")?;
    let what = "exponent of conversion, per node".to_owned();
    run.push(Outcome { group: "convert", what, sides, value, bar: Bar::AtMost(1.15) });
    run.keep("convert growth", ours, Samples::default());
    Ok(())
}
