//! Models that consist mainly of weights, in the file or as external data.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

const MIB: f64 = (1 << 20) as f64;

/// What every operation may take at most that does not copy: milliseconds from the file to the result.
const TIME: Bar = Bar::AtMost(10.0);

/// The same in MiB that are resident at any time, mapped pages and the program itself included.
const RESIDENT: Bar = Bar::AtMost(50.0);

/// What is done with the models, and whether it is done with the `onnx` package, too: that prints all elements.
const OPERATIONS: &[(&str, bool)] =
    &[("open", true), ("check", true), ("infer", false), ("print", false), ("convert", true)];

/// Opening, checking, inferring and printing a gigabyte of weights, and copying it.
pub(super) fn weights(run: &mut Run) -> TaskResult {
    let bytes: u64 = if run.quick { 64 << 20 } else { 1 << 30 };
    let inline = run.model("weights", bytes)?;
    let external = run.model("external", bytes)?;
    let result = held(run, &inline, bytes, "inline")
        .and_then(|()| held(run, &format!("{external}/model.onnx"), bytes, "external"))
        .and_then(|()| copies(run, &inline, bytes));
    // Large files go, whatever happened.
    for file in [inline.clone(), format!("{inline}.ours"), format!("{inline}.theirs")] {
        let _ = fs::remove_file(file);
    }
    let _ = fs::remove_dir_all(external);
    result
}

/// What takes neither much time nor much memory, each time in a new process.
fn held(run: &mut Run, path: &str, bytes: u64, place: &str) -> TaskResult {
    // The first read of the file loads it into the page cache, and is not measured.
    output(Command::new("cp").args([path, "/dev/null"]))?;
    let size = format!("{} MiB {place}", bytes >> 20);
    for (operation, is_compared) in OPERATIONS {
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..if run.quick { 2 } else { 9 } {
            ours.add(&run.measure(&["held", operation, path])?)?;
        }
        if *is_compared {
            theirs.add(&output(run.peers().args(["held", operation, path]))?)?;
        }
        let (took, peak) = (ours.median("held")?, ours.median("held-peak")? / MIB);
        let beside = |own: String, their: Option<String>| match their {
            Some(their) => format!("{own} / {their}"),
            None => own,
        };
        run.push(Outcome {
            group: "weights",
            what: format!("milliseconds to {operation} {size}"),
            sides: beside(time(took), theirs.median("held").ok().map(time)),
            value: took / 1e6,
            bar: TIME,
        });
        let private = ours.median("held-anon")? / MIB;
        let (own, their) = (format!("{peak:.1}"), theirs.median("held-peak").ok());
        run.push(Outcome {
            group: "weights",
            what: format!(
                "MiB resident at most, {operation} {size} ({private:.1} without the map and the program)"
            ),
            sides: format!("{} MiB", beside(own, their.map(|their| format!("{:.0}", their / MIB)))),
            value: peak,
            bar: RESIDENT,
        });
        run.keep(&format!("weights {operation} {size}"), ours, theirs);
    }
    Ok(())
}

/// Reading and writing the whole model, compared with copying the file.
fn copies(run: &mut Run, path: &str, bytes: u64) -> TaskResult {
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for (policy, bar) in [("fsync", Bar::AtLeast(0.7)), ("plain", Bar::AtLeast(0.7))] {
        for _ in 0..if run.quick { 1 } else { 5 } {
            copy(run, path, policy, &mut ours, &mut theirs)?;
        }
        let key = format!("copy {policy}");
        let (our, their) = (ours.median(&key)?, theirs.median(&key)?);
        let what = if policy == "fsync" { "both with fsync" } else { "both without fsync" };
        run.push(Outcome {
            group: "weights",
            what: format!("throughput of reading and writing / cp, {what}"),
            sides: format!("{} / {}", time(our), time(their)),
            value: their / our,
            bar,
        });
    }
    run.keep(&format!("weights copy {} MiB", bytes >> 20), ours, theirs);
    Ok(())
}

/// Copies a file through our graph and with `cp`, each in a separate process.
fn copy(run: &Run, path: &str, policy: &str, ours: &mut Samples, theirs: &mut Samples) -> TaskResult {
    let key = format!("copy {policy}");
    let target = format!("{path}.ours");
    settle(&target)?;
    let start = Instant::now();
    run.measure(&["copy", path, &target, policy])?;
    ours.0.entry(key.clone()).or_default().push(start.elapsed().as_nanos() as f64);
    let same = output(Command::new("cmp").args([path, &target]));
    same.map_err(|error| format!("the model that was written is another one: {error}"))?;
    settle(&target)?;
    let target = format!("{path}.theirs");
    settle(&target)?;
    let start = Instant::now();
    output(Command::new("cp").args([path, &target]))?;
    if policy == "fsync" {
        // With a file as its argument, `sync` is fsync.
        output(Command::new("sync").arg(&target))?;
    }
    theirs.0.entry(key).or_default().push(start.elapsed().as_nanos() as f64);
    settle(&target)
}

/// Removes a file and waits until nothing is left to be written, so that no copy pays for the one before.
fn settle(path: &str) -> TaskResult {
    if Path::new(path).exists() {
        fs::remove_file(path).map_err(|error| format!("{path}: {error}"))?;
    }
    output(&mut Command::new("sync")).map(drop)
}
