//! Inferring types and shapes.

use super::{Run, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples};

/// The models without declared types in between: kind, nodes, turns, and rounds of the slowest side. On nested graphs and
/// functions, time grows with the square of their number for the reference.
const MODELS: &[(&str, u64, u32, u32)] = &[
    ("chain", 20_000, 3, 1),
    ("bare", 12_000, 3, 1),
    ("chain", 200_000, 3, 0),
    ("subgraphs", 10_000, 1, 0),
    ("functions", 10_000, 1, 0),
];

/// Inference from bytes to bytes, and growth.
pub(super) fn infer(run: &mut Run) -> TaskResult {
    let models = if run.quick { MODELS.get(..1).unwrap_or_default() } else { MODELS };
    for &(kind, nodes, turns, symbolic) in models {
        let path = run.model(kind, nodes)?;
        let name = format!("{} {}k", if kind == "bare" { "transformer" } else { kind }, nodes / 1000);
        sides(run, &path, &name, turns, symbolic)?;
    }
    real(run)?;
    growth(run)
}

/// What inference must take at most, as a part of what the reference takes.
const BAR: Bar = Bar::AtMost(0.1);

/// The same for the symbolic inference of onnxruntime.
const SYMBOLIC: Bar = Bar::AtMost(0.01);

/// Interleaved samples of both sides for one model.
fn by_turns(run: &Run, path: &str, turns: u32, symbolic: u32) -> Result<(Samples, Samples), String> {
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for turn in 0..turns {
        ours.add(&run.measure(&["infer", path, "5"])?)?;
        let symbolic = if turn == 0 { symbolic } else { 0 };
        theirs.add(&output(run.peers().args(["infer", path, "2", &symbolic.to_string()]))?)?;
    }
    Ok((ours, theirs))
}

/// Both sides for one generated model.
fn sides(run: &mut Run, path: &str, name: &str, turns: u32, symbolic: u32) -> TaskResult {
    let (ours, theirs) = by_turns(run, path, if run.quick { 1 } else { turns }, symbolic)?;
    let (our, their) = (ours.median("infer-bytes")?, theirs.median("infer-bytes")?);
    run.push(Outcome::times("infer", format!("bytes to bytes / onnx, {name}"), our, their, BAR));
    if let Ok(their) = theirs.median("infer-symbolic") {
        let what = format!("bytes to bytes / onnxruntime symbolic, {name}");
        run.push(Outcome::times("infer", what, our, their, SYMBOLIC));
    }
    let alone = ours.median("infer")?;
    run.push(Outcome::times("infer", format!("inference only / onnx, {name}"), alone, their, Bar::None));
    run.keep(&format!("infer {name}"), ours, theirs);
    Ok(())
}

/// On how many real models the symbolic inference of onnxruntime is measured. Each takes a process that first loads the
/// runtime, which can cost more than all else that is done with the model.
const SYMBOLIC_MODELS: usize = 12;

/// Real models, if a folder of them was given.
fn real(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    let models = real_models(&folder)?;
    let chosen = evenly_spaced(models.len(), SYMBOLIC_MODELS);
    let (mut onnx, mut symbolic) = (Vec::new(), Vec::new());
    for (index, path) in models.iter().enumerate() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let rounds = u32::from(chosen.contains(&index));
        match by_turns(run, &path.to_string_lossy(), 1, rounds) {
            Ok((ours, theirs)) => {
                let our = ours.median("infer-bytes")?;
                for (key, list) in [("infer-bytes", &mut onnx), ("infer-symbolic", &mut symbolic)] {
                    if let Ok(their) = theirs.median(key) {
                        list.push((our / their, our, their, name.clone()));
                    }
                }
                run.keep(&format!("infer {name}"), ours, theirs);
            }
            Err(error) => println!("leaving out {name}: {}", error.lines().last().unwrap_or_default()),
        }
    }
    run.summary("infer", "bytes to bytes / onnx", onnx, [BAR; 2]);
    let what =
        format!("bytes to bytes / onnxruntime symbolic, tried on {} of {}", chosen.len(), models.len());
    run.summary("infer", &what, symbolic, [SYMBOLIC; 2]);
    Ok(())
}

/// The indices of at most `most` of `count` items, at equal distances from the first to the last.
fn evenly_spaced(count: usize, most: usize) -> Vec<usize> {
    let (last, steps) = (count.saturating_sub(1), most.saturating_sub(1).max(1));
    if count <= most { (0..count).collect() } else { (0..most).map(|step| step * last / steps).collect() }
}

/// How the time grows with the number of nodes.
fn growth(run: &mut Run) -> TaskResult {
    let sizes: &[u64] = if run.quick { &[1_000, 10_000] } else { &[10_000, 100_000, 1_000_000] };
    for kind in ["chain", "bare"] {
        let mut samples = Samples::default();
        for &size in sizes {
            let path = run.model(kind, size)?;
            let mut one = Samples::default();
            one.add(&run.measure(&["infer", &path, "3"])?)?;
            samples.0.insert(format!("infer/{size}"), one.0.remove("infer").unwrap_or_default());
        }
        let value = samples.exponent("infer")?;
        let what = format!("growth of inference, {kind}, {sizes:?} nodes");
        run.push(Outcome { group: "infer", what, sides: String::new(), value, bar: Bar::AtMost(1.25) });
        run.keep(&format!("infer growth {kind}"), samples, Samples::default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_things_are_all_chosen_and_many_from_end_to_end() {
        assert!(evenly_spaced(0, 3).is_empty());
        assert_eq!(evenly_spaced(3, 3), [0, 1, 2]);
        assert_eq!(evenly_spaced(9, 3), [0, 4, 8]);
        assert_eq!(evenly_spaced(85, 12), [0, 7, 15, 22, 30, 38, 45, 53, 61, 68, 76, 84]);
        assert_eq!(evenly_spaced(5, 1), [0]);
    }
}
