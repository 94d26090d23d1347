//! The answers of a session.

use onnx_check::is_fixable;
use onnx_cost::{Amount, CostOptions, cost as count};
use onnx_diag::{Clean, Severity};
use onnx_draw::{Coloring, ItemKind, Marks, PictureStyle, shown, svg};
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_select::{Element, ModelFacts, Selection, Selectors};
use onnx_text::{PrintOptions, print_graph, print_nodes};
use serde_json::{Value, json};

use crate::about::imports;
use crate::details::folded_at;
use crate::facts;
use crate::request::Place;
use crate::session::Session;

/// Matches of a search that are listed.
const MOST_HITS: usize = 500;
/// Diagnostics that are listed.
const MOST_FINDINGS: usize = 300;
/// Nodes that the table of costs lists.
const MOST_COSTS: usize = 200;
/// Characters of a text that is shown.
const MOST_TEXT: usize = 200_000;
/// Characters of a line of it: browsers take minutes for a line of many characters that combine.
const MOST_LINE: usize = 2_000;
/// Nodes whose text is shown.
const MOST_TEXT_NODES: usize = 4_000;
/// Characters of a name in a panel.
const MOST_NAME: usize = 400;
/// Values at an end of a path.
const MOST_ENDS: usize = 40;

/// What the page shows first.
pub(crate) fn overview(session: &Session) -> Value {
    let model = &session.model;
    let info = model.info();
    let producer = shown(model.str(info.producer_name));
    let facts = json!([
        ["nodes", model.node_count().to_string()],
        ["producer", producer],
        ["IR version", info.ir_version.to_string()],
        ["operator sets", imports(model, &info.opset_imports)],
    ]);
    let parents: Value =
        serde_json::from_str(&onnx_draw::parents_json(&session.scene)).unwrap_or(Value::Null);
    let undo = session.before.len();
    let mut answer = json!({ "title": session.title, "coloring": "type", "parents": parents, "facts": facts, "undo": undo });
    answer["variables"] = variables(model).iter().map(|(name, _)| shown(name)).collect();
    if let Some(other) = &session.other {
        answer["other"] = json!(other.title);
    }
    answer
}

/// The place of an element, if it has a box.
pub(crate) fn place(session: &Session, element: Element) -> Option<(usize, usize)> {
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
pub(crate) fn line(session: &Session, element: Element) -> String {
    let model = &session.model;
    match element {
        Element::Node(node) => node_line(model, node),
        Element::Value(value) => shown(model.str(model.value(value).name())),
        Element::Graph(graph) => shown(model.str(model.graph(graph).name())),
    }
}

fn node_line(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    let name = shown(model.str(record.name()));
    let op = shown(model.str(record.op()));
    if record.name().is_empty() { op } else { format!("{op}  {name}") }
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
    let mut placed = elements.iter().filter_map(|&element| Some((element, place(session, element)?)));
    let hits: Vec<Value> = placed
        .by_ref()
        .take(MOST_HITS)
        .map(|(element, (level, item))| {
            let mut hit = json!({ "label": line(session, element), "level": level, "item": item });
            if let Some(index) = element.node(model).and_then(|node| folded_at(session, node)) {
                hit["folded"] = json!(index);
            }
            hit
        })
        .collect();
    let count = hits.len() + placed.count();
    let mut answer = json!({ "count": count, "hits": hits, "hidden": elements.len() - count });
    if !note.is_null() {
        answer["note"] = note;
    }
    answer
}

/// A text for a panel, where there is room for nearly every name.
pub(crate) fn full(text: &str) -> String {
    Clean(&limited(text, MOST_NAME)).to_string()
}

pub(crate) fn limited(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What the checker and inference report.
pub(crate) fn findings(session: &Session) -> Value {
    let model = &session.model;
    let selectors = Selectors::new(model);
    let mut sorted: Vec<_> = session.findings.diagnostics().iter().collect();
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

/// The costs of nodes for sizes such as `N=1 sequence=128`, and the marks of the picture.
pub(crate) fn cost(session: &Session, sizes: &str) -> Result<(Value, Marks), String> {
    let model = &session.model;
    let variables = variables(model);
    let mut bound = Vec::new();
    for (name, size) in named_sizes(sizes)? {
        let symbol = variables.iter().find(|(known, _)| *known == name);
        let &(_, symbol) = symbol.ok_or_else(|| format!("the inputs have no variable `{}`", shown(&name)))?;
        bound.push((symbol, size));
    }
    let options = CostOptions::default()
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_sizes(&bound)
        .with_execution(session.execution.clone());
    let found = count(model, &options).map_err(|error| error.to_string())?;
    let (findings, changes) = (session.marks.findings.clone(), session.marks.changes.clone());
    let mut marks = Marks { findings, changes, ..Marks::default() };
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
                json!({ "name": full(&node.name), "op": shown(&node.op), "operations": operations, "part": part });
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

/// Sizes by name: `N=1 sequence=128`.
pub(crate) fn named_sizes(sizes: &str) -> Result<Vec<(String, i64)>, String> {
    let mut found = Vec::new();
    for text in sizes.split([' ', ',']).filter(|text| !text.is_empty()) {
        let (name, size) =
            text.split_once('=').ok_or_else(|| format!("`{}` is not NAME=SIZE", shown(text)))?;
        let size: i64 = size.parse().map_err(|_| format!("`{}` is not a size", shown(size)))?;
        if size < 0 {
            return Err(format!("a size is not negative: `{}`", shown(text)));
        }
        found.push((name.to_owned(), size));
    }
    Ok(found)
}

/// The dimension variables of the inputs of the main graph, each once.
pub(crate) fn variables(model: &Model) -> Vec<(String, onnx_types::Symbol)> {
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
        Amount::Expression(text) => full(text),
        _ => "?".to_owned(),
    }
}

/// A number in groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
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

/// The ONNX text of a box, or of its graph, or of the main graph, with the place of each node. Lines that begin a node have no indentation.
pub(crate) fn text(session: &Session, level: usize, item: i64) -> Result<Value, String> {
    let model = &session.model;
    let options = PrintOptions::default().with_metadata(false);
    let nodes = usize::try_from(item).map(|item| session.scene.nodes_in(level, item)).unwrap_or_default();
    let chosen: &[NodeId] = nodes.get(..MOST_TEXT_NODES).unwrap_or(&nodes);
    let found = usize::try_from(item).ok().and_then(|item| session.scene.level(level)?.items.get(item));
    let graph = match found.map(|item| item.kind) {
        Some(ItemKind::Graph(graph)) => graph,
        _ => model.main_graph(),
    };
    let printed = match chosen {
        [] => print_graph(model, graph, &options),
        nodes => print_nodes(model, nodes, &options),
    };
    let text = printed.map_err(|error| error.to_string())?.text;
    let shown = limited(&text, MOST_TEXT);
    let clean: Vec<String> = shown.lines().map(|line| Clean(&limited(line, MOST_LINE)).to_string()).collect();
    let nodes = if chosen.is_empty() { model.nodes(graph).collect() } else { chosen.to_vec() };
    let indent = if chosen.is_empty() { "   " } else { "" };
    // The nodes of a graph come after its head.
    let is_head = |line: &String| line.ends_with('{') && !line.starts_with(' ');
    let head = if chosen.is_empty() { clean.iter().position(is_head).map_or(0, |at| at + 1) } else { 0 };
    let lines = node_lines(&clean, (head, indent), nodes.len(), shown.len() < text.len());
    let places: Vec<Value> = lines
        .iter()
        .zip(&nodes)
        .filter_map(|(line, &node)| session.scene.place(node).map(|(level, item)| json!([line, level, item])))
        .collect();
    Ok(json!({ "text": clean.join("\n"), "places": places }))
}

/// The lines at which nodes begin, which have one indentation; none if they are not as many as the nodes.
fn node_lines(lines: &[String], (head, indent): (usize, &str), count: usize, is_cut: bool) -> Vec<usize> {
    let begins = |line: &str| {
        line.strip_prefix(indent)
            .is_some_and(|rest| !rest.starts_with([' ', '}', ')', '>']) && !rest.is_empty())
    };
    let found: Vec<usize> = (head..lines.len()).filter(|&at| begins(&lines[at])).collect();
    if found.len() == count || (is_cut && found.len() < count) { found } else { Vec::new() }
}

/// The nodes on the paths from one box to another, in this order or the other one.
pub(crate) fn path(session: &Session, from: Place, to: Place) -> Result<Value, String> {
    let model = &session.model;
    let mut ends = [from, to].map(|(level, item)| values_of(session, level, item));
    let Some(around) = in_one_graph(model, &mut ends) else {
        return Ok(
            json!({ "count": 0, "hits": [], "note": "the boxes are in different functions: a path is within one" }),
        );
    };
    let [from, to] = &ends;
    let selector = |values: &[ValueId]| {
        let selectors = Selectors::new(model);
        let texts: Vec<String> = values
            .iter()
            .take(MOST_ENDS)
            .filter_map(|&value| selectors.text(Element::Value(value)))
            .collect();
        texts.join(", ")
    };
    let (from, to) = (selector(from), selector(to));
    if from.is_empty() || to.is_empty() {
        return Err(
            "a path is between boxes that make values: choose a node, an input or a box of nodes".to_owned()
        );
    }
    if !around.is_empty() && from == to {
        let note = format!("both are in graphs of {}, which a path does not leave", around.join(" and "));
        return Ok(json!({ "count": 0, "hits": [], "note": note }));
    }
    for (a, b) in [(&from, &to), (&to, &from)] {
        // A list is a separate operand between parentheses.
        let mut answer = search(session, &format!("between(({a}), ({b}))"));
        if answer["count"] != 0 {
            if !around.is_empty() {
                answer["note"] = json!(format!(
                    "{} nodes; the end in a nested graph is {}, which has that graph",
                    answer["count"],
                    around.join(" and ")
                ));
            }
            return Ok(answer);
        }
    }
    let note = match around.as_slice() {
        [] => "no path leads from one to the other".to_owned(),
        around => format!(
            "no path leads from one to the other; the end in a nested graph is {}, which has that graph",
            around.join(" and ")
        ),
    };
    Ok(json!({ "count": 0, "hits": [], "note": note }))
}

/// Makes two lists of values ones of the same graph: the results of nodes stand for what is in their nested graphs. Returns
/// these nodes; `None` if no graph is around both.
fn in_one_graph(model: &Model, ends: &mut [Vec<ValueId>; 2]) -> Option<Vec<String>> {
    let graphs_of = |end: &[ValueId]| -> Vec<GraphId> {
        let own = end.first().map(|&value| model.graph_of(value));
        std::iter::successors(own, |&graph| model.parent(graph)).collect()
    };
    let graphs = [graphs_of(&ends[0]), graphs_of(&ends[1])];
    if graphs.iter().any(Vec::is_empty) {
        return Some(Vec::new());
    }
    let common = *graphs[0].iter().find(|graph| graphs[1].contains(graph))?;
    let mut around = Vec::new();
    for (end, graphs) in ends.iter_mut().zip(&graphs) {
        let before = graphs.iter().take_while(|&&graph| graph != common).last();
        let Some(node) = before.and_then(|&graph| model.owner_node(graph)) else { continue };
        *end = model.node(node).outputs().iter().flatten().copied().collect();
        let text = node_line(model, node);
        if !around.contains(&text) {
            around.push(text);
        }
    }
    Some(around)
}

/// The values that a box makes.
fn values_of(session: &Session, level: usize, item: usize) -> Vec<ValueId> {
    let Some(found) = session.scene.level(level).and_then(|level| level.items.get(item)) else {
        return Vec::new();
    };
    if !found.values.is_empty() {
        return found.values.clone();
    }
    let nodes = session.scene.nodes_in(level, item);
    nodes.iter().flat_map(|&node| session.model.node(node).outputs().iter().flatten().copied()).collect()
}

/// The picture with some boxes open, as SVG.
pub(crate) fn picture(session: &Session, open: Vec<Vec<u32>>, color: &str) -> Result<Value, String> {
    let coloring = match color {
        "cost" => Coloring::Cost,
        "scope" => Coloring::Scope,
        "findings" => Coloring::Findings,
        "diff" => Coloring::Diff,
        _ => Coloring::Type,
    };
    let open = open.into_iter().collect();
    let picture = session.scene.picture_with(&open, &session.marks).map_err(|error| error.to_string())?;
    let style = PictureStyle::default().with_coloring(coloring).with_title(session.title.clone());
    Ok(json!({ "svg": svg(&picture, &style) }))
}
