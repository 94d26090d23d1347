//! The answers of a session.

use std::fmt::Write as _;

use onnx_check::{CheckOptions, invalid_nodes, is_fixable};
use onnx_compose::Target;
use onnx_cost::{Amount, CostOptions, cost as count};
use onnx_diag::{Clean, Severity};
use onnx_draw::{ItemKind, Marks, shown, type_text};
use onnx_ir::{Callee, Model, NodeId, Places, ValueId};
use onnx_pass::{Idioms, PassOptions};
use onnx_rewrite::{IdiomSet, RuleSet, simplification};
use onnx_select::{Element, Selectors};
use onnx_select::{ModelFacts, Selection};
use onnx_text::{PrintOptions, print_graph, print_nodes};
use serde_json::{Value, json};

use crate::facts;
use crate::session::{Change, Session};

/// Matches of a search that are listed.
const MOST_HITS: usize = 500;
/// Diagnostics that are listed.
const MOST_FINDINGS: usize = 300;
/// Nodes that the table of costs lists.
const MOST_COSTS: usize = 200;
/// Edits that are listed.
const MOST_EDITS: usize = 500;
/// Characters of a text that is shown.
const MOST_TEXT: usize = 200_000;

/// What the page shows first.
pub(crate) fn overview(session: &Session, undo: usize) -> Value {
    let model = &session.model;
    let info = model.info();
    let imports: Vec<String> = info
        .opset_imports
        .iter()
        .map(|import| {
            let domain = model.str(import.domain());
            format!("{} {}", if domain.is_empty() { "ai.onnx" } else { domain }, import.version())
        })
        .collect();
    let producer = shown(model.str(info.producer_name));
    let facts = json!([
        ["nodes", model.node_count().to_string()],
        ["operator sets", shown(&imports.join(", "))],
        ["IR version", info.ir_version.to_string()],
        ["producer", producer],
    ]);
    let parents: Value =
        serde_json::from_str(&onnx_draw::parents_json(&session.scene)).unwrap_or(Value::Null);
    json!({ "title": session.title, "coloring": "type", "parents": parents, "facts": facts, "undo": undo })
}

/// The place of an element, if it has a box.
fn place(session: &Session, element: Element) -> Option<(usize, usize)> {
    match element {
        Element::Node(node) => session.scene.place(node),
        Element::Graph(graph) => session.scene.place(session.model.owner_node(graph)?),
        Element::Value(value) => match session.model.value(value).producer() {
            Some(node) => session.scene.place(node),
            None => input(session, value),
        },
    }
}

/// The box of an input of the main graph, or the first user of a weight.
fn input(session: &Session, value: ValueId) -> Option<(usize, usize)> {
    let root = session.scene.level(session.scene.root())?;
    let is_input = |item: &onnx_draw::Item| item.kind == ItemKind::Input && item.values.contains(&value);
    let item = root.items.iter().position(is_input).map(|item| (session.scene.root(), item));
    let users = || session.model.value(value).uses().iter().find_map(|usage| usage.user.node());
    item.or_else(|| session.scene.place(users()?))
}

/// An element in a line.
fn line(session: &Session, element: Element) -> String {
    let model = &session.model;
    match element {
        Element::Node(node) => {
            let record = model.node(node);
            let name = shown(model.str(record.name()));
            let op = shown(model.str(record.op()));
            if record.name().is_empty() { op } else { format!("{op}  {name}") }
        }
        Element::Value(value) => shown(model.str(model.value(value).name())),
        Element::Graph(graph) => shown(model.str(model.graph(graph).name())),
    }
}

/// What a selector denotes, or what has a text in its name.
pub(crate) fn search(session: &Session, text: &str) -> Value {
    let model = &session.model;
    let facts = ModelFacts::new(model)
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_execution(session.execution.clone());
    let selected = Selection::new(&facts).elements(text);
    let mut note = Value::Null;
    let elements = match selected {
        Ok(found) if !found.is_empty() => found,
        other => {
            let word = text.to_lowercase();
            let has = |name: &str| name.to_lowercase().contains(&word);
            let mut found: Vec<Element> = Vec::new();
            for node in model.walk(model.main_graph()).with_functions(&session.registry).nodes() {
                let record = model.node(node);
                if has(model.str(record.name())) || has(model.str(record.op())) {
                    found.push(Element::Node(node));
                    continue;
                }
                let outputs = record.outputs().iter().flatten();
                found.extend(
                    outputs
                        .copied()
                        .filter(|&value| has(model.str(model.value(value).name())))
                        .map(Element::Value),
                );
            }
            if let (true, Err(error)) = (found.is_empty() && text.contains('('), other) {
                note = json!(Clean(&error.to_string()).to_string());
            }
            found
        }
    };
    let hits: Vec<Value> = elements
        .iter()
        .filter_map(|&element| {
            let (level, item) = place(session, element)?;
            Some(json!({ "label": line(session, element), "level": level, "item": item }))
        })
        .take(MOST_HITS)
        .collect();
    let mut answer = json!({ "count": elements.len(), "hits": hits });
    if !note.is_null() {
        answer["note"] = note;
    }
    answer
}

/// Everything about a box.
pub(crate) fn details(session: &Session, level: usize, item: usize) -> Result<Value, String> {
    let found =
        session.scene.level(level).and_then(|level| level.items.get(item)).ok_or("the box does not exist")?;
    let model = &session.model;
    match found.kind {
        ItemKind::Node(node) => Ok(node_details(session, node)),
        ItemKind::Group | ItemKind::Graph(_) => {
            let rows: Vec<[String; 2]> =
                found.lines.iter().map(|line| ["contents".to_owned(), line.clone()]).collect();
            Ok(json!({ "title": found.title, "rows": rows, "lists": [] }))
        }
        _ => {
            let values = found.values.iter().take(MOST_HITS);
            let rows: Vec<[String; 2]> = values.map(|&value| value_row(session, model, value)).collect();
            Ok(json!({ "title": found.title, "rows": rows, "lists": [] }))
        }
    }
}

fn value_row(session: &Session, model: &Model, value: ValueId) -> [String; 2] {
    [shown(model.str(model.value(value).name())), type_text(model, Some(&session.inference), value)]
}

fn node_details(session: &Session, node: NodeId) -> Value {
    let model = &session.model;
    let record = model.node(node);
    let schema = match model.callee(node, &session.registry) {
        Callee::Standard(schema) => Some(schema),
        _ => None,
    };
    let domain = model.str(record.domain());
    let mut rows = vec![
        ["name".to_owned(), shown(model.str(record.name()))],
        ["domain".to_owned(), if domain.is_empty() { "ai.onnx".to_owned() } else { shown(domain) }],
    ];
    if let Some(schema) = schema {
        rows.push(["version".to_owned(), schema.since_version().to_string()]);
    }
    let selector = Selectors::new(model).text(Element::Node(node));
    if let Some(selector) = &selector {
        rows.push(["selector".to_owned(), Clean(selector).to_string()]);
    }
    let cost = session.marks.cost.get(node);
    if let Some(cost) = cost {
        rows.push(["operations".to_owned(), format!("{cost}")]);
    }
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
            [formal(index, is_input), name, ty]
        }
        None => [formal(index, is_input), "absent".to_owned(), String::new()],
    };
    let inputs: Vec<_> = record.inputs().enumerate().map(|pair| operand(pair, true)).collect();
    let outputs: Vec<_> =
        record.outputs().iter().copied().enumerate().map(|pair| operand(pair, false)).collect();
    let mut lists = vec![
        json!({ "title": "Inputs", "rows": inputs }),
        json!({ "title": "Outputs", "rows": outputs }),
        json!({ "title": "Attributes", "rows": attributes(model, node, schema) }),
    ];
    let unknown = unknown(session, node);
    if !unknown.is_empty() {
        lists.push(json!({ "title": "Why a type is not known", "rows": unknown }));
    }
    let metadata: Vec<[String; 2]> = record
        .metadata()
        .iter()
        .map(|entry| [shown(model.str(entry.key())), Clean(&limited(entry.value(), 2_000)).to_string()])
        .collect();
    if !metadata.is_empty() {
        lists.push(json!({ "title": "Metadata", "rows": metadata }));
    }
    lists.retain(|list| list["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    json!({ "title": shown(model.str(record.op())), "selector": selector, "rows": rows, "lists": lists })
}

/// The attributes of a node, and the defaults of those that are absent.
fn attributes(model: &Model, node: NodeId, schema: Option<&'static onnx_schema::Schema>) -> Vec<[String; 2]> {
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
    for formal in schema.into_iter().flat_map(onnx_schema::Schema::attributes) {
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
        let why = session.inference.why(model, value, gap).and_then(|why| why.node);
        let text = match why {
            Some(at) if at == node => {
                "this node does not say it for what is known of its operands".to_owned()
            }
            Some(at) => format!("it is lost at {}", line(session, Element::Node(at))),
            None => "nothing in the model says it".to_owned(),
        };
        rows.push([name, text]);
    }
    rows
}

fn limited(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What the checker and inference report.
pub(crate) fn findings(session: &Session) -> Value {
    let model = &session.model;
    let found = facts::findings(model, &session.inference, &session.registry, &session.execution);
    let selectors = Selectors::new(model);
    let mut sorted: Vec<_> = found.diagnostics().iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut counts = [0_usize; 3];
    let mut repairable = 0_usize;
    for finding in &sorted {
        counts[match finding.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Note => 2,
        }] += 1;
        repairable += usize::from(is_fixable(finding.rule));
    }
    let list: Vec<Value> = sorted
        .iter()
        .take(MOST_FINDINGS)
        .map(|finding| {
            let element = selectors.element(&finding.locus);
            let mut entry = json!({
                "rule": format!("{} {}", finding.rule.id(), finding.rule.slug),
                "severity": finding.severity.as_str(),
                "message": Clean(&finding.message).to_string(),
                "where": Clean(&finding.locus.to_string()).to_string(),
                "canRepair": is_fixable(finding.rule),
            });
            if let Some(help) = &finding.help {
                entry["help"] = json!(Clean(help).to_string());
            }
            if let Some((level, item)) = element.and_then(|element| place(session, element)) {
                (entry["level"], entry["item"]) = (json!(level), json!(item));
            }
            entry
        })
        .collect();
    json!({ "findings": list, "counts": counts, "repairable": repairable })
}

/// Repairs what follows from the model.
pub(crate) fn repair(_: &Session, model: &mut Model) -> Result<Change, String> {
    let done = onnx_check::fix(model);
    let edits: Vec<String> =
        done.iter().map(|fix| format!("{} {}: {}", fix.rule.id(), fix.rule.slug, Clean(&fix.what))).collect();
    Ok((format!("{} repairs", edits.len()), edits))
}

/// Simplifies with the rules and costs for onnxruntime.
pub(crate) fn simplify(session: &Session, model: &mut Model) -> Result<Change, String> {
    let options = CheckOptions::default()
        .with_registry(session.registry.clone())
        .with_execution(session.execution.clone());
    let invalid = invalid_nodes(model, &options).map_err(|error| error.to_string())?;
    if let Some(first) = invalid.first() {
        let place = Places::new(model).node(first.node);
        return Err(format!(
            "a node is not valid, so nothing says what it computes: {place}: {}",
            first.finding.message
        ));
    }
    let defect = |error: &dyn std::fmt::Display| error.to_string();
    let mut rules = RuleSet::standard().map_err(|error| defect(&error))?;
    if let Some(target) = Target::named("onnxruntime") {
        rules = target.fitted(rules).with_costs(target.all_costs());
    }
    let idioms = IdiomSet::onnxruntime().map_err(|error| defect(&error))?;
    let pipeline = simplification(rules, &session.registry).map_err(|error| defect(&error))?;
    let options = PassOptions::default()
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_idioms(Some(&idioms as &dyn Idioms))
        .with_execution(session.execution.clone());
    let before = model.node_count();
    let done = pipeline.run(model, &options);
    let mut edits: Vec<String> = Vec::new();
    for entry in &done.journal {
        let sources: Vec<String> =
            entry.sources.iter().take(3).map(|(name, op)| format!("{op} {}", shown(name))).collect();
        let mut text = format!("{} ({}, {})", entry.pass, entry.edits, entry.verdict);
        if !sources.is_empty() {
            let _ = write!(text, ": {}", sources.join(", "));
        }
        edits.push(limited(&Clean(&text).to_string(), 300));
    }
    let count = done.edits();
    if edits.len() > MOST_EDITS {
        let more = edits.len() - MOST_EDITS;
        edits.truncate(MOST_EDITS);
        edits.push(format!("… and {more} more"));
    }
    if count == 0 {
        edits.clear();
    }
    Ok((format!("{count} edits: {before} -> {} nodes", model.node_count()), edits))
}

/// The costs of nodes for sizes such as `N=1 sequence=128`, and the marks of the picture.
pub(crate) fn cost(session: &Session, sizes: &str) -> Result<(Value, Marks), String> {
    let model = &session.model;
    let variables = variables(model);
    let mut bound = Vec::new();
    for text in sizes.split([' ', ',']).filter(|text| !text.is_empty()) {
        let (name, size) =
            text.split_once('=').ok_or_else(|| format!("`{}` is not NAME=SIZE", shown(text)))?;
        let size: i64 = size.parse().map_err(|_| format!("`{}` is not a size", shown(size)))?;
        let symbol = variables.iter().find(|(known, _)| known == name);
        let &(_, symbol) = symbol.ok_or_else(|| format!("the inputs have no variable `{}`", shown(name)))?;
        if size < 0 {
            return Err(format!("a size is not negative: `{}`", shown(text)));
        }
        bound.push((symbol, size));
    }
    let options = CostOptions::default()
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_sizes(&bound)
        .with_execution(session.execution.clone());
    let found = count(model, &options).map_err(|error| error.to_string())?;
    let mut marks = Marks { findings: session.marks.findings.clone(), ..Marks::default() };
    facts::mark_cost(&found, &mut marks);
    let total: f64 = found.nodes.iter().filter(|node| !node.has_graphs).map(|node| node.rank as f64).sum();
    let mut order: Vec<usize> = (0..found.nodes.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(found.nodes[index].rank));
    let rows: Vec<Value> = order
        .into_iter()
        .take(MOST_COSTS)
        .map(|index| {
            let node = &found.nodes[index];
            let part = if total > 0.0 { node.rank as f64 / total } else { 0.0 };
            let operations = amount(&node.operations);
            let mut row =
                json!({ "name": shown(&node.name), "op": shown(&node.op), "operations": operations, "part": part });
            if let Some((level, item)) = node.node.and_then(|node| session.scene.place(node)) {
                (row["level"], row["item"]) = (json!(level), json!(item));
            }
            row
        })
        .collect();
    let totals = json!([
        ["operations", amount(&found.operations)],
        ["multiply-accumulates", amount(&found.macs)],
        ["parameters", grouped(found.parameters)],
        ["bytes of weights", grouped(found.weight_bytes)],
        ["peak bytes of activations", amount(&found.peak_bytes)],
        ["nodes of unknown cost", found.unknown_nodes.to_string()],
    ]);
    let names: Vec<String> = variables.iter().map(|(name, _)| shown(name)).collect();
    Ok((json!({ "totals": totals, "rows": rows, "variables": names }), marks))
}

/// The dimension variables of the inputs of the main graph, each once.
fn variables(model: &Model) -> Vec<(String, onnx_types::Symbol)> {
    let mut found: Vec<(String, onnx_types::Symbol)> = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let shape = model.ty(input).and_then(onnx_types::Type::shape);
        for dim in shape.into_iter().flat_map(onnx_types::Shape::dims) {
            if let &onnx_types::Dim::Var(symbol) = dim
                && found.iter().all(|&(_, known)| known != symbol)
            {
                found.push((model.str(symbol).to_owned(), symbol));
            }
        }
    }
    found
}

fn amount(amount: &Amount) -> String {
    match amount {
        Amount::Known(known) => grouped(*known),
        Amount::Expression(text) => shown(text),
        _ => "?".to_owned(),
    }
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The ONNX text of a box, or of the main graph.
pub(crate) fn text(session: &Session, level: usize, item: i64) -> Result<Value, String> {
    let model = &session.model;
    let options = PrintOptions::default().with_metadata(false);
    let nodes = usize::try_from(item).map(|item| session.scene.nodes_in(level, item)).unwrap_or_default();
    let printed = match nodes.as_slice() {
        [] => print_graph(model, model.main_graph(), &options),
        nodes => print_nodes(model, nodes, &options),
    };
    let text = printed.map_err(|error| error.to_string())?.text;
    let clean: Vec<String> = limited(&text, MOST_TEXT).lines().map(|line| Clean(line).to_string()).collect();
    Ok(json!({ "text": clean.join("\n") }))
}
