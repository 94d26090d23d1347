//! Composition: where the reference merges, renames or extracts, so does `onnx-compose`, with the same result.
//!
//! The cases are the recorded calls of `compose` and `utils`, which are also committed. Results are equal if the names of inputs
//! and outputs are, and if the computations are up to the names inside of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_compose::{
    Connection, ExtractOptions, MergeOptions, Merged, RenameKinds, RenameRule, extract, merge, rename,
};
use onnx_diff::hash_structure;
use onnx_ir::{Def, GraphOutput, Model, NodeId, ValueId};
use onnx_types::Execution;
use serde_json::Value;

use super::inline::same;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::manifest::{self, Blob, Blobs, Record};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The committed cases.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/compose.tar.zst");

/// The suite.
#[derive(Default)]
pub struct ComposeSuite {
    calls: Mutex<BTreeMap<String, Call>>,
}

/// A recorded call.
struct Call {
    name: String,
    options: Value,
    inputs: Vec<Bytes>,
    /// The result, if the call succeeded.
    output: Option<Bytes>,
}

type Checked = Result<&'static str, (&'static str, String)>;

impl Suite for ComposeSuite {
    fn name(&self) -> &'static str {
        "compose"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let corpus = match &data.corpus {
            Some(corpus) => corpus.as_path(),
            None if data.is_bundled() => Path::new(BUNDLED),
            None => return Ok(()),
        };
        let is_wanted =
            |record: &Record| record.call.starts_with("compose.") || record.call.starts_with("utils.");
        let (records, blobs) = manifest::read_with_blobs(corpus, is_wanted)?;
        for record in records {
            let inputs: Vec<Bytes> = record.inputs.iter().filter_map(|blob| message(blob, &blobs)).collect();
            let Some(first) = inputs.first().cloned() else { continue };
            let output = record.outputs.first().and_then(|blob| message(blob, &blobs)).filter(|_| record.ok);
            let id = format!("compose/{}", record.id);
            let call = Call { name: record.call.clone(), options: record.options.clone(), inputs, output };
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), call);
            feed(Case { id, group: Group::Model, bytes: first })?;
        }
        Ok(())
    }

    fn refuses_stale_deviations(&self) -> bool {
        true
    }

    fn check(&self, case: &Case) -> Outcome {
        let call = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let Some(call) = call else { return outcome };
        match call.check() {
            Ok(count) => outcome.counts.push(count.to_owned()),
            Err((kind, detail)) => outcome.failures.push(Failure::new(kind, detail)),
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = ["equal", "both refuse", "collisions are found"];
        counts.map(|count| format!("compose: {} {count}", report.count(count))).join("\n")
    }
}

/// The bytes of an input or output; those of a graph become a model.
fn message(blob: &Blob, blobs: &Blobs) -> Option<Bytes> {
    let bytes = blobs.get(&blob.hash)?;
    if blob.kind != "GraphProto" {
        return Some(bytes.clone());
    }
    // `ir_version: 10`, `opset_import: { version: 15 }`, the version that the tests use, and the graph.
    let mut model = vec![0x08, 10, 0x42, 2, 0x10, 15, 0x3a];
    let mut length = bytes.len();
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        model.push(if length == 0 { low } else { low | 0x80 });
        if length == 0 {
            break;
        }
    }
    model.extend_from_slice(bytes);
    Some(model.into())
}

impl Call {
    fn check(&self) -> Checked {
        let models = self.inputs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if self.name == "compose.check_overlapping_names" {
            return self.collisions(&models);
        }
        let made = match self.name.as_str() {
            "compose.merge_models" | "compose.merge_graphs" => {
                self.merged(&models).map(|merged| merged.model)
            }
            "compose.add_prefix" | "compose.add_prefix_graph" => self.prefixed(&models),
            _ => self.extracted(&models),
        };
        let (made, expected) = match (made, &self.output) {
            (Err(_), None) => return Ok("both refuse"),
            (Err(error), Some(_)) => return Err(("refused", error)),
            (Ok(made), None) => {
                made.verify().map_err(|faults| ("broken", format!("{faults:?}")))?;
                return Err(("accepted", "the reference refuses".to_owned()));
            }
            (Ok(made), Some(expected)) => (made, read(expected)?),
        };
        made.verify().map_err(|faults| ("broken", format!("{faults:?}")))?;
        if self.name.starts_with("compose.add_prefix") {
            let (ours, theirs) = (all_names(&made), all_names(&expected));
            if ours != theirs {
                let differ: Vec<_> = ours.symmetric_difference(&theirs).collect();
                return Err(("names", format!("{differ:?}")));
            }
        }
        equal(&made, &expected)
    }

    fn merged(&self, models: &[Model]) -> Result<Merged, String> {
        let [a, b] = models else { return Err("two models are merged".to_owned()) };
        let pairs = self.options.get("io_map").and_then(Value::as_array);
        let mut connections = Vec::new();
        for pair in pairs.into_iter().flatten() {
            let name = |index: usize| pair.get(index).and_then(Value::as_str).unwrap_or_default();
            let from = outputs(a).into_iter().find(|&value| text(a, value) == name(0));
            let to = inputs(b).into_iter().find(|&value| text(b, value) == name(1));
            match (from, to) {
                (Some(from), Some(to)) => connections.push(Connection::new((0, from), (1, to))),
                _ => return Err(format!("{pair} is not an output and an input")),
            }
        }
        let prefixes = ["prefix1", "prefix2"]
            .map(|key| self.options.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
        let options = MergeOptions::default().with_prefixes(prefixes);
        let mut merged = merge(&[a, b], &connections, &options).map_err(|error| error.to_string())?;
        let names = ["inputs", "outputs"].map(|key| self.names(key));
        if names.iter().any(|names| !names.is_empty()) {
            part(&mut merged.model, &names)?;
        }
        Ok(merged)
    }

    fn prefixed(&self, models: &[Model]) -> Result<Model, String> {
        let mut model = models.first().cloned().unwrap_or_default();
        let is_set = |key: &str| self.options.get(key).and_then(Value::as_bool).unwrap_or(false);
        let kinds = RenameKinds::NONE
            .with_nodes(is_set("rename_nodes"))
            .with_inputs(is_set("rename_inputs"))
            .with_outputs(is_set("rename_outputs"))
            .with_initializers(is_set("rename_initializers"))
            .with_value_infos(is_set("rename_value_infos"))
            .with_values(is_set("rename_edges"))
            .with_functions(is_set("rename_functions"));
        let prefix = self.options.get("prefix").and_then(Value::as_str).unwrap_or_default();
        let rules = [RenameRule::add_prefix(prefix)];
        rename(&mut model, &rules, kinds).map_err(|error| error.to_string())?;
        self.rename_captures(&mut model);
        Ok(model)
    }

    /// Gives the values of the graphs around a nested graph the names that they have after the call.
    fn rename_captures(&self, model: &mut Model) {
        let Some(names) = self.options.get("name_map").and_then(Value::as_object) else { return };
        let nodes: Vec<NodeId> = model.nodes_in(model.main_graph()).collect();
        let inputs =
            nodes.into_iter().flat_map(|node| model.node(node).inputs().flatten().collect::<Vec<_>>());
        let captures: BTreeSet<ValueId> =
            inputs.filter(|&value| matches!(model.value(value).def(), Def::Unresolved(_))).collect();
        for value in captures {
            if let Some(name) = names.get(model.str(model.value(value).name())).and_then(Value::as_str) {
                let name = model.intern(name);
                model.set_value_name(value, name);
            }
        }
    }

    fn extracted(&self, models: &[Model]) -> Result<Model, String> {
        let mut model = models.first().cloned().unwrap_or_default();
        part(&mut model, &[self.names("input_names"), self.names("output_names")])?;
        Ok(model)
    }

    /// Names that the reference finds in both graphs are renamed or shared where these are merged, and no other value is.
    fn collisions(&self, models: &[Model]) -> Checked {
        let output = self.output.as_ref().ok_or(("no answer", String::new()))?;
        let found: Value =
            serde_json::from_slice(output).map_err(|error| ("unreadable", error.to_string()))?;
        let lists = found.as_array().into_iter().flatten().filter_map(|entry| entry.get(1)?.as_array());
        let found: BTreeSet<&str> = lists.flatten().filter_map(Value::as_str).collect();
        let merged = self.merged(models).map_err(|error| ("refused", error))?;
        merged.model.verify().map_err(|faults| ("broken", format!("{faults:?}")))?;
        if !merged.model.name_plan().is_trivial() {
            return Err(("collisions", "names of the merged model collide".to_owned()));
        }
        let kinds = [onnx_compose::RenamedKind::Dimension, onnx_compose::RenamedKind::Metadata];
        let renamed = merged.renamed.iter().filter(|renamed| !kinds.contains(&renamed.kind));
        let other: Vec<&str> =
            renamed.map(|renamed| renamed.from.as_str()).filter(|name| !found.contains(name)).collect();
        if other.is_empty() { Ok("collisions are found") } else { Err(("renamed", format!("{other:?}"))) }
    }

    fn names(&self, key: &str) -> Vec<String> {
        let names = self.options.get(key).and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// Makes the part between named values the model.
fn part(model: &mut Model, [inputs, outputs]: &[Vec<String>; 2]) -> Result<(), String> {
    let find = |name: &String| {
        model.find_value(model.main_graph(), name).ok_or_else(|| format!("the model has no value `{name}`"))
    };
    let inputs = inputs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let outputs = match outputs.as_slice() {
        [] => self::outputs(model),
        outputs => outputs.iter().map(find).collect::<Result<Vec<_>, _>>()?,
    };
    let inputs = (!inputs.is_empty()).then_some(inputs.as_slice());
    extract(model, inputs, &outputs, &ExtractOptions::default()).map(drop).map_err(|error| error.to_string())
}

/// Whether two results are equal up to names inside of them: as structures, or else in a run.
fn equal(made: &Model, expected: &Model) -> Checked {
    let interface = |model: &Model| {
        let names =
            |values: Vec<ValueId>| values.into_iter().map(|value| text(model, value)).collect::<Vec<_>>();
        format!("{:?} -> {:?}", names(inputs(model)), names(outputs(model)))
    };
    let (ours, theirs) = (interface(made), interface(expected));
    if ours != theirs {
        return Err(("interface", format!("{ours}, not {theirs}")));
    }
    if made.node_count() != expected.node_count() {
        return Err(("nodes", format!("{}, not {}", made.node_count(), expected.node_count())));
    }
    let execution = Execution::default();
    let hash = |model: &Model| hash_structure(model, &execution).map_err(|_| ("stopped", String::new()));
    if hash(made)? == hash(expected)? || same(expected, made)? {
        return Ok("equal");
    }
    Err(("different", "the structures differ, and the models were not run".to_owned()))
}

/// The names of all values and nodes, also of nested graphs, and of functions.
fn all_names(model: &Model) -> BTreeSet<(&'static str, String)> {
    let mut names = BTreeSet::new();
    let mut add = |kind, name| _ = names.insert((kind, model.str(name).to_owned()));
    for graph in model.graphs_in(model.main_graph()) {
        model.definitions(graph).for_each(|value| add("value", model.value(value).name()));
        model.value_info(graph).for_each(|entry| add("value info", model.value(entry.value()).name()));
        model.nodes(graph).for_each(|node| add("node", model.node(node).name()));
    }
    model.functions().iter().for_each(|&function| add("function", model.function(function).name()));
    names
}

fn read(bytes: &Bytes) -> Result<Model, (&'static str, String)> {
    let decoded = decode(bytes.clone(), &DecodeOptions::default());
    decoded.map(|decoded| decoded.model).map_err(|error| ("unreadable", error.to_string()))
}

fn inputs(model: &Model) -> Vec<ValueId> {
    model.graph(model.main_graph()).inputs().to_vec()
}

fn outputs(model: &Model) -> Vec<ValueId> {
    model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect()
}

fn text(model: &Model, value: ValueId) -> String {
    model.str(model.value(value).name()).to_owned()
}
