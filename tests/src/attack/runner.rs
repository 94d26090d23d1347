//! Generates models, has them run, and collects what was found.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use onnx_codec::{EncodeOptions, encode};
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, contrib, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::{Symbol, SymbolNames as _};
use serde_json::{Value as Json, json};

use super::deviations::DEVIATIONS;
use super::generate::world::{BINDINGS, Input, Sizes};
use super::generate::{Case, generate};
use super::judge::{Failure, Verdict, judge, prune};
use super::observation::Observation;
use crate::conformance::reference::{Answer, Reference};
use crate::reduce::reduce;

/// Sets of data for each binding.
const DATA: usize = 3;
/// Maximum number of candidates that are run to reduce one model.
const MOST: u64 = 300;
/// Maximum number of mismatches excused by guards that are reported for each operator.
const EXAMPLES: usize = 5;
/// The most elements of an input.
const LARGEST: i64 = 100_000;

/// What is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of models.
    pub count: u64,
    /// The first seed.
    pub seed: u64,
    /// Number of failures of each class that are reduced to small models.
    pub shrunk: usize,
    /// Where reports are written.
    pub folder: PathBuf,
    /// Where the models without failures are recorded with what was observed, one line of JSON for each.
    pub record: Option<PathBuf>,
    /// Time limit in seconds, after which no further model is started; no limit if 0.
    pub seconds: u64,
    /// Number of models after which a progress line is printed; never if 0.
    pub progress: u64,
}

/// A failure with the smallest model that was found for it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What failed.
    pub failure: Failure,
    /// The reduced model as text.
    pub text: Option<String>,
    /// What the reference computes for the value, where it can be asked.
    pub reference: Option<String>,
}

/// What was found in all models.
#[derive(Debug, Default)]
pub struct Summary {
    /// Counts by name.
    pub counts: BTreeMap<String, u64>,
    /// Models with failures, by class.
    pub classes: BTreeMap<String, u64>,
    /// Failures.
    pub found: Vec<Found>,
    /// Mismatches under a violated guard, by operator.
    pub guarded: BTreeMap<String, u64>,
    /// Some of them with their guards, by operator.
    pub excuses: BTreeMap<String, Vec<String>>,
    /// Mismatches that are explained, by deviation.
    pub deviations: BTreeMap<&'static str, u64>,
    /// Unknown values by the operator where that begins.
    pub unknown: BTreeMap<String, u64>,
    /// Nodes that the runtime refuses, by operator, with an example.
    pub refused: BTreeMap<String, (u64, String)>,
    /// Seeds and values for each origin of unknown values.
    pub examples: BTreeMap<String, Vec<String>>,
}

/// Runs models.
pub struct Runner {
    reference: Reference,
    options: Options,
}

impl Runner {
    /// A runner with these options.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { reference: Reference::with_runtime("attack.py"), options }
    }

    /// Runs all models.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime is not available, the generator has a defect, or a file cannot be written.
    pub fn run(&self, say: &mut dyn FnMut(&str)) -> Result<Summary, String> {
        if let Some(reason) = self.reference.absent() {
            return Err(reason.to_owned());
        }
        let mut summary = Summary::default();
        let begin = Instant::now();
        for index in 0..self.options.count {
            if self.options.seconds > 0 && begin.elapsed().as_secs() >= self.options.seconds {
                break;
            }
            let seed = self.options.seed + index;
            let case = generate(seed)?;
            self.one(&case, &mut summary)?;
            if self.options.progress > 0 && (index + 1) % self.options.progress == 0 {
                say(&format!("{} models, {} failures\n", index + 1, summary.found.len()));
                self.write(&summary)?;
            }
        }
        self.write(&summary)?;
        Ok(summary)
    }

    fn one(&self, case: &Case, summary: &mut Summary) -> Result<(), String> {
        let count =
            |summary: &mut Summary, name: &str| *summary.counts.entry(name.to_owned()).or_default() += 1;
        let mut model = parsed(&case.text)?;
        count(summary, "models generated");
        let seen = match self.observe(&model, &case.sizes, &case.inputs, true) {
            Ok(seen) => seen,
            Err(error) => {
                count(summary, &format!("models that cannot be asked: {error}"));
                summary.examples.entry(format!("({error})")).or_default().push(case.seed.to_string());
                return Ok(());
            }
        };
        for (name, reason) in &seen.removed {
            let op = operator(&model, name);
            let entry = summary.refused.entry(op).or_insert_with(|| (0, format!("{}: {reason}", case.seed)));
            entry.0 += 1;
        }
        if let Some(reason) = &seen.load {
            count(
                summary,
                if seen.is_crash { "models that crash the runtime" } else { "models that do not run" },
            );
            let entry = summary
                .refused
                .entry("(model)".to_owned())
                .or_insert_with(|| (0, format!("{}: {reason}", case.seed)));
            entry.0 += 1;
            return Ok(());
        }
        prune(&mut model, |name| seen.removed.contains_key(name));
        let verdict = judge(&model, &case.sizes, &seen);
        if verdict.failures.is_empty() {
            self.record(case, &model, &seen)?;
        }
        self.take(case, &model, verdict, summary)
    }

    fn take(
        &self,
        case: &Case,
        model: &Model,
        verdict: Verdict,
        summary: &mut Summary,
    ) -> Result<(), String> {
        add(&mut summary.counts, verdict.counts);
        add(&mut summary.guarded, verdict.guarded);
        for (op, excuse) in verdict.excuses {
            let known = summary.excuses.entry(op).or_default();
            if known.len() < EXAMPLES {
                known.push(format!("{}: {excuse}", case.seed));
            }
        }
        add(&mut summary.deviations, verdict.deviations);
        for origin in verdict.unknown.keys() {
            let value = verdict.origins.get(origin).map_or("", String::as_str);
            let known = summary.examples.entry(origin.clone()).or_default();
            if known.len() < EXAMPLES {
                known.push(format!("{} at {value}", case.seed));
            }
        }
        add(&mut summary.unknown, verdict.unknown);
        let mut seen: Vec<String> = Vec::new();
        for failure in verdict.failures {
            let class = failure.class();
            if seen.contains(&class) {
                continue;
            }
            seen.push(class.clone());
            let known = summary.classes.entry(class.clone()).or_default();
            *known += 1;
            let is_shrunk = *known <= self.options.shrunk as u64;
            let mut found = Found { seed: case.seed, failure, text: None, reference: None };
            if is_shrunk {
                self.reduce(case, model, &class, &mut found);
                self.keep(&found)?;
            }
            summary.found.push(found);
        }
        Ok(())
    }

    /// Records a model for [`replay`].
    fn record(&self, case: &Case, model: &Model, seen: &Observation) -> Result<(), String> {
        let Some(path) = &self.options.record else { return Ok(()) };
        let text = print_model(model, &PrintOptions::full()).map_err(|error| error.to_string())?.text;
        let mut answer = seen.source.clone();
        answer["removed"] = json!({});
        let line = json!({ "seed": case.seed, "sizes": case.sizes, "model": text, "answer": answer });
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.map_err(|error| format!("`{}`: {error}", path.display()))?;
        writeln!(file, "{line}").map_err(|error| error.to_string())
    }

    /// Makes a model as small as it fails.
    fn reduce(&self, case: &Case, model: &Model, class: &str, found: &mut Found) {
        let fails = |model: &Model| -> Option<Failure> {
            let seen = self.observe(model, &case.sizes, &case.inputs, false).ok()?;
            let verdict = judge(model, &case.sizes, &seen);
            verdict.failures.into_iter().find(|failure| failure.class() == class)
        };
        let small = reduce(model, MOST, |model| fails(model).is_some());
        let Some(failure) = fails(&small) else { return };
        found.reference = self.by_reference(&small, case, &failure);
        found.failure = failure;
        found.text = print_model(&small, &PrintOptions::default()).ok().map(|printed| printed.text);
    }

    /// What the reference computes for the value of a failure.
    fn by_reference(&self, model: &Model, case: &Case, failure: &Failure) -> Option<String> {
        let question = self.question(model, &case.sizes, &case.inputs, false, "reference").ok()?;
        let answer = self.ask(&question).ok()?;
        let name = answer.get("failed").map_or_else(String::new, |failed| format!(" failed: {failed}"));
        let seen = Observation::parse(&answer);
        let shown: Vec<String> = seen
            .runs
            .iter()
            .filter_map(|run| {
                Some(format!("{}: {}", run.binding, run.values.as_ref()?.get(&failure.at)?.text()))
            })
            .collect();
        Some(format!("{}{name}", shown.join("; ")))
    }

    fn question(
        &self,
        model: &Model,
        sizes: &Sizes,
        inputs: &[Input],
        repair: bool,
        by: &str,
    ) -> Result<Vec<u8>, String> {
        let bindings = specs(model, sizes, inputs).ok_or("the inputs have no sizes")?;
        let data = if by == "reference" { 1 } else { DATA };
        let question = json!({ "bindings": bindings, "data": data, "by": by, "repair": repair });
        let mut question = question.to_string().into_bytes();
        question.push(b'\n');
        let encoded = encode(model, &EncodeOptions::default()).map_err(|error| error.to_string())?;
        question.extend_from_slice(&encoded.into_bytes());
        Ok(question)
    }

    fn observe(
        &self,
        model: &Model,
        sizes: &Sizes,
        inputs: &[Input],
        repair: bool,
    ) -> Result<Observation, String> {
        let question = self.question(model, sizes, inputs, repair, "runtime")?;
        self.ask(&question).map(|answer| Observation::parse(&answer))
    }

    fn ask(&self, question: &[u8]) -> Result<Json, String> {
        match self.reference.ask(question)? {
            Answer::Message(text) => serde_json::from_slice(&text).map_err(|error| error.to_string()),
            Answer::Refused(text) => Err(text),
        }
    }

    /// Writes a reproducer.
    fn keep(&self, found: &Found) -> Result<(), String> {
        let Some(text) = &found.text else { return Ok(()) };
        let folder = self.options.folder.join("failures");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let name: String =
            found.failure.class().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let reference = found.reference.as_deref().unwrap_or("not asked");
        let text = format!(
            "# {}, seed {}\n# {}\n# reference: {reference}\n{text}",
            found.failure.class(),
            found.seed,
            found.failure.detail
        );
        fs::write(folder.join(format!("{name}-{}.onnxtxt", found.seed)), text)
            .map_err(|error| error.to_string())
    }

    #[expect(clippy::disallowed_methods, reason = "a developer reads it")]
    fn write(&self, summary: &Summary) -> Result<(), String> {
        fs::create_dir_all(&self.options.folder).map_err(|error| error.to_string())?;
        let path = self.options.folder.join("infer.json");
        let text =
            serde_json::to_string_pretty(&summary.json(&self.options)).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| format!("`{}`: {error}", path.display()))
    }
}

/// Compares inference with a recorded line.
///
/// # Errors
///
/// When the line is none.
pub fn replay(line: &str) -> Result<Verdict, String> {
    let line: Json = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let model = parsed(line["model"].as_str().unwrap_or_default())?;
    let mut sizes = Sizes::new();
    for entry in line["sizes"].as_array().into_iter().flatten() {
        let name = entry[0].as_str().ok_or("a variable has no name")?;
        sizes.push((name.to_owned(), std::array::from_fn(|binding| entry[1][binding].as_i64().unwrap_or(0))));
    }
    Ok(judge(&model, &sizes, &Observation::parse(&line["answer"])))
}

fn add<K: Ord>(all: &mut BTreeMap<K, u64>, more: BTreeMap<K, u64>) {
    for (key, count) in more {
        *all.entry(key).or_default() += count;
    }
}

fn parsed(text: &str) -> Result<Model, String> {
    parse_model(text, &ParseOptions::default()).map_err(|error| format!("{error}\n{text}"))
}

fn operator(model: &Model, name: &str) -> String {
    let node = model.nodes(model.main_graph()).find(|&node| model.str(model.node(node).name()) == name);
    node.map_or_else(|| "?".to_owned(), |node| model.str(model.node(node).op()).to_owned())
}

/// What the inputs of a model are, for each binding.
fn specs(model: &Model, sizes: &Sizes, inputs: &[Input]) -> Option<Vec<Json>> {
    let registry = contrib::registry();
    let inference = infer(model, &InferOptions::default().with_registry(&registry));
    let mut bindings = Vec::new();
    for binding in 0..BINDINGS {
        let mut specs = serde_json::Map::new();
        for &input in model.graph(model.main_graph()).inputs() {
            let name = model.str(model.value(input).name());
            let size = |symbol: Symbol| {
                let name = inference.names(model).name(symbol).into_owned();
                sizes.iter().find(|(known, _)| *known == name).map(|(_, sizes)| sizes[binding])
            };
            let dims = inference.shape(input)?.iter().map(|&dim| inference.exprs().eval(dim, &size));
            let dims: Vec<i64> = dims.collect::<Option<_>>()?;
            if dims.iter().any(|&dim| dim < 0) || dims.iter().product::<i64>() > LARGEST {
                return None;
            }
            let elem = inference.elem(input)?.name();
            let known = inputs.iter().find(|input| input.name == name);
            let (low, high) =
                known.map_or(if elem.starts_with("float") { (-1, 2) } else { (0, 1) }, |input| input.range);
            let is_optional = model.value(input).initializer().is_some();
            let spec =
                json!({ "elem": elem, "dims": dims, "low": low, "high": high, "optional": is_optional });
            specs.insert(name.to_owned(), spec);
        }
        bindings.push(Json::Object(specs));
    }
    Some(bindings)
}

impl Summary {
    /// Everything, for programs.
    #[must_use]
    pub fn json(&self, options: &Options) -> Json {
        let found: Vec<Json> = self
            .found
            .iter()
            .map(|found| {
                json!({ "seed": found.seed, "class": found.failure.class(), "at": found.failure.at,
                    "detail": found.failure.detail, "model": found.text, "reference": found.reference })
            })
            .collect();
        let reasons: BTreeMap<&str, &str> =
            DEVIATIONS.iter().map(|deviation| (deviation.name, deviation.reason)).collect();
        json!({ "seed": options.seed, "count": options.count, "counts": self.counts, "classes": self.classes,
            "failures": found, "excused by guard": self.guarded,
            "examples of excuses": self.excuses, "excused by deviation": self.deviations,
            "deviations": reasons, "unknown": self.unknown, "examples of unknown": self.examples,
            "refused by the runtime": self.refused })
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, count) in &self.counts {
            text.push_str(&format!("{name:<70} {count:>10}\n"));
        }
        let get = |name: &str| self.counts.get(name).copied().unwrap_or(0);
        let (unknown, all) =
            (get("values that sizes determine, unknown"), get("values that sizes determine"));
        let varying = get("values that sizes determine, unknown, of a rank that varies");
        let share = |count: u64| 100.0 * count as f64 / (all as f64).max(1.0);
        text.push_str(&format!(
            "{:<70} {:>9.2}%\n",
            "share of determined values that is unknown",
            share(unknown)
        ));
        text.push_str(&format!(
            "{:<70} {:>9.2}%\n",
            "share without those whose rank depends on sizes, which no shape states",
            share(unknown.saturating_sub(varying))
        ));
        let mut section = |title: &str, rows: Vec<(String, u64)>| {
            if rows.is_empty() {
                return;
            }
            let mut rows = rows;
            rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            text.push_str(&format!("\n{title}\n"));
            for (name, count) in rows.into_iter().take(40) {
                text.push_str(&format!("  {name:<68} {count:>10}\n"));
            }
        };
        let owned =
            |map: &BTreeMap<String, u64>| map.iter().map(|(name, count)| (name.clone(), *count)).collect();
        section("models with failures, by class", owned(&self.classes));
        section("mismatches excused by a violated guard, by operator", owned(&self.guarded));
        let deviations = self.deviations.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        section("mismatches excused by a deviation of the runtime", deviations);
        section("unknown although determined, by first operator", owned(&self.unknown));
        let refused = self.refused.iter().map(|(name, (count, _))| (name.clone(), *count)).collect();
        section("nodes that the runtime refuses", refused);
        text
    }
}
