//! Simplification of real models: onnxruntime computes the same before and after, at the sizes of two runs: the same bits after
//! exact edits, and otherwise the same within rounding; fusions are the third kind of edits.
//!
//! `--models DIR` names a folder of models, as for the suite `models-eval`; weights that are zeros are filled first. onnxruntime
//! runs without optimizations. A file `peers.json` in the folder, with the numbers of nodes that other simplifiers leave, is
//! compared: `{"model": {"onnxsim": 10, "onnxslim": "fails"}}`. Nodes are counted in all graphs, without `Constant`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;

use onnx_codec::{EncodeOptions, encode};
use onnx_eval::{Value, contrib};
use onnx_ir::Model;
use onnx_pass::{Exactness, PassOptions};
use onnx_rewrite::{RuleSet, fused_simplification, simplification};
use onnx_schema::Registry;
use serde_json::Value as Json;

use super::passes;
use super::real_models::{Filled, Inputs, RealModels, Wrong, difference};
use super::simplify::{count_nodes, same_bits};
use crate::conformance::data::{Case, Data, Feed};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Numbers of nodes by model and tool.
type Peers = BTreeMap<String, BTreeMap<String, Json>>;

/// A run in onnxruntime: its number, the inputs, and the outputs by name.
type Run = (usize, Inputs, HashMap<String, Value>);

/// The edits that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edits {
    /// Those after which every implementation computes the same bits.
    Exact,
    /// Those that may round, too.
    Rounding,
    /// Those that may round, and then fusions.
    Fused,
}

impl Edits {
    const fn class(self) -> Exactness {
        match self {
            Self::Exact => Exactness::Exact,
            Self::Rounding | Self::Fused => Exactness::Rounding,
        }
    }
}

/// The suite.
#[derive(Default)]
pub(super) struct ModelsSimplify {
    models: RealModels,
    peers: Mutex<Peers>,
}

impl Suite for ModelsSimplify {
    fn name(&self) -> &'static str {
        "models-simplify"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(text) =
            data.models.as_ref().and_then(|folder| std::fs::read(folder.join("peers.json")).ok())
        {
            let peers: Peers =
                serde_json::from_slice(&text).map_err(|error| format!("peers.json: {error}"))?;
            *self.peers.lock().map_err(|error| error.to_string())? = peers;
        }
        self.models.cases(data, feed)
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        self.models.peer(data)
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
        let names = [
            "models",
            "nodes before",
            "nodes after",
            "nodes of the best peers",
            "nodes after fusions",
            "models with more nodes than the best peer",
            "runs in onnxruntime",
            "runs that onnxruntime refuses",
            "runs with equal outputs",
        ];
        names.map(|name| format!("models-simplify: {} {name}", report.count(name))).join("\n")
    }
}

impl ModelsSimplify {
    fn checked(&self, name: &str, filled: &Filled, outcome: &mut Outcome) -> Result<(), Wrong> {
        outcome.counts.push("models".to_owned());
        let before = filled.decode()?;
        let runs = self.runs(&before, filled, outcome)?;
        let path = filled.path.with_extension("simplified.onnx");
        let smaller = simplified(&before, Edits::Rounding).map_err(|error| ("pipeline", error))?;
        self.count(name, count_nodes(&before), count_nodes(&smaller), outcome);
        for edits in [Edits::Exact, Edits::Rounding, Edits::Fused] {
            let after = match edits {
                Edits::Rounding => smaller.clone(),
                _ => simplified(&before, edits).map_err(|error| ("pipeline", error))?,
            };
            if edits == Edits::Fused {
                let nodes = 0..count_nodes(&after);
                outcome.counts.extend(nodes.map(|_| "nodes after fusions".to_owned()));
            }
            if let Some(found) = passes::new_errors(&before, &after) {
                return Err(("new errors", found));
            }
            let compared = self.compare(&before, (&after, &path), edits, &runs);
            // It is fine if the file was not written.
            let _ = std::fs::remove_file(&path);
            outcome.counts.extend((0..compared?).map(|_| "runs with equal outputs".to_owned()));
        }
        Ok(())
    }

    fn count(&self, name: &str, before: usize, after: usize, outcome: &mut Outcome) {
        let peers = self.peers.lock().map_or_else(|_| Peers::new(), |peers| peers.clone());
        let counts = peers.get(name).into_iter().flatten();
        let best = counts.filter(|(tool, _)| *tool != "before").filter_map(|(_, count)| count.as_u64()).min();
        let best = best.and_then(|best| usize::try_from(best).ok());
        if let Some(best) = best.filter(|&best| after > best) {
            outcome.counts.push("models with more nodes than the best peer".to_owned());
            outcome.remarks.push(format!("{after} nodes, the best peer has {best}"));
        }
        let rows = [
            ("nodes before", before),
            ("nodes after", after),
            ("nodes of the best peers", best.unwrap_or(0)),
        ];
        for (what, count) in rows {
            outcome.counts.extend((0..count).map(|_| what.to_owned()));
        }
    }

    /// Runs a model in onnxruntime: inputs and outputs.
    fn runs(&self, model: &Model, filled: &Filled, outcome: &mut Outcome) -> Result<Vec<Run>, Wrong> {
        let mut runs = Vec::new();
        for run in 0..2 {
            let inputs = filled.inputs(model, run).map_err(|error| ("no inputs", error))?;
            match self.models.runtime(&filled.path, model, &inputs, false) {
                Ok(outputs) => {
                    outcome.counts.push("runs in onnxruntime".to_owned());
                    runs.push((run, inputs, outputs));
                }
                Err(reason) => {
                    outcome.counts.push("runs that onnxruntime refuses".to_owned());
                    outcome.remarks.push(format!("run {run}: {reason}"));
                }
            }
        }
        Ok(runs)
    }

    /// Runs the edited model on the same inputs; returns the number of runs.
    fn compare(
        &self,
        before: &Model,
        (after, path): (&Model, &Path),
        edits: Edits,
        runs: &[Run],
    ) -> Result<usize, Wrong> {
        let file = encode(after, &EncodeOptions::default()).map_err(|error| ("encode", error.to_string()))?;
        std::fs::write(path, file.into_bytes()).map_err(|error| ("write", error.to_string()))?;
        for (run, inputs, old) in runs {
            let of = |what: String| format!("{edits:?}, run {run}: {what}");
            // Inputs keep their names and their order.
            let new = self.models.runtime(path, before, inputs, false);
            let new = new.map_err(|error| ("onnxruntime", of(error)))?;
            for output in before.graph(before.main_graph()).outputs() {
                let name = before.str(before.value(output.value()).name());
                let (Some(old), Some(new)) = (old.get(name), new.get(name)) else {
                    return Err(("output", of(format!("output `{name}` is missing"))));
                };
                if let Some(difference) = difference(old, new) {
                    return Err(("different", of(format!("output `{name}`: {difference}"))));
                }
                if edits == Edits::Exact && !same_bits(old, new) {
                    return Err(("other bits", of(format!("output `{name}`"))));
                }
            }
        }
        Ok(runs.len())
    }
}

/// The model after the edits.
fn simplified(before: &Model, edits: Edits) -> Result<Model, String> {
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let rules = RuleSet::standard().map_err(|error| error.to_string())?;
    let pipeline = if edits == Edits::Fused {
        let fusions = RuleSet::fusions().map_err(|error| error.to_string())?;
        fused_simplification(rules, fusions, &registry)
    } else {
        simplification(rules, &registry)
    };
    let pipeline = pipeline.map_err(|error| error.to_string())?;
    let mut after = before.clone();
    let options = PassOptions::default().with_class(edits.class()).with_registry(&registry);
    let done = pipeline.run(&mut after, &options);
    done.ended.map_or(Ok(after), |ended| Err(ended.to_string()))
}
