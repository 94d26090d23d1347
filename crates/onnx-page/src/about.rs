//! What a model declares about itself: its producer, operator sets, documentation, metadata, inputs and outputs, and functions.

use onnx_diag::Clean;
use onnx_draw::shown;
use onnx_ir::{FunctionId, GraphId, MetadataEntry, Model, OpsetImport, ValueId};
use serde_json::{Value, json};

use crate::details::{documented, filled, value_docs, value_row};
use crate::queries::{full, grouped, limited};
use crate::session::Session;

/// Entries of metadata, values and functions that are listed.
const MOST_ROWS: usize = 200;
/// Characters of an entry of metadata.
const MOST_METADATA: usize = 2_000;

/// What a model declares about itself.
pub(crate) fn model(session: &Session) -> Value {
    let model = &session.model;
    let info = model.info();
    let graph = model.main_graph();
    let text = |symbol| full(model.str(symbol));
    let named = |name: &str, value: String| (!value.is_empty()).then(|| [name.to_owned(), value]);
    let producer = [text(info.producer_name), text(info.producer_version)].join(" ");
    let version = if info.model_version == 0 { String::new() } else { info.model_version.to_string() };
    let mut rows: Vec<[String; 2]> = [
        named("graph", text(model.graph(graph).name())),
        named("producer", producer.trim().to_owned()),
        named("domain", text(info.domain)),
        named("model version", version),
        named("IR version", info.ir_version.to_string()),
        named("operator sets", imports(model, &info.opset_imports)),
        named("nodes", grouped(model.node_count() as u64)),
    ]
    .into_iter()
    .flatten()
    .collect();
    rows.extend(documented(model, "documentation", info.doc));
    let mut lists = vec![metadata(model, &info.metadata)];
    lists.extend(graph_lists(session, graph));
    let functions = model.functions().iter().take(MOST_ROWS).map(|&function| {
        let record = model.function(function);
        let nodes = model.graph(record.body()).node_count();
        let domain = Some(text(record.domain())).filter(|domain| !domain.is_empty());
        let domain = domain.map(|domain| format!("{domain}.")).unwrap_or_default();
        [format!("{domain}{}", text(record.name())), format!("{nodes} nodes")]
    });
    lists.push(json!({ "title": "Functions", "rows": functions.collect::<Vec<_>>() }));
    json!({ "title": session.title, "rows": rows, "lists": filled(lists) })
}

/// The inputs and outputs of a graph, its documentation and its metadata.
pub(crate) fn graph_lists(session: &Session, graph: GraphId) -> Vec<Value> {
    let model = &session.model;
    let record = model.graph(graph);
    let values = |title: &str, values: &[ValueId]| {
        let mut rows: Vec<[String; 2]> =
            values.iter().take(MOST_ROWS).map(|&value| value_row(session, model, value)).collect();
        if values.len() > MOST_ROWS {
            rows.push([format!("and {} more", values.len() - MOST_ROWS), String::new()]);
        }
        json!({ "title": title, "rows": rows })
    };
    let is_input = |value: &ValueId| model.value(*value).initializer().is_none();
    let inputs: Vec<ValueId> = record.inputs().iter().copied().filter(is_input).collect();
    let outputs: Vec<ValueId> = record.outputs().iter().map(|output| output.value()).collect();
    let mut documentation: Vec<[String; 2]> = documented(model, "graph", record.doc).into_iter().collect();
    documentation.extend(value_docs(model, &inputs));
    documentation.extend(value_docs(model, &outputs));
    let mut of_graph = metadata(model, &record.metadata);
    of_graph["title"] = json!("Metadata of the graph");
    vec![
        values("Inputs", &inputs),
        values("Outputs", &outputs),
        json!({ "title": "Documentation", "rows": documentation }),
        of_graph,
    ]
}

/// What a function declares about itself, for a node that calls it.
pub(crate) fn function_rows(model: &Model, function: FunctionId) -> Vec<[String; 2]> {
    let record = model.function(function);
    let mut rows = vec![["function".to_owned(), imports(model, &record.opset_imports)]];
    let entries = record.metadata.iter().take(MOST_ROWS);
    rows.extend(documented(model, "documentation of the function", record.doc));
    rows.extend(entries.map(|entry| entry_row(model, entry)));
    rows
}

/// Metadata as a list.
pub(crate) fn metadata(model: &Model, entries: &[MetadataEntry]) -> Value {
    let mut rows: Vec<[String; 2]> =
        entries.iter().take(MOST_ROWS).map(|entry| entry_row(model, entry)).collect();
    if entries.len() > MOST_ROWS {
        rows.push([format!("and {} more", entries.len() - MOST_ROWS), String::new()]);
    }
    json!({ "title": "Metadata", "rows": rows })
}

fn entry_row(model: &Model, entry: &MetadataEntry) -> [String; 2] {
    [shown(model.str(entry.key())), Clean(&limited(entry.value(), MOST_METADATA)).to_string()]
}

/// The operator sets that are imported: `ai.onnx 21, com.microsoft 1`.
pub(crate) fn imports(model: &Model, imports: &[OpsetImport]) -> String {
    let texts: Vec<String> = imports
        .iter()
        .take(MOST_ROWS)
        .map(|import| {
            let domain = model.str(import.domain());
            format!("{} {}", if domain.is_empty() { "ai.onnx" } else { domain }, import.version())
        })
        .collect();
    full(&texts.join(", "))
}
