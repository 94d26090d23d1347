//! `onnx rewrite --bisect -- COMMAND {}`: the first edit after which a command fails.

use std::ffi::OsString;
use std::path::Path;

use onnx_pass::{Bisection, Entry, FirstBad, PassOptions, Pipeline, Trial, bisect};

use crate::exit::{Failure, Outcome};
use crate::input::Loaded;
use crate::output::Out;
use crate::progress::Progress;
use crate::size;
use crate::trial::Trials;

/// Searches, and tells what was found.
pub(super) fn run(
    input: &Path,
    command: &[OsString],
    loaded: &Loaded,
    pipeline: &Pipeline,
    options: &PassOptions<'_>,
    progress: Progress,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    let trials_of = Trials::new(input, loaded, command)?;
    let mut trials = 0_u64;
    let result = bisect(pipeline, &loaded.model, options, |model, count| {
        loaded.execution.interrupt.check()?;
        let trial = trials_of.run(model)?;
        trials = trials.saturating_add(1);
        let word = match trial {
            Trial::Good => "succeeds",
            Trial::Bad => "fails",
            Trial::Undecided => "cannot try the model",
        };
        out.detail(1, &format!("after {}: the command {word}", size::plural(count as u64, "edit")));
        Ok::<_, Failure>(trial)
    })?;
    drop(progress);
    let trials = size::plural(trials, "trial");
    match result {
        Bisection::Found(found) => out.summary(&format!("{} ({trials})", describe(&found))),
        Bisection::Good(count) => {
            let edits = size::plural(count as u64, "edit");
            out.summary(&format!("the command succeeds on the input, and after {edits} ({trials})"));
        }
        Bisection::BadBefore => {
            return Err(Failure::new("the command fails on the model as it is before the first edit").help(
                "the passes are not the reason, unless the command expects something of their result",
            ));
        }
        Bisection::Undecided | _ => {
            return Err(Failure::new(
                "the command cannot try the model before the first edit or after the last",
            )
            .help("its exit status is 125; a smaller list of passes may do"));
        }
    }
    if out.is_for_people() {
        out.input(loaded, loaded.findings.clone())?;
    } else {
        let findings = loaded.findings.clone();
        out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, Vec::new())?;
    }
    Ok(Outcome::Fine)
}

fn describe(found: &FirstBad) -> String {
    match found.suspects.as_slice() {
        [entry] => format!("edit {} is the first after which the command fails: {}", found.bad, edit(entry)),
        entries => {
            let edits: Vec<String> = entries.iter().map(edit).collect();
            let range = format!("{} to {}", found.good.saturating_add(1), found.bad);
            format!("the command fails because of one of the edits {range}: {}", edits.join("; "))
        }
    }
}

/// An edit: the pass and its nodes.
fn edit(entry: &Entry) -> String {
    let nodes: Vec<String> = entry
        .sources
        .iter()
        .map(|(op, name)| match name.as_str() {
            "" => format!("`{op}`"),
            name => format!("`{op}` ({})", crate::output::shown(name)),
        })
        .collect();
    let at = if nodes.is_empty() { String::new() } else { format!(" at {}", nodes.join(", ")) };
    format!("{}{at}, {}", entry.pass, entry.verdict)
}
