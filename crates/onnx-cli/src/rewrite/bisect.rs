//! `onnx rewrite --bisect -- COMMAND {}`: the first edit after which a command fails.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use onnx_codec::file::write_segments;
use onnx_codec::{EncodeOptions, encode};
use onnx_ir::Model;
use onnx_pass::{Bisection, Entry, FirstBad, PassOptions, Pipeline, Trial, bisect};

use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, is_stream};
use crate::output::Out;
use crate::progress::Progress;
use crate::size;

/// The exit status of a command that cannot try a model, and those of commands that cannot be run.
const UNDECIDED: i32 = 125;
const STOP: [i32; 2] = [126, 127];

/// A file that is removed in the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Temporary {
    /// A file next to the input, so that external data is found from there; a stream has none.
    fn beside(input: &Path) -> Self {
        let folder =
            if is_stream(input) { Some(std::env::temp_dir()) } else { input.parent().map(Path::to_path_buf) };
        Self(folder.unwrap_or_default().join(format!(".onnx-bisect-{}.onnx", std::process::id())))
    }
}

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
    let file = Temporary::beside(input);
    let mut trials = 0_u64;
    let result = bisect(pipeline, &loaded.model, options, |model, count| {
        loaded.execution.interrupt.check()?;
        let trial = try_model(model, &file.0, command)?;
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

/// Runs the command on a model.
fn try_model(model: &Model, path: &Path, command: &[OsString]) -> Result<Trial, Failure> {
    write_segments(path, &encode(model, &EncodeOptions::default())?)?;
    let is_place = |argument: &&OsString| argument.as_os_str() == OsStr::new("{}");
    let mut words: Vec<&OsStr> = command
        .iter()
        .map(|argument| if is_place(&argument) { path.as_os_str() } else { argument.as_os_str() })
        .collect();
    if !command.iter().any(|argument| is_place(&argument)) {
        words.push(path.as_os_str());
    }
    let (program, arguments) = words.split_first().ok_or_else(|| Failure::new("a command is missing"))?;
    let mut child = Command::new(program);
    child.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let shown = program.to_string_lossy();
    let name = crate::output::shown(&shown);
    let status = child
        .status()
        .map_err(|error| Failure::new(format_args!("the command `{name}` cannot be run: {error}")))?;
    Ok(match status.code() {
        Some(0) => Trial::Good,
        Some(UNDECIDED) => Trial::Undecided,
        Some(code) if STOP.contains(&code) => {
            return Err(Failure::new(format_args!("the command `{name}` ended with status {code}")));
        }
        // A signal ended it, or it failed.
        _ => Trial::Bad,
    })
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
