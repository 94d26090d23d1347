//! Everything about a box.

use std::collections::HashSet;

use onnx_diag::Clean;
use onnx_draw::{ItemKind, shown, stored_weight, type_text};
use onnx_ir::{Callee, Model, NodeId, ValueId};
use onnx_schema::{Formal, Schema, versions};
use onnx_select::{Element, Selectors};
use onnx_types::Symbol;
use serde_json::{Value, json};

use crate::about;
use crate::group;
use crate::queries::{full, limited, line, place};
use crate::request::Place;
use crate::session::Session;

/// Values of an input or output that are listed.
const MOST_VALUES: usize = 500;
/// Users of a value that are listed.
const MOST_USERS: usize = 40;
/// Nodes without a box that are listed.
const MOST_FOLDED: usize = 200;
/// Characters of a documentation.
const MOST_DOCUMENTATION: usize = 4_000;

/// The nodes that compute the weights of a node, such as `DequantizeLinear`: they have no boxes. Those that the node uses come first.
pub(crate) fn folded(model: &Model, node: NodeId) -> Vec<NodeId> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut last = vec![node];
    while !last.is_empty() && found.len() < MOST_FOLDED {
        let operands = last.iter().flat_map(|&node| model.node(node).inputs().flatten());
        let weights = operands.filter(|&value| stored_weight(model, value).is_some());
        last = weights
            .filter_map(|value| model.value(value).producer())
            .filter(|&maker| seen.insert(maker))
            .take(MOST_FOLDED - found.len())
            .collect();
        found.extend(&last);
    }
    found
}

/// The node of a box, or one that computes its weights.
pub(crate) fn node_at(
    session: &Session,
    (level, item): Place,
    index: Option<usize>,
) -> Result<NodeId, String> {
    let found = session.scene.level(level).and_then(|level| level.items.get(item));
    let Some(ItemKind::Node(node)) = found.map(|item| item.kind) else {
        return Err("the box is not a node".to_owned());
    };
    let Some(index) = index else { return Ok(node) };
    folded(&session.model, node).get(index).copied().ok_or_else(|| "the node does not exist".to_owned())
}

/// The position of a node among those that compute the weights of the node with the box; `None` for that node itself.
pub(crate) fn folded_at(session: &Session, node: NodeId) -> Option<usize> {
    let (level, item) = session.scene.place(node)?;
    let host = node_at(session, (level, item), None).ok().filter(|&host| host != node)?;
    folded(&session.model, host).iter().position(|&other| other == node)
}

/// Everything about a box, or about a node that computes a weight of the node with the box.
pub(crate) fn details(session: &Session, at: Place, index: Option<usize>) -> Result<Value, String> {
    let (level, item) = at;
    if index.is_some() {
        let mut answer = node_details(session, node_at(session, at, index)?);
        answer["of"] = json!(line(session, Element::Node(node_at(session, at, None)?)));
        return Ok(answer);
    }
    let found =
        session.scene.level(level).and_then(|level| level.items.get(item)).ok_or("the box does not exist")?;
    let model = &session.model;
    match found.kind {
        ItemKind::Node(node) => Ok(node_details(session, node)),
        ItemKind::Group => Ok(group::details(session, &found.title, &session.scene.nodes_in(level, item))),
        ItemKind::Graph(graph) => {
            let rows: Vec<[String; 2]> =
                found.lines.iter().map(|line| ["contents".to_owned(), line.clone()]).collect();
            let lists = about::graph_lists(session, graph);
            Ok(json!({ "title": found.title, "rows": rows, "lists": filled(lists) }))
        }
        _ => {
            let values = found.values.iter().take(MOST_VALUES);
            let rows: Vec<[String; 2]> = values.map(|&value| value_row(session, model, value)).collect();
            let mut lists = vec![users(session, &found.values)];
            lists.push(json!({ "title": "Declared otherwise", "rows": declared(session, &found.values) }));
            lists.push(json!({ "title": "Documentation", "rows": value_docs(model, &found.values) }));
            if found.kind == ItemKind::Output {
                lists.insert(0, makers(session, &found.values));
            }
            Ok(json!({ "title": found.title, "rows": rows, "lists": filled(lists) }))
        }
    }
}

pub(crate) fn value_row(session: &Session, model: &Model, value: ValueId) -> [String; 2] {
    [full(model.str(model.value(value).name())), type_text(model, Some(&session.inference), value)]
}

/// The declared types of values whose inferred types are shown, if the texts differ.
fn declared(session: &Session, values: &[ValueId]) -> Vec<[String; 2]> {
    let model = &session.model;
    let differs = |&value: &ValueId| {
        let [name, inferred] = value_row(session, model, value);
        let declared = type_text(model, None, value);
        (model.ty(value).is_some() && declared != inferred).then_some([name, declared])
    };
    values.iter().take(MOST_VALUES).filter_map(differs).collect()
}

/// The documentation of values that have one.
pub(crate) fn value_docs(model: &Model, values: &[ValueId]) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    for &value in values.iter().take(MOST_VALUES) {
        let record = model.value(value);
        rows.extend(documented(model, &full(model.str(record.name())), record.doc()));
    }
    rows
}

/// A row with a documentation, if there is one.
pub(crate) fn documented(model: &Model, name: &str, doc: Symbol) -> Option<[String; 2]> {
    let text = model.str(doc);
    let row = || [name.to_owned(), Clean(&limited(text, MOST_DOCUMENTATION)).to_string()];
    (!text.is_empty()).then(row)
}

fn node_details(session: &Session, node: NodeId) -> Value {
    let model = &session.model;
    let record = model.node(node);
    let schema = match model.callee(node, &session.registry) {
        Callee::Standard(schema) => Some(schema),
        _ => None,
    };
    let selector = Selectors::new(model).text(Element::Node(node));
    let mut lists = operand_lists(session, node, schema);
    lists.push(json!({ "title": "Attributes", "rows": attributes(model, node, schema) }));
    lists.push(json!({ "title": "Why a type is not known", "rows": unknown(session, node) }));
    lists.push(about::metadata(model, record.metadata()));
    lists.push(json!({ "title": "Computed weights", "rows": folded_rows(session, node), "folded": true }));
    let weights: Vec<Value> = record
        .inputs()
        .enumerate()
        .filter(|&(_, value)| value.is_some_and(|value| stored_weight(model, value).is_some()))
        .map(|(index, value)| {
            let [name, ty] = value.map_or_else(Default::default, |value| value_row(session, model, value));
            json!({ "input": index, "name": name, "type": ty })
        })
        .collect();
    let mut answer = json!({
        "title": shown(model.str(record.op())),
        "selector": selector,
        "rows": node_rows(session, node, schema, selector.as_deref()),
        "lists": filled(lists),
        "weights": weights,
    });
    if let Some(schema) = schema {
        answer["documentation"] = documentation(schema);
    }
    answer
}

/// The nodes that compute weights of a node, in the order of [`folded`].
fn folded_rows(session: &Session, node: NodeId) -> Vec<[String; 1]> {
    folded(&session.model, node).into_iter().map(|node| [line(session, Element::Node(node))]).collect()
}

/// What a node is: its name, its operator and the version of that, its selector and its cost.
fn node_rows(
    session: &Session,
    node: NodeId,
    schema: Option<&'static Schema>,
    selector: Option<&str>,
) -> Vec<[String; 2]> {
    let model = &session.model;
    let record = model.node(node);
    let domain = model.str(record.domain());
    let mut rows = vec![
        ["name".to_owned(), full(model.str(record.name()))],
        ["domain".to_owned(), if domain.is_empty() { "ai.onnx".to_owned() } else { shown(domain) }],
    ];
    if let Some(schema) = schema {
        let known: Vec<String> = versions(schema.domain(), schema.op())
            .iter()
            .map(|other| other.since_version().to_string())
            .collect();
        rows.push(["version".to_owned(), format!("{} of {}", schema.since_version(), known.join(", "))]);
        rows.push(["signature".to_owned(), signature(schema)]);
    }
    if let Some(selector) = selector {
        rows.push(["selector".to_owned(), Clean(selector).to_string()]);
    }
    rows.extend(documented(model, "documentation", record.doc()));
    if let Callee::Function(function) = model.callee(node, &session.registry) {
        rows.extend(about::function_rows(model, function));
    }
    if let Some(cost) = session.marks.cost.get(node) {
        rows.push(["operations".to_owned(), format!("{cost}")]);
    }
    rows
}

/// The operands and results by name, with their types and the values of the last run.
fn operand_lists(session: &Session, node: NodeId, schema: Option<&'static Schema>) -> Vec<Value> {
    let model = &session.model;
    let record = model.node(node);
    let formal = |index: usize, is_input: bool| {
        let formal = schema.and_then(|schema| match is_input {
            true => schema.input_for(index),
            false => schema.output_for(index),
        });
        formal.map_or_else(|| index.to_string(), |formal| formal.name.to_owned())
    };
    let operand = |(index, value): (usize, Option<ValueId>), is_input: bool| match value {
        Some(value) => {
            let [name, ty] = value_row(session, model, value);
            let seen = session.values.as_ref().and_then(|values| values.text(value)).unwrap_or_default();
            let row = [formal(index, is_input), name, ty, seen];
            row.into_iter().take_while(|cell| !cell.is_empty()).collect::<Vec<_>>()
        }
        None => vec![formal(index, is_input), "absent".to_owned()],
    };
    let inputs: Vec<_> = record.inputs().enumerate().map(|pair| operand(pair, true)).collect();
    let own = session.scene.place(node);
    // A weight is a line of the boxes that use it.
    let is_elsewhere = |&value: &ValueId| stored_weight(model, value).is_none();
    let made_at = |value| place(session, Element::Value(value)).filter(|&at| Some(at) != own);
    let places: Vec<_> = record.inputs().map(|value| value.filter(is_elsewhere).and_then(made_at)).collect();
    let outputs: Vec<_> =
        record.outputs().iter().copied().enumerate().map(|pair| operand(pair, false)).collect();
    let made: Vec<ValueId> = record.outputs().iter().flatten().copied().collect();
    vec![
        json!({ "title": "Inputs", "rows": inputs, "places": places, "link": 1 }),
        json!({ "title": "Outputs", "rows": outputs }),
        users(session, &made),
    ]
}

/// The lists that have rows.
pub(crate) fn filled(mut lists: Vec<Value>) -> Vec<Value> {
    lists.retain(|list| list["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    lists
}

/// The nodes that use values, with the places of their boxes.
fn users(session: &Session, values: &[ValueId]) -> Value {
    let model = &session.model;
    let uses = values.iter().flat_map(|&value| model.value(value).uses().iter());
    nodes("Used by", session, uses.filter_map(|usage| usage.user.node()))
}

/// The nodes that make values, with the places of their boxes.
fn makers(session: &Session, values: &[ValueId]) -> Value {
    nodes("Made by", session, values.iter().filter_map(|&value| session.model.value(value).producer()))
}

/// Nodes as a list, each once.
fn nodes(title: &str, session: &Session, found: impl Iterator<Item = NodeId>) -> Value {
    let mut seen = HashSet::new();
    let mut found = found.filter(|&node| seen.insert(node));
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    for node in found.by_ref().take(MOST_USERS) {
        rows.push([line(session, Element::Node(node))]);
        places.push(session.scene.place(node));
    }
    let more = found.count();
    if more > 0 {
        rows.push([format!("and {more} more")]);
        places.push(None);
    }
    json!({ "title": title, "rows": rows, "places": places, "link": 0 })
}

/// How the operator is called: `Y = Conv (X, W, [B])`.
fn signature(schema: &Schema) -> String {
    let formal = |formal: &Formal| match (formal.is_optional(), formal.is_variadic()) {
        (_, true) => format!("{}…", formal.name),
        (true, _) => format!("[{}]", formal.name),
        _ => formal.name.to_owned(),
    };
    let list = |formals: &[Formal]| formals.iter().map(formal).collect::<Vec<_>>().join(", ");
    format!("{} = {} ({})", list(schema.outputs()), schema.name(), list(schema.inputs()))
}

/// The page of the operator in the documentation of ONNX. Nothing is loaded from there unless the user opens it.
fn documentation(schema: &Schema) -> Value {
    let name = schema.name();
    let (domain, page) = match schema.domain_name() {
        "" | "ai.onnx" => ("ai.onnx", format!("onnx__{name}")),
        domain => (domain, format!("onnx_{}_{name}", domain.replace('.', ""))),
    };
    let text = format!("{domain} {name}, version {}", schema.since_version());
    json!({ "text": text, "address": format!("https://onnx.ai/onnx/operators/{page}.html") })
}

/// The attributes of a node, and the defaults of those that are absent.
fn attributes(model: &Model, node: NodeId, schema: Option<&'static Schema>) -> Vec<[String; 2]> {
    let record = model.node(node);
    let mut rows: Vec<[String; 2]> = record
        .attributes()
        .iter()
        .map(|attribute| {
            let text = model.show_attribute(attribute).to_string();
            let value = text.split_once('=').map_or(text.as_str(), |(_, value)| value.trim());
            [shown(model.str(attribute.name())), Clean(&limited(value, 400)).to_string()]
        })
        .collect();
    for formal in schema.into_iter().flat_map(Schema::attributes) {
        if record.attribute(formal.name).is_none()
            && let Some(default) = formal.default
        {
            rows.push([formal.text().to_owned(), format!("{} (default)", default_text(default))]);
        }
    }
    rows
}

fn default_text(default: onnx_schema::AttrDefault) -> String {
    use onnx_schema::AttrDefault;
    match default {
        AttrDefault::Int(value) => value.to_string(),
        AttrDefault::Float(value) => value.to_string(),
        AttrDefault::String(value) => format!("\"{value}\""),
        AttrDefault::Ints(values) => format!("{values:?}"),
        AttrDefault::Floats(values) => format!("{values:?}"),
        AttrDefault::Strings(values) => format!("{values:?}"),
        _ => "set".to_owned(),
    }
}

/// The nodes because of which types of results are not known.
fn unknown(session: &Session, node: NodeId) -> Vec<[String; 2]> {
    let model = &session.model;
    let mut rows = Vec::new();
    for &value in model.node(node).outputs().iter().flatten() {
        let Some(gap) = session.inference.gaps(value).into_iter().next() else { continue };
        let name = shown(model.str(model.value(value).name()));
        let why = session.inference.why(model, value, gap);
        let origin = why.as_ref().and_then(|why| Some((why.node?, *why.chain.last()?, why.missing)));
        let text = match origin {
            Some((at, origin, missing)) => {
                let reason = session.inference.reason(model, &session.registry, origin, missing);
                let reason = full(&reason.unwrap_or_default());
                match at == node {
                    true => reason,
                    false => format!("it is lost at {}: {reason}", line(session, Element::Node(at))),
                }
            }
            None => "nothing in the model says it".to_owned(),
        };
        rows.push([name, text]);
    }
    rows
}
