//! Printing models as text and parsing it.

use std::fs;
use std::process::Command;

use super::{Run, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// What printing and parsing must take at most, as a part of what the reference takes.
const BAR: Bar = Bar::AtMost(0.2);

/// Printing and parsing models of many nodes and real ones, and printing one with a gigabyte of weights.
pub(super) fn text(run: &mut Run) -> TaskResult {
    for (kind, nodes) in [("chain", 20_000), ("chain", 32_000), ("transformer", 20_000)] {
        let path = run.model(kind, nodes)?;
        let turns = if run.quick { 1 } else { 5 };
        let (ours, theirs) = by_turns(run, &path, turns, "5")?;
        let name = format!("{kind} {}k", nodes / 1000);
        for (what, key) in [("print / onnx.printer", "print-text"), ("parse / onnx.parser", "parse-text")] {
            let (our, their) = (ours.median(key)?, theirs.median(key)?);
            run.push(Outcome::times("text", format!("{what}, {name}"), our, their, BAR));
        }
        run.keep(&format!("text {name}"), ours, theirs);
    }
    real(run)?;
    elided(run)
}

/// Samples of both sides for one model.
fn by_turns(run: &Run, path: &str, turns: usize, rounds: &str) -> Result<(Samples, Samples), String> {
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let text = run.folder.join("peers.onnxtxt").to_string_lossy().into_owned();
    for _ in 0..turns {
        ours.add(&run.measure(&["text", path, rounds, &text])?)?;
        theirs.add(&output(run.peers().args(["text", path, rounds, &text]))?)?;
    }
    Ok((ours, theirs))
}

/// Real models, if a folder of them was given. Those of few nodes take no time; of large ones, the reference makes more
/// text than it holds.
fn real(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    let models = real_models(&folder)?;
    let (mut print, mut parse) = (Vec::new(), Vec::new());
    for path in &models {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match by_turns(run, &path.to_string_lossy(), 1, "3") {
            Ok((ours, theirs)) => {
                for (key, list) in [("print-text", &mut print), ("parse-text", &mut parse)] {
                    let (our, their) = (ours.median(key)?, theirs.median(key)?);
                    list.push((our / their, our, their, name.clone()));
                }
                run.keep(&format!("text {name}"), ours, theirs);
            }
            // What the reference cannot print or read says nothing of speed.
            Err(error) => println!("leaving out {name}: {}", error.lines().last().unwrap_or_default()),
        }
    }
    run.summary("text", "print", print, BAR);
    run.summary("text", "parse", parse, BAR);
    Ok(())
}

/// Printing a model with a gigabyte of weights, which are elided.
fn elided(run: &mut Run) -> TaskResult {
    let bytes: u64 = if run.quick { 64 << 20 } else { 1 << 30 };
    let path = run.model("weights", bytes)?;
    let result = elided_at(run, &path, bytes);
    let _ = fs::remove_file(path);
    result
}

fn elided_at(run: &mut Run, path: &str, bytes: u64) -> TaskResult {
    // The first look at the file brings it into the page cache, and counts for nobody.
    output(Command::new("cp").args([path, "/dev/null"]))?;
    let mut ours = Samples::default();
    for _ in 0..if run.quick { 2 } else { 9 } {
        ours.add(&run.measure(&["elided", path])?)?;
    }
    let size = format!("{} MiB", bytes >> 20);
    let took = ours.median("print-elided")?;
    run.push(Outcome {
        group: "text",
        what: format!("milliseconds to print {size}, elided"),
        sides: time(took),
        value: took / 1e6,
        bar: Bar::AtMost(10.0),
    });
    let resident = (ours.median("print-rss-anon")? + ours.median("print-rss-file")?) / f64::from(1 << 20);
    run.push(Outcome {
        group: "text",
        what: format!("MiB more resident after printing {size}, elided"),
        sides: format!("{:.0} bytes of text", ours.median("print-bytes")?),
        value: resident,
        bar: Bar::AtMost(4.0),
    });
    run.keep(&format!("text {size}"), ours, Samples::default());
    Ok(())
}
