//! `onnx compare A --with onnxruntime`: the outputs of a model here and in another engine, which runs in Python.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use onnx_codec::file::{PrivateFile, PrivateFolder, WriteOptions};
use onnx_codec::{EncodeOptions, encode};
use onnx_eval::compare::{Difference, compare_values_within};
use onnx_eval::{Evaluator, Value};
use onnx_ir::{GraphOutput, ValueId};
use onnx_select::{Element, Selectors};
use onnx_shape_infer::InferOptions;
use onnx_types::{Interrupt, Stopped, TypeKind};
use serde_json::json;

use super::{CompareArgs, combinations, show, title};
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{Loaded, display_name, is_stream, load};
use crate::interrupt;
use crate::json::JsonText;
use crate::output::{BAD, GOOD, HEADING, KEY, Out, paint, shown};
use crate::progress::Progress;
use crate::run::{
    Given, Inputs, Place, Preparation, Set, Sized, as_failure, eval_options, name, read_given, read_outputs,
    refuse_partial, runs_of, write_values,
};
use crate::trial::wait;
use crate::weights::require_elements;

/// Runs a model without optimizations: those of the engine are not what is compared.
const SCRIPT: &str = r#"
import json, sys
try:
    import numpy as np, onnxruntime as ort
except ImportError as error:
    sys.exit(f"{error}")
job = json.loads(sys.argv[1])
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 4
try:
    session = ort.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    archive = np.load(job["inputs"])
    feeds = dict(zip(job["names"], (archive[key] for key in archive.files)))
    outputs = session.run(job["outputs"], feeds)
except Exception as error:
    sys.exit(str(error).splitlines()[0])
def plain(value):
    # Strings are objects in the arrays of onnxruntime.
    return value.astype(str) if value.dtype == object else value
arrays = {name: plain(value) for name, value in zip(job["outputs"], outputs) if isinstance(value, np.ndarray)}
with open(job["result"], "wb") as file:
    np.savez(file, **arrays)
"#;

/// A run on one choice of inputs.
struct Run {
    sizes: Vec<(String, i64)>,
    seed: u64,
    /// Each output with how it differs, or why there is nothing to compare.
    result: Result<Vec<(ValueId, String, Difference)>, String>,
}

/// Larger sizes that are tried if a run fails; each starts a process.
const MOST_LARGER: usize = 8;

pub(super) fn run(args: &CompareArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let sets = combinations(&args.sizes)?.unwrap_or_else(|| vec![Vec::new()]);
    let progress = Progress::start("comparing", 1);
    progress.begin(&display_name(&args.a));
    let mut a = load(&args.a, &args.input)?;
    progress.aside(|| a.report_complete(&args.input.severity, out))?;
    require_elements(&a)?;
    progress.aside(|| warn_of_others(&a, out));
    let given = read_given(&args.feeds, &a)?;
    refuse_partial(&a.model, &given, args.feeds.seed)?;
    let engine = Engine::new(args, &a)?;
    let runs = all(args, &a, &given, &sets, &engine)?;
    drop(progress);
    let compared = runs.iter().filter_map(|run| run.result.as_ref().ok());
    let mut compared = compared.flatten().peekable();
    let is_unknown = compared.peek().is_none();
    let differs = compared.any(|(_, _, difference)| !difference.agrees())
        || runs.iter().any(|run| run.result.is_ok()) && runs.iter().any(|run| run.result.is_err());
    if out.is_for_people() {
        out.text(&text(&a, &runs, differs, is_unknown)?)?;
        out.input(&a, a.findings.clone())?;
    } else {
        out.result_kind("compare/1", "runs");
        let items = runs.iter().map(|run| JsonText::of(&item(args, &a, run)));
        out.items(items.collect::<Result<_, _>>()?);
        out.input(&a, a.findings.clone())?;
    }
    match (is_unknown, differs) {
        (true, _) => {
            let reason = runs.iter().find_map(|run| run.result.as_ref().err().cloned());
            let reason = reason.unwrap_or_else(|| "the model has no outputs".to_owned());
            Err(Failure::new(format_args!("nothing was compared: {}", shown(&reason)))
                .help("`onnx check --target onnxruntime` lists what the runtime lacks; `--set` and `--feeds` choose inputs"))
        }
        (false, true) => Ok(Outcome::Findings),
        (false, false) => Ok(Outcome::Fine),
    }
}

/// Names the outputs that are not arrays, which are not compared.
fn warn_of_others(loaded: &Loaded, out: &mut Out) {
    let is_other =
        |&output: &ValueId| loaded.model.ty(output).is_some_and(|ty| !matches!(ty.kind, TypeKind::Tensor(_)));
    for output in outputs(loaded).filter(is_other) {
        let name = shown(name(&loaded.model, output));
        out.warning(&format!("the output `{name}` is not a tensor, and is not compared"), None);
    }
}

/// The interpreter and the files of another engine.
struct Engine {
    python: OsString,
    /// The absolute path of the model, or its name in the folder.
    model: String,
    inputs: PathBuf,
    result: PrivateFile,
    /// What the interpreter writes to standard error.
    messages: PrivateFile,
    /// A copy of a model that the engine cannot read as it is.
    _copy: Option<PrivateFile>,
    /// Removed after the files in it.
    folder: PrivateFolder,
}

impl Engine {
    fn new(args: &CompareArgs, loaded: &Loaded) -> Result<Self, Failure> {
        let folder = PrivateFolder::new(&std::env::temp_dir(), &interrupt::temporaries())?;
        let is_readable = loaded.format == Format::Onnx && !is_stream(&args.a);
        // The engine runs in the folder, and takes text as names.
        let original =
            std::path::absolute(&args.a).ok().and_then(|path| path.into_os_string().into_string().ok());
        let (model, copy) = match original.filter(|_| is_readable) {
            Some(path) => (path, None),
            None => {
                let copy = folder.file(".onnx");
                copy.write(&encode(&loaded.model, &EncodeOptions::within(&loaded.execution.limits))?)?;
                (name_of(&copy.path()), Some(copy))
            }
        };
        let python = args.python.clone().map_or_else(default_python, PathBuf::into_os_string);
        let python = match Path::new(&python).components().count() {
            1 => python,
            _ => std::path::absolute(&python).map_or(python, PathBuf::into_os_string),
        };
        let (inputs, result) = (folder.file(".npz").path(), folder.file(".npz"));
        let messages = folder.file(".log");
        Ok(Self { python, model, inputs, result, messages, _copy: copy, folder })
    }

    /// The outputs of the engine; the inner error is why it does not run the model.
    fn outputs(&self, loaded: &Loaded, inputs: &[(String, Value)]) -> Result<Result<Given, String>, Failure> {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
        let place = Place::new(&self.inputs, None, &names)?;
        let options = WriteOptions::default().with_force(true).with_temporaries(interrupt::temporaries());
        if let Some((name, _)) = inputs.iter().find(|(_, value)| value.tensor().is_none()) {
            let message = format_args!(
                "the input `{}` is not a tensor, and onnxruntime gets only tensors here",
                shown(name)
            );
            return Err(Failure::new(message)
                .help("compare runs: `onnx run MODEL --save-inputs DIR -o DIR` records one, and `--expect` compares another"));
        }
        write_values(&place, inputs, inputs.len(), &options, &loaded.execution)?;
        let outputs: Vec<&str> = outputs(loaded).map(|output| name(&loaded.model, output)).collect();
        let job = json!({
            "model": self.model, "inputs": name_of(&self.inputs), "names": names,
            "outputs": outputs, "result": name_of(&self.result.path()),
        });
        let status = self.execute(&job.to_string(), &loaded.execution.interrupt)?;
        // The archive of the inputs is made again for each run.
        let _ = std::fs::remove_file(&self.inputs);
        if !status.success() {
            let text = std::fs::read(self.messages.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let Some(last) = last.map(str::to_owned) else {
                let python = self.python.to_string_lossy();
                return Err(Failure::new(format_args!(
                    "the interpreter `{}` ended without a message ({status})",
                    shown(&python)
                ))
                .help("`--python PATH` names a Python with the packages onnxruntime and numpy"));
            };
            if last.starts_with("No module named") {
                return Err(Failure::new(format_args!("{}: {last}", self.python.to_string_lossy()))
                    .help("`--python PATH` names a Python with the packages onnxruntime and numpy"));
            }
            return Ok(Err(last));
        }
        if !self.result.path().exists() {
            let python = self.python.to_string_lossy();
            return Err(Failure::new(format_args!("the interpreter `{}` ran nothing", shown(&python)))
                .help("`--python PATH` names a Python with the packages onnxruntime and numpy"));
        }
        let found = read_outputs(loaded, &self.result.path());
        Ok(Ok(found?))
    }

    /// Runs the script until the timeout.
    fn execute(&self, job: &str, interrupt: &Interrupt) -> Result<ExitStatus, Failure> {
        let failed = |error: io::Error| {
            let python = self.python.to_string_lossy();
            Failure::new(format_args!("the interpreter `{}` cannot be run: {error}", shown(&python)))
                .help("`--python PATH` names a Python with the packages onnxruntime and numpy")
        };
        let mut command = Command::new(&self.python);
        command.args(["-c", SCRIPT, job]).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(self.messages.create()?).spawn().map_err(failed)?;
        let status = wait(&mut child, None, interrupt).map_err(failed)?;
        status.ok_or_else(|| Stopped.into())
    }
}

/// The name of a file in the folder, whose own path need not be text.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The interpreter that the environment names, or `python3`.
fn default_python() -> OsString {
    let named = std::env::var_os("ONNX_PYTHON").filter(|name| !name.is_empty());
    named.unwrap_or_else(|| OsString::from("python3"))
}

fn outputs(loaded: &Loaded) -> impl Iterator<Item = ValueId> + '_ {
    loaded.model.graph(loaded.model.main_graph()).outputs().iter().map(GraphOutput::value)
}

fn all(
    args: &CompareArgs,
    a: &Loaded,
    given: &Given,
    sets: &[Vec<Set>],
    engine: &Engine,
) -> Result<Vec<Run>, Failure> {
    let registry = args.documents.registry(&a.execution)?;
    let source = a.source()?;
    let inference = a.infer(InferOptions::default().with_data(&source).with_registry(&registry))?;
    let seed = args.feeds.seed.unwrap_or_default();
    let options = eval_options(&runs_of(&[a]), seed, &registry, args.threads).with_data(&source);
    let evaluator = Evaluator::new(&a.model, &options).map_err(as_failure)?;
    let mut runs = Vec::new();
    for set in sets {
        for repetition in 0..args.runs.unwrap_or(1) {
            let seed = seed.wrapping_add(repetition.into());
            let sized = Sized { set, declared: &[] };
            let limits = &a.execution.limits;
            let mut prepared = Preparation::new(&a.model, &inference, given, &sized, seed, limits)?;
            let is_open = set.is_empty() && given.is_empty();
            let mut run = one(args, a, (&evaluator, engine), prepared.inputs()?, seed)?;
            // As `onnx run` does: an operator, here or there, may need more than the smallest sizes.
            let mut left = if is_open { MOST_LARGER } else { 0 };
            while is_about_sizes(&run.result) && left > 0 && prepared.grow() {
                // Values of these sizes may exceed a limit.
                let Ok(larger) = prepared.inputs() else { continue };
                left -= 1;
                let other = one(args, a, (&evaluator, engine), larger, seed)?;
                if other.result.is_ok() {
                    run = other;
                }
            }
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Whether a run may have failed because of its sizes: a model that the other engine does not load fails with all.
fn is_about_sizes(result: &Result<Differences, String>) -> bool {
    let is_of_load = |reason: &str| reason.starts_with(NOT_RUN) && !reason.contains("while running");
    result.as_ref().is_err_and(|reason| !is_of_load(reason))
}

/// How a failure of the other engine begins.
const NOT_RUN: &str = "onnxruntime does not run the model: ";

/// Runs the model in both engines.
fn one(
    args: &CompareArgs,
    a: &Loaded,
    (evaluator, engine): (&Evaluator<'_>, &Engine),
    inputs: Inputs,
    seed: u64,
) -> Result<Run, Failure> {
    let known = |&input: &ValueId| {
        let found = inputs.values.iter().find(|(known, _)| known == name(&a.model, input));
        found.map(|(_, value)| value.clone())
    };
    let values = evaluator.inputs().iter().map(known).collect();
    let result = match evaluator.run_in_order(values) {
        Ok(ours) => compared(args, a, engine, &inputs.values, &ours)?,
        Err(failure) if super::is_failure_of_command(failure.kind()) => return Err(as_failure(failure)),
        Err(failure) => Err(failure.to_string()),
    };
    Ok(Run { sizes: inputs.sizes, seed, result })
}

type Differences = Vec<(ValueId, String, Difference)>;

fn compared(
    args: &CompareArgs,
    a: &Loaded,
    engine: &Engine,
    inputs: &[(String, Value)],
    ours: &[Value],
) -> Result<Result<Differences, String>, Failure> {
    let theirs = match engine.outputs(a, inputs)? {
        Ok(theirs) => theirs,
        Err(reason) => return Ok(Err(format!("{NOT_RUN}{reason}"))),
    };
    let tolerances = args.tolerances.tolerances();
    let mut found = Vec::new();
    for (output, value) in outputs(a).zip(ours) {
        let Some(other) = theirs.get(name(&a.model, output)) else { continue };
        let difference = compare_values_within(value, other, &tolerances, &a.execution.interrupt);
        found.push((output, value.describe(), difference.map_err(as_failure)?));
    }
    Ok(Ok(found))
}

fn text(a: &Loaded, runs: &[Run], differs: bool, is_unknown: bool) -> Result<String, Failure> {
    let mut text = String::new();
    for run in runs {
        writeln!(text, "{}", paint(HEADING, title(&run.sizes, run.seed)))?;
        match &run.result {
            Ok(outputs) => {
                for (output, ty, difference) in outputs {
                    let words = show::words(difference);
                    let name = shown(name(&a.model, *output));
                    writeln!(text, "  {name}  {}  {words}", paint(KEY, ty))?;
                }
            }
            Err(reason) => writeln!(text, "  {}", shown(reason))?,
        }
    }
    match (is_unknown, differs) {
        (true, _) => {}
        (false, true) => writeln!(text, "{}", paint(BAD, "the engines differ"))?,
        (false, false) => writeln!(text, "{}", paint(GOOD, "the engines agree"))?,
    }
    Ok(text)
}

/// A run, as an item of `compare/1`, in which the engine is the second model.
fn item(args: &CompareArgs, a: &Loaded, run: &Run) -> serde_json::Value {
    let selectors = Selectors::new(&a.model);
    let output = |(output, ty, difference): &(ValueId, String, Difference)| {
        let item = json!({
            "name": name(&a.model, *output),
            "selector": selectors.text(Element::Value(*output)),
            "node": null, "op": null, "node_in_a": null, "op_in_a": null,
            "type": ty, "type_in_b": null, "name_in_b": null, "similarity": null,
        });
        show::with_difference(item, difference)
    };
    let outputs: Vec<_> = run.result.iter().flatten().map(output).collect();
    let agrees = |outputs: &Differences| outputs.iter().all(|(_, _, difference)| difference.agrees());
    let status = match &run.result {
        Ok(outputs) if agrees(outputs) => "equal",
        Ok(_) => "different",
        Err(_) => "not run",
    };
    let not_run = run.result.as_ref().err().map(|message| json!({ "model": "b", "message": message }));
    let mut item = show::run_item(&run.sizes, run.seed, &args.tolerances.tolerances());
    item["status"] = json!(status);
    item["not_run"] = json!(not_run);
    item["outputs"] = json!(outputs);
    item
}

/// The second model, unless another engine takes its place.
pub(super) fn second(args: &CompareArgs) -> Result<&Path, Failure> {
    args.b.as_deref().ok_or_else(|| {
        Failure::new("two models are compared, or one in two engines")
            .help("write `onnx compare A B`, or `onnx compare A --with onnxruntime`")
    })
}
