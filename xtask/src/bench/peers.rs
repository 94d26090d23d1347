//! The run side by side: what is measured, with what it is compared, and the bars.

mod check;
mod convert;
mod eval;
mod forms;
mod functions;
mod infer;
mod passes;
mod rust;
mod simplifiers;
mod simplify;
mod text;
mod weights;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Options;
use super::bars::{Bar, Outcome, Samples, print, time};
use super::page;
use crate::TaskResult;
use crate::workspace::output;

/// What is installed to compare with.
const PACKAGES: &[&str] = &[
    "onnx==1.23.2",
    "onnx-ir==1.1.0",
    "onnxruntime==1.31.1",
    "sympy==1.14.0",
    "onnxoptimizer==0.4.2",
    "onnxslim==0.1.98",
    "onnxsim==0.8.1",
    "onnxscript==0.7.2",
];

type Group = fn(&mut Run) -> TaskResult;

/// The groups by name.
pub(super) const GROUPS: &[(&str, Group)] = &[
    ("load", load),
    ("memory", memory),
    ("weights", weights::weights),
    ("growth", growth),
    ("text", text::text),
    ("forms", forms::forms),
    ("check", check::check),
    ("functions", functions::functions),
    ("convert", convert::convert),
    ("passes", passes::passes),
    ("simplify", simplify::simplify),
    ("infer", infer::infer),
    ("eval", eval::eval),
    ("rust", rust::rust),
];

/// One run.
pub(super) struct Run {
    folder: PathBuf,
    python: PathBuf,
    measure: PathBuf,
    memory: PathBuf,
    quick: bool,
    /// A folder of real models, if there is one.
    models: Option<PathBuf>,
    outcomes: Vec<Outcome>,
    samples: Vec<(String, Samples)>,
}

/// Runs the groups that are asked for.
pub(super) fn run(options: &Options) -> TaskResult {
    let mut run = prepare(options)?;
    let groups = GROUPS.iter().filter(|(name, _)| options.only.is_empty() || *name == options.only);
    let result = groups.into_iter().try_for_each(|(name, group)| {
        println!("measuring {name}");
        group(&mut run)
    });
    let missed = print(&run.outcomes);
    report(&run)?;
    result?;
    match missed {
        0 => Ok(()),
        // Small models and few rounds prove nothing.
        _ if run.quick => Ok(()),
        missed => Err(format!("{missed} bars were missed")),
    }
}

/// Makes the environment and builds the programs.
fn prepare(options: &Options) -> Result<Run, String> {
    let target = crate::workspace::target();
    let folder = target.join("bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let python = crate::python::environment(&folder.join("venv"), PACKAGES)?;
    crate::workspace::run("cargo", &["build", "--profile", "dist", "-p", "onnx-benches", "--bins"])?;
    let (measure, memory) = (target.join("dist/measure"), target.join("dist/memory"));
    let quick = options.quick;
    // Programs are run in another folder.
    let models = options
        .models
        .as_ref()
        .map(|models| fs::canonicalize(models).map_err(|error| format!("{}: {error}", models.display())));
    let models = models.transpose()?;
    Ok(Run { folder, python, measure, memory, quick, models, outcomes: Vec::new(), samples: Vec::new() })
}

/// A command whose process keeps the memory that it has given back to its allocator. Otherwise it depends on chance,
/// such as which size was freed last, whether a second round gets its pages from the system again, which costs more than
/// the work itself. What a process pays for fresh memory shows in its first round, which is measured apart.
fn keeping_memory(program: &Path) -> Command {
    let mut command = Command::new(program);
    for variable in ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"] {
        command.env(variable, "4000000000");
    }
    command
}

/// Everything that was measured, for machines; and the page for people, unless this is only a trial. Groups that were not
/// run keep their rows of the page.
fn report(run: &Run) -> TaskResult {
    let versions = output(run.peers().arg("versions"))?;
    let mut versions: Value = serde_json::from_str(&versions).unwrap_or_default();
    if let Some(versions) = versions.as_object_mut() {
        versions.extend(rust::versions().into_iter().map(|(name, version)| (name, version.into())));
    }
    let path = run.folder.join("peers.json");
    let earlier = if run.quick { Vec::new() } else { page::rows() };
    let mut bars = Vec::new();
    for (name, _) in GROUPS {
        let new: Vec<Value> =
            run.outcomes.iter().filter(|row| row.group == *name).map(Outcome::to_json).collect();
        match new.is_empty() {
            false => bars.extend(new),
            true => bars.extend(earlier.iter().filter(|row| row["group"] == *name).cloned()),
        }
    }
    let samples: serde_json::Map<String, Value> =
        run.samples.iter().map(|(name, samples)| (name.clone(), json!(samples.0))).collect();
    let report = json!({ "quick": run.quick, "versions": versions, "bars": bars, "samples": samples });
    fs::write(&path, format!("{report:#}\n")).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("\nsamples and bars are in {}", path.display());
    if run.quick { Ok(()) } else { page::write(&bars, &versions) }
}

/// The models of a folder between 100 KiB and 8 MiB, in order.
fn real_models(folder: &Path) -> Result<Vec<PathBuf>, String> {
    const SIZES: std::ops::RangeInclusive<u64> = 100 << 10..=8 << 20;
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut models: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|data| SIZES.contains(&data.len())))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "onnx"))
        .collect();
    models.sort();
    Ok(models)
}

/// Two times for a model of that name, with their ratio.
type Compared = (f64, f64, f64, String);

impl Run {
    /// Adds rows for the median and the slowest of many models, each with its bar.
    fn summary(&mut self, group: &'static str, what: &str, mut list: Vec<Compared>, bars: [Bar; 2]) {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ranks = [("median", list.get(list.len() / 2)), ("slowest", list.last())];
        for ((rank, row), bar) in ranks.into_iter().zip(bars) {
            let Some((_, our, their, name)) = row else { continue };
            let what = format!("{what}, {rank} of {} real models ({name})", list.len());
            self.outcomes.push(Outcome::times(group, what, *our, *their, bar));
        }
    }

    fn peers(&self) -> Command {
        let mut command = keeping_memory(&self.python);
        // Some of the packages leave files where they are run.
        command.current_dir(&self.folder);
        command.arg(crate::workspace::root().join("xtask/src/bench/peers.py"));
        command
    }

    fn measure(&self, args: &[&str]) -> Result<String, String> {
        output(keeping_memory(&self.measure).args(args))
    }

    /// The path of a generated model, which is made if it is not there.
    fn model(&self, kind: &str, size: u64) -> Result<String, String> {
        let path = self.folder.join(format!("{kind}-{size}.onnx"));
        let text = path.to_string_lossy().into_owned();
        self.measure(&["generate", kind, &size.to_string(), &text])?;
        Ok(text)
    }

    /// The models that are read and written, by kind and size, with the number of rounds.
    fn models(&self) -> Vec<(&'static str, u64, u32)> {
        let mut models = vec![
            ("chain", 20_000, 5),
            ("transformer", 20_000, 5),
            ("subgraphs", 10_000, 5),
            ("functions", 10_000, 5),
        ];
        if !self.quick {
            models.extend([("chain", 200_000, 2), ("transformer", 200_000, 2)]);
        }
        models
    }

    fn push(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// Keeps samples for the report.
    fn keep(&mut self, name: &str, ours: Samples, theirs: Samples) {
        self.samples.push((format!("{name}, ours"), ours));
        self.samples.push((format!("{name}, theirs"), theirs));
    }
}

/// Reading, writing and copying models of many nodes.
fn load(run: &mut Run) -> TaskResult {
    for (kind, nodes, rounds) in run.models() {
        let path = run.model(kind, nodes)?;
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        let turns = if run.quick { 1 } else { 5 };
        for turn in 0..turns {
            ours.add(&run.measure(&["model", &path, &rounds.to_string()])?)?;
            // Making objects in Python takes seconds; once or twice is enough for a ratio of such size.
            let ir_rounds = u32::from(turn < 2);
            let counts = [rounds.to_string(), ir_rounds.to_string()];
            theirs.add(&output(run.peers().args(["model", &path]).args(counts))?)?;
        }
        let name = format!("{kind} {}k", nodes / 1000);
        let rows = [
            ("first decode / first upb parse", "first-decode", "first-parse", Bar::AtMost(3.0)),
            ("decode / upb parse", "decode", "parse", Bar::AtMost(3.0)),
            ("encode / upb serialize", "encode", "serialize", Bar::AtMost(3.0)),
            ("load file / onnx_ir.load", "load", "ir-load", Bar::AtMost(1.0 / 30.0)),
            ("clone / onnx_ir clone", "clone", "ir-clone", Bar::AtMost(1.0 / 50.0)),
        ];
        for (what, our, their, bar) in rows {
            let (our, their) = (ours.median(our)?, theirs.median(their)?);
            run.push(Outcome::times("load", format!("{what}, {name}"), our, their, bar));
        }
        let rows = [("decode", Bar::AtMost(1.5)), ("encode", Bar::None)];
        for (what, bar) in rows {
            let (our, their) = (ours.median(what)?, ours.median(&format!("prost-{what}"))?);
            run.push(Outcome::times("load", format!("{what} / prost, {name}"), our, their, bar));
        }
        run.keep(&format!("load {name}"), ours, theirs);
    }
    Ok(())
}

/// What models take in memory.
fn memory(run: &mut Run) -> TaskResult {
    for (kind, nodes, _) in run.models() {
        let path = run.model(kind, nodes)?;
        let mut ours = Samples::default();
        ours.add(&output(Command::new(&run.memory).arg(&path))?)?;
        let nodes_read = ours.median("nodes")?;
        let name = format!("{kind} {}k", nodes / 1000);
        // Where every other node brings a graph or a function, these take the most.
        let bar = if kind == "chain" || kind == "transformer" { Bar::AtMost(600.0) } else { Bar::None };
        for (what, bar) in [("decode", bar), ("prost", Bar::None)] {
            let live = ours.median(&format!("{what}-live"))?;
            let sides = format!("{:.0} values", ours.median("values")?);
            let what = format!("bytes per node after {what}, {name}");
            run.push(Outcome { group: "memory", what, sides, value: live / nodes_read, bar });
        }
        let allocations = ours.median("decode-allocations")?;
        run.push(Outcome {
            group: "memory",
            what: format!("allocations per node, {name}"),
            sides: format!("prost {:.1}", ours.median("prost-allocations")? / nodes_read),
            value: allocations / nodes_read,
            bar: Bar::None,
        });
        run.keep(&format!("memory {name}"), ours, Samples::default());
    }
    Ok(())
}

/// How times grow with the size of the model.
fn growth(run: &mut Run) -> TaskResult {
    let sizes: &[&str] = if run.quick { &["1000", "10000"] } else { &["10000", "100000", "1000000"] };
    let mut ours = Samples::default();
    let mut args = vec!["growth", "3"];
    args.extend(sizes);
    ours.add(&run.measure(&args)?)?;
    let per = |name: &str, ours: &Samples, count: f64| -> Result<String, String> {
        let ends = [sizes.first(), sizes.last()].map(|size| size.copied().unwrap_or_default());
        let [first, last] = ends.map(|size| {
            let parts = if count > 0.0 { count } else { size.parse().unwrap_or(1.0) };
            Ok::<_, String>(ours.median(&format!("{name}/{size}"))? / parts)
        });
        Ok(format!("{} → {}", time(first?), time(last?)))
    };
    for name in ["prost-decode", "decode", "encode", "clone", "verify", "sort", "replace"] {
        // Larger models miss the caches more often, which is why the bar is above one; a sort is at 1.1, a square at two.
        let bar = if name == "prost-decode" { Bar::None } else { Bar::AtMost(1.25) };
        let what = if name == "replace" { "replace_all_uses, by uses" } else { name };
        let sides = per(name, &ours, 0.0)?;
        let value = ours.exponent(name)?;
        run.push(Outcome { group: "growth", what: format!("exponent of {what}"), sides, value, bar });
    }
    for name in ["insert", "erase", "insert-crowded", "insert-use", "erase-use"] {
        let sides = per(name, &ours, EDITS)?;
        let value = ours.exponent(name)?;
        let what = format!("exponent of {name}, each");
        run.push(Outcome { group: "growth", what, sides, value, bar: Bar::AtMost(0.25) });
    }
    run.keep("growth", ours, Samples::default());
    Ok(())
}

/// How many edits make one sample of `measure growth`.
const EDITS: f64 = 2000.0;
