//! What simplification does to the work of onnxruntime: nodes, fused kernels and run times before and after, and of the results
//! of other simplifiers in the same run.
//!
//! `--models DIR` names a folder of models, as for the suite `models-simplify`; weights that are zeros are filled first.
//! onnxruntime runs with its default options and one thread. A kernel that is lost is a failure. Times are only reported: they
//! mean something on a machine that does nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onnx_codec::{EncodeOptions, encode};
use onnx_compose::Target;
use onnx_ir::Model;
use onnx_pass::{Idioms, PassOptions};
use onnx_rewrite::{IdiomSet, RuleSet, simplification};
use onnx_schema::Registry;
use serde_json::{Value as Json, json};

use super::real_models::{Filled, RealModels, Wrong, ask, describe};
use crate::conformance::data::{Case, Data, Feed};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The name of the original among the models of a measurement.
const BEFORE: &str = "before";

/// The name of the result of this project.
const OURS: &str = "onnx";

/// Other simplifiers.
const PEERS: [&str; 2] = ["onnxsim", "onnxslim"];

/// Seconds of alternating runs of one model and its simplified forms.
const SECONDS: f64 = 3.0;

/// The share by which a run may be slower before it is measured again.
const NOISE: f64 = 1.05;

/// Measurements of a model that seems to be slower afterwards; the one with the least ratio counts.
const ATTEMPTS: usize = 3;

/// What onnxruntime makes of one form of a model.
#[derive(Clone, Debug, Default)]
struct Measured {
    nodes: u64,
    kernels: BTreeMap<String, u64>,
    milliseconds: f64,
    bytes: u64,
}

/// A model, and what onnxruntime makes of each of its forms.
type Row = (String, BTreeMap<String, Measured>);

/// The suite.
pub(super) struct Runtime {
    models: RealModels,
    runtime: Reference,
    rows: Mutex<Vec<Row>>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self {
            models: RealModels::default(),
            runtime: Reference::with_runtime("runtime.py"),
            rows: Mutex::default(),
        }
    }
}

impl Suite for Runtime {
    fn name(&self) -> &'static str {
        "runtime"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        self.models.cases(data, feed)
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        RealModels::is_given(data).then_some(&self.runtime)
    }

    fn needs(&self) -> &'static str {
        "it needs `--models DIR`"
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let checked =
            self.models.with_filled(&case.id, |filled| self.checked(&case.id, filled, &mut outcome));
        if let Err((kind, detail)) = checked {
            outcome.failures.push(Failure::new(kind, detail));
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let mut rows = self.rows.lock().map_or_else(|_| Vec::new(), |rows| rows.clone());
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let mut text = table(&rows);
        for name in [OURS].iter().chain(&PEERS) {
            let ratios: Vec<f64> = rows.iter().filter_map(|(_, forms)| ratio(forms, name)).collect();
            if ratios.is_empty() {
                continue;
            }
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let slower = ratios.iter().filter(|&&ratio| ratio > NOISE).count();
            let _ = writeln!(
                text,
                "runtime: {name}: {} models run, geometric mean of the ratios of times {mean:.3}, {slower} above {NOISE}",
                ratios.len()
            );
        }
        let refused = report.count("models that onnxruntime refuses");
        let _ = write!(text, "runtime: {refused} models that onnxruntime refuses before");
        text
    }
}

impl Runtime {
    fn checked(&self, name: &str, filled: &Filled, outcome: &mut Outcome) -> Result<(), Wrong> {
        let before = filled.decode()?;
        let mut paths = BTreeMap::from([(BEFORE, filled.path.clone())]);
        let ours = filled.path.with_extension("ours.onnx");
        let after = simplified(&before).map_err(|error| ("pipeline", error))?;
        let file =
            encode(&after, &EncodeOptions::default()).map_err(|error| ("encode", error.to_string()))?;
        std::fs::write(&ours, file.into_bytes()).map_err(|error| ("write", error.to_string()))?;
        paths.insert(OURS, ours);
        for peer in PEERS {
            let to = filled.path.with_extension(format!("{peer}.onnx"));
            let question = json!({ "peer": peer, "of": filled.path, "to": to });
            match ask(&self.runtime, &question, &[]) {
                Ok(_) => {
                    paths.insert(peer, to);
                }
                Err(reason) => outcome.remarks.push(format!("{peer}: {reason}")),
            }
        }
        let measured = self.measured(&before, filled, &paths);
        for path in paths.values().filter(|&path| *path != filled.path) {
            // It is fine if the file was not written.
            let _ = std::fs::remove_file(path);
        }
        let forms = measured?;
        let Some(old) = forms.get(BEFORE) else {
            outcome.counts.push("models that onnxruntime refuses".to_owned());
            return Ok(());
        };
        let new = forms.get(OURS).ok_or(("refused", "onnxruntime refuses the result".to_owned()))?;
        let lost: Vec<String> = (old.kernels.iter())
            .filter_map(|(kernel, &count)| {
                let left = new.kernels.get(kernel).copied().unwrap_or(0);
                (left < count).then(|| format!("{kernel}: {count} before, {left} after"))
            })
            .collect();
        if !lost.is_empty() {
            let won: Vec<_> =
                new.kernels.iter().filter(|(kernel, _)| !old.kernels.contains_key(*kernel)).collect();
            let detail =
                format!("{}; only after: {won:?}; nodes {} -> {}", lost.join(", "), old.nodes, new.nodes);
            outcome.failures.push(Failure::new("lost kernel", detail));
        }
        if new.bytes as f64 > old.bytes as f64 * 1.01 {
            outcome.failures.push(Failure::new("larger", format!("{} -> {} bytes", old.bytes, new.bytes)));
        }
        if let Ok(mut rows) = self.rows.lock() {
            rows.push((name.to_owned(), forms));
        }
        Ok(())
    }

    /// Measures all forms of a model; again if the result seems to be slower.
    fn measured(
        &self,
        model: &Model,
        filled: &Filled,
        paths: &BTreeMap<&str, PathBuf>,
    ) -> Result<BTreeMap<String, Measured>, Wrong> {
        let inputs = filled.inputs(model, 0).map_err(|error| ("no inputs", error))?;
        let (values, blobs) = describe(model, &inputs).map_err(|error| ("no inputs", error))?;
        let mut best: BTreeMap<String, Measured> = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            let question = json!({ "measure": paths, "seconds": SECONDS, "values": values });
            let answer = ask(&self.runtime, &question, &blobs).map_err(|error| ("onnxruntime", error))?;
            let answer: BTreeMap<String, Json> =
                serde_json::from_slice(&answer).map_err(|error| ("onnxruntime", error.to_string()))?;
            let forms: BTreeMap<String, Measured> = (answer.into_iter())
                .filter_map(|(name, json)| {
                    let path = paths.get(name.as_str())?;
                    Some((name, of_json(&json, path)?))
                })
                .collect();
            if best.is_empty() || ratio(&forms, OURS) < ratio(&best, OURS) {
                best = forms;
            }
            if ratio(&best, OURS).is_none_or(|ratio| ratio <= NOISE) {
                break;
            }
        }
        Ok(best)
    }
}

fn of_json(json: &Json, path: &Path) -> Option<Measured> {
    let kernels = json.get("kernels")?.as_object()?.iter();
    Some(Measured {
        nodes: json.get("nodes")?.as_u64()?,
        kernels: kernels.filter_map(|(kernel, count)| Some((kernel.clone(), count.as_u64()?))).collect(),
        milliseconds: json.get("milliseconds")?.as_f64()?,
        bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
    })
}

/// The time of a form, divided by that of the original.
fn ratio(forms: &BTreeMap<String, Measured>, name: &str) -> Option<f64> {
    Some(forms.get(name)?.milliseconds / forms.get(BEFORE)?.milliseconds)
}

/// A row for each model: nodes and kernels before and after, bytes, and ratios of times.
fn table(rows: &[Row]) -> String {
    let mut text =
        "model | nodes | kernels | bytes | time, ms | onnx | onnxsim | onnxslim\n--- | --- | --- | --- | --- | --- | --- | ---\n"
            .to_owned();
    for (name, forms) in rows {
        let (Some(old), Some(new)) = (forms.get(BEFORE), forms.get(OURS)) else { continue };
        let [a, b] = [old, new].map(|form| form.kernels.values().sum::<u64>());
        let ratio = |name: &str| ratio(forms, name).map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            text,
            "{name} | {} -> {} | {a} -> {b} | {:.3} | {:.3} | {} | {} | {}",
            old.nodes,
            new.nodes,
            new.bytes as f64 / old.bytes as f64,
            old.milliseconds,
            ratio(OURS),
            ratio(PEERS[0]),
            ratio(PEERS[1]),
        );
    }
    text
}

/// The model after `onnx simplify`.
fn simplified(before: &Model) -> Result<Model, String> {
    let registry =
        Registry::standard().with(onnx_eval::contrib::pack()).map_err(|error| error.to_string())?;
    let target = Target::named("onnxruntime").ok_or("the target is not known")?;
    let rules = target.fitted(RuleSet::standard().map_err(|error| error.to_string())?);
    let rules = rules.with_costs(target.all_costs());
    let idioms = IdiomSet::onnxruntime().map_err(|error| error.to_string())?;
    let pipeline = simplification(rules, &registry).map_err(|error| error.to_string())?;
    let mut after = before.clone();
    let options = PassOptions::default()
        .with_registry(&registry)
        .with_level(onnx_pass::Level::Types)
        .with_idioms(Some(&idioms as &dyn Idioms));
    let done = pipeline.run(&mut after, &options);
    done.ended.map_or(Ok(after), |ended| Err(ended.to_string()))
}
