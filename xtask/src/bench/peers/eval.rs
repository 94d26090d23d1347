//! Running models.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Run, keeping_memory, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples};

/// What a run must take at most, as a part of what the reference takes.
const REFERENCE: Bar = Bar::AtMost(0.1);

/// What the median of the models must take at most, relative to onnxruntime without optimization, with one thread each.
const RUNTIME: f64 = 4.0;

/// The same for every model.
const RUNTIME_WORST: f64 = 10.0;

const MIB: f64 = (1 << 20) as f64;

/// Running real models, if a folder of them was given, and the growth of planning.
pub(super) fn eval(run: &mut Run) -> TaskResult {
    real(run)?;
    growth(run)
}

/// Samples of both sides for one model.
struct Sides {
    name: String,
    ours: Samples,
    theirs: Samples,
}

fn real(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    let mut models = one_of_each_family(real_models(&folder)?);
    if run.quick {
        models.truncate(2);
    }
    let mut measured = Vec::new();
    for path in models {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match sides(run, &path, name.clone()) {
            Ok(sides) => measured.push(sides),
            Err(error) => println!("leaving out {name}: {}", error.lines().last().unwrap_or_default()),
        }
    }
    rows(run, &measured)?;
    for Sides { name, ours, theirs } in measured {
        run.keep(&format!("eval {name}"), ours, theirs);
    }
    Ok(())
}

/// The first model of each family, which is the first word of the name: variants of one model have similar times.
fn one_of_each_family(models: Vec<PathBuf>) -> Vec<PathBuf> {
    let family = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_owned()
    };
    let mut chosen: Vec<PathBuf> = Vec::new();
    for path in models {
        if chosen.last().is_none_or(|last| family(last) != family(&path)) {
            chosen.push(path);
        }
    }
    chosen
}

/// Interleaved samples of both sides for one model, on the same inputs.
fn sides(run: &Run, path: &Path, name: String) -> Result<Sides, String> {
    let folder = run.folder.join("eval").to_string_lossy().into_owned();
    let script = |mut command: Command| {
        command.current_dir(&run.folder);
        command.arg(crate::workspace::root().join("xtask/src/bench/evaluate.py"));
        command
    };
    let new = || script(Command::new(&run.python));
    output(new().arg("prepare").arg(path).arg(&folder))?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for turn in 0..if run.quick { 1 } else { 3 } {
        ours.add(&run.measure(&["eval", &folder, "5"])?)?;
        let reference_rounds = if turn == 0 { "1" } else { "0" };
        let mut command = script(keeping_memory(&run.python));
        theirs.add(&output(command.args(["run", &folder, "5", reference_rounds]))?)?;
    }
    // Memory that is given back to the system counts as given back.
    ours.add(&output(Command::new(&run.measure).args(["eval-held", &folder]))?)?;
    theirs.add(&output(new().args(["held", &folder]))?)?;
    Ok(Sides { name, ours, theirs })
}

/// The rows of all models: the median of the ratios, and the worst.
fn rows(run: &mut Run, measured: &[Sides]) -> TaskResult {
    let (mut runtime, mut reference, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for Sides { name, ours, theirs } in measured {
        let our = ours.median("run")?;
        let their = theirs.median("run")?;
        runtime.push((our / their, our, their, name.clone()));
        if let Ok(their) = theirs.median("reference") {
            reference.push((our / their, our, their, name.clone()));
        }
        let [our, their] = [ours, theirs].map(|side| side.median("held-peak"));
        let (our, their) = (our? / MIB, their? / MIB);
        memory.push((our / their, our, their, name.clone()));
    }
    run.summary("eval", "run / onnx.reference", reference, [REFERENCE, Bar::None]);
    let bars = [Bar::AtMost(RUNTIME), Bar::AtMost(RUNTIME_WORST)];
    run.summary("eval", "run / onnxruntime without optimization", runtime, bars);
    memory.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (rank, row) in [("median", memory.get(memory.len() / 2)), ("largest", memory.last())] {
        let Some((value, our, their, name)) = row else { continue };
        let what = format!("memory at most / onnxruntime, {rank} of {} real models ({name})", memory.len());
        let sides = format!("{our:.1} MiB / {their:.1} MiB");
        run.push(Outcome { group: "eval", what, sides, value: *value, bar: Bar::AtMost(1.0) });
    }
    Ok(())
}

/// How the time of planning grows with the number of nodes.
fn growth(run: &mut Run) -> TaskResult {
    let sizes: &[&str] = if run.quick { &["1000", "10000"] } else { &["1000", "10000", "100000", "1000000"] };
    let mut ours = Samples::default();
    let mut args = vec!["eval-growth", "3"];
    args.extend(sizes);
    ours.add(&run.measure(&args)?)?;
    let value = ours.exponent("plan")?;
    let what = format!("growth of planning, chain, {sizes:?} nodes").replace('"', "");
    run.push(Outcome { group: "eval", what, sides: String::new(), value, bar: Bar::AtMost(1.25) });
    run.keep("eval growth", ours, Samples::default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_the_first_word_of_a_name() {
        let paths = ["bert_a.onnx", "bert_b.onnx", "gpt2_a.onnx", "gpt.onnx", "resnet50.onnx"];
        let chosen = one_of_each_family(paths.iter().map(PathBuf::from).collect());
        assert_eq!(chosen, ["bert_a.onnx", "gpt2_a.onnx", "resnet50.onnx"].map(PathBuf::from));
    }
}
