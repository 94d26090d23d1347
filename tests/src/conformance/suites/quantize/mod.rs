//! Number formats of generated models: half precision, and quantization to every type in every form. The result must be valid, its
//! outputs must have the types of inference, and every node computes what the reference's evaluator and onnxruntime compute.
//!
//! Every second case is a network with weights, the others are models of `onnx-smith` with the operators that a table mentions. What
//! is done follows from the seed. Nodes are compared as in the suite `eval`, with its list of deviations: QuantizeLinear is exact
//! there, so that a quantized number is never off by a step without a reason.
//!
//! `--count N` sets the number of models, `--seed S` the first seed.

mod change;
mod network;

use std::collections::BTreeSet;

use bytes::Bytes;
use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_smith::{SmithOptions, from_seed};

use super::bodies::errors;
use super::eval::EvalSuite;
use super::eval::ours::{Sizes, run};
use super::smith;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Default number of models.
const COUNT: usize = 300;

/// The suite.
pub struct QuantizeSuite {
    values: EvalSuite,
    tables: Vec<Quantization>,
}

impl QuantizeSuite {
    /// The suite with the tables of all targets.
    ///
    /// # Errors
    ///
    /// Returns an error if the list of deviations is not understood.
    pub fn new() -> Result<Self, String> {
        let tables = ["generic", "onnxruntime", "tensorrt"].into_iter().filter_map(Quantization::named);
        Ok(Self { values: EvalSuite::new()?, tables: tables.collect() })
    }

    /// The model of a seed.
    fn model(&self, seed: u64) -> Result<Model, String> {
        if seed.is_multiple_of(2) {
            return network::network(seed);
        }
        let names: BTreeSet<&str> =
            self.tables.iter().flat_map(|table| &table.operators).map(|row| row.name.as_str()).collect();
        let schemas: Vec<_> = onnx_schema::all()
            .iter()
            .filter(|schema| names.contains(schema.name()) && !schema.is_deprecated())
            .collect();
        let index = usize::try_from(seed / 2).unwrap_or(0) % schemas.len().max(1);
        let options = SmithOptions::default().with_nodes(5);
        let options = schemas.get(index).map_or(options.clone(), |schema| options.with_schema(schema.id()));
        Ok(from_seed(seed, &options).model)
    }

    /// Changes a model, and inspects the result.
    fn look(&self, before: &Model, seed: u64, outcome: &mut Outcome) -> Result<(), (String, String)> {
        let mut model = before.clone();
        let what = match change::change(&mut model, seed, &self.tables) {
            Ok(what) => what,
            Err(refused) => {
                outcome.counts.push("refused".to_owned());
                outcome.remarks.push(refused);
                return Ok(());
            }
        };
        outcome.counts.push(format!("changed: {}", what.kind));
        outcome.counts.extend(what.to.map(|to| format!("to {to}")));
        let fail = |kind: &str, detail: String| Err((format!("{} {kind}", what.kind), detail));
        if let Err(faults) = model.verify_sorted() {
            return fail("broken", format!("{faults:?}"));
        }
        if let Some(error) = errors(&model).difference(&errors(before)).next() {
            return fail("invalid", error.clone());
        }
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        if nodes.any(|node| model.str(model.node(node).domain()) == "com.microsoft") {
            // The suite `contrib` runs them.
            outcome.counts.push("operators of onnxruntime".to_owned());
            return Ok(());
        }
        let sizes = Sizes::of(&model, &[3, 2, 4, 5]);
        let found = match (run(before, seed, &sizes), run(&model, seed, &sizes)) {
            (Ok(before), Ok(_)) if !before.is_complete => {
                outcome.counts.push("do not run before".to_owned());
                return Ok(());
            }
            (Ok(_), Ok(found)) => found,
            (Err(_), _) => return Ok(()),
            (_, Err(reason)) => return fail("no inputs", reason),
        };
        if !found.is_complete {
            let first = found.failed.values().next().cloned().unwrap_or_default();
            return fail("does not run", first);
        }
        let before = outcome.failures.len();
        self.values.look(&model, &sizes, &found, outcome);
        let new = outcome.failures.len() - before;
        outcome.counts.extend((new == 0).then(|| "all nodes agree".to_owned()));
        if new > 0 {
            smith::attach(&model, outcome);
        }
        Ok(())
    }
}

impl Suite for QuantizeSuite {
    fn name(&self) -> &'static str {
        "quantize"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if !data.is_bundled() || self.values.is_absent() {
            return Ok(());
        }
        let first = data.seed.unwrap_or(0);
        for index in 0..data.count.unwrap_or(COUNT) {
            let id = format!("quantize/{:06}", first.saturating_add(index as u64));
            feed(Case { id, group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        self.values.peer(data)
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let seed = case.id.strip_prefix("quantize/").and_then(|text| text.parse().ok()).unwrap_or(0);
        match self.model(seed) {
            Err(error) => outcome.failures.push(Failure::new("not generated", error)),
            Ok(model) => {
                if let Err((kind, detail)) = self.look(&model, seed, &mut outcome) {
                    outcome.failures.push(Failure::new(kind, detail));
                    smith::attach(&model, &mut outcome);
                }
            }
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let kinds = change::KINDS.iter().map(|kind| format!("changed: {kind}"));
        let types = change::types().map(|to| format!("to {to}"));
        let others = [
            "refused",
            "operators of onnxruntime",
            "do not run before",
            "all nodes agree",
            "nodes that ran",
            "equal to reference",
            "equal to onnxruntime",
            "nodes that no peer runs",
            "listed",
        ];
        let all = kinds.chain(types).chain(others.map(str::to_owned));
        all.map(|count| format!("quantize: {} {count}", report.count(&count))).collect::<Vec<_>>().join("\n")
    }
}
