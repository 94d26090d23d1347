//! Printing models as text and parsing it.

use super::{Run, output, real_models};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples};

/// What printing and parsing must take at most, as a part of what the reference takes.
const BAR: Bar = Bar::AtMost(0.2);

/// Printing and parsing models of many nodes and real ones.
pub(super) fn text(run: &mut Run) -> TaskResult {
    let sizes = [
        ("chain", 20_000),
        ("chain", 32_000),
        ("transformer", 20_000),
        ("subgraphs", 10_000),
        ("functions", 10_000),
    ];
    for (kind, nodes) in sizes {
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
    real(run)
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
    run.summary("text", "print", print, [BAR; 2]);
    run.summary("text", "parse", parse, [BAR; 2]);
    Ok(())
}
