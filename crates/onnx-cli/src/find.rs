//! `onnx find`: the nodes and values that a selector denotes.

use std::fmt::Write as _;
use std::path::Path;

use onnx_ir::{Model, NodeId, Places, ValueId};
use onnx_select::{Element, ModelFacts, Selection, SelectorFacts as _, Selectors};
use onnx_types::Symbol;
use serde::Serialize;

use crate::args::FindArgs;
use crate::exit::{Failure, Outcome};
use crate::info::types;
use crate::input::{Loaded, display_name, load};
use crate::json::JsonText;
use crate::output::{Out, clean_lines, shown};
use crate::progress::Progress;
use crate::selection::Context;
use crate::spelling::text_of;
use crate::{report, selection, size};

/// Operands and results of a node that its line shows.
const MAX_SHOWN: usize = 8;

pub(crate) fn run(args: &FindArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let progress = Progress::start("searching", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input).map_err(|failure| in_order(failure, args))?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let context = Context::with_registry(&loaded, args.documents.registry(&loaded.execution)?)?;
    let facts = context.facts(&loaded.model);
    let selected = Selection::new(&facts);
    let found = selected.elements(&selection::pasted(&loaded.model, &args.selector))?;
    loaded.execution.interrupt.check()?;
    drop(progress);
    let places = Places::new(&loaded.model);
    let listing =
        Listing { model: &loaded.model, facts: &facts, selectors: selected.selectors(), places: &places };
    if out.is_for_people() {
        let text = if args.count { format!("{}\n", found.len()) } else { listing.lines(&found) };
        out.text(&text)?;
        out.input(&loaded, loaded.findings.clone())?;
    } else {
        let item = listing.item(&loaded, &found, args.count);
        out.result_kind("find/1", "models");
        let mut findings = loaded.findings.clone();
        report::select(&loaded.model, &mut findings);
        let item = JsonText::of(&item)?;
        out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])?;
    }
    if found.is_empty() {
        let candidates: Vec<String> =
            selected.candidates(&args.selector).iter().map(|text| format!("`{text}`")).collect();
        let help = (!candidates.is_empty()).then(|| format!("did you mean {}?", candidates.join(", ")));
        out.warning(&format!("nothing in the model matches `{}`", shown(&args.selector)), help.as_deref());
        return Ok(Outcome::Findings);
    }
    out.summary(&counted(&found));
    Ok(Outcome::Fine)
}

/// The failure to read a model; with the arguments in order if the selector names a file, and the model does not.
fn in_order(failure: Failure, args: &FindArgs) -> Failure {
    if args.input_file.exists() || !Path::new(&args.selector).is_file() {
        return failure;
    }
    let words = ["find", &args.selector, &args.input_file.to_string_lossy()].map(str::to_owned);
    failure.help(format!("the model is before the selector: `{}`", text_of(&words)))
}

/// How many nodes and values there are.
fn counted(found: &[Element]) -> String {
    let count = |is: fn(&Element) -> bool| found.iter().filter(|element| is(element)).count() as u64;
    let counts = [
        (count(|element| matches!(element, Element::Node(_))), "node"),
        (count(|element| matches!(element, Element::Value(_))), "value"),
        (count(|element| matches!(element, Element::Graph(_))), "graph"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|&(count, noun)| size::plural(count, noun)).collect::<Vec<_>>().join(", ")
}

/// What is written about elements.
struct Listing<'a> {
    model: &'a Model,
    facts: &'a ModelFacts<'a>,
    selectors: &'a Selectors<'a>,
    /// The positions of nodes, counted once for all elements.
    places: &'a Places<'a>,
}

impl Listing<'_> {
    /// A line for each element: its selector, and what it is.
    fn lines(&self, found: &[Element]) -> String {
        const WIDEST: usize = 40;
        let rows: Vec<(String, String)> =
            found.iter().map(|&element| (self.selector(element), self.description(element))).collect();
        let width = rows.iter().map(|(selector, _)| selector.chars().count()).max().unwrap_or(0).min(WIDEST);
        let mut text = String::new();
        for (selector, description) in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{selector:width$}  {description}");
        }
        clean_lines(&text)
    }

    /// The selector of an element; the path to it if it has none.
    fn selector(&self, element: Element) -> String {
        self.selectors.text(element).unwrap_or_else(|| self.path(element))
    }

    fn path(&self, element: Element) -> String {
        match element {
            Element::Graph(graph) => self.places.graph(graph),
            Element::Node(node) => self.places.node(node),
            Element::Value(value) => self.places.definition(value),
        }
        .to_string()
    }

    fn description(&self, element: Element) -> String {
        match element {
            Element::Graph(graph) => {
                format!("graph, {}", size::plural(self.model.graph(graph).node_count() as u64, "node"))
            }
            Element::Node(node) => self.node(node),
            Element::Value(value) => {
                let ty = types::inferred(self.model, self.facts.inference(), value);
                match self.facts.bytes(value) {
                    Some(bytes) => format!("{ty}  {}", size::bytes(bytes)),
                    None => ty,
                }
            }
        }
    }

    /// `y = Relu (x)`, and the name of the node.
    fn node(&self, node: NodeId) -> String {
        let model = self.model;
        let record = model.node(node);
        let name = |value: Option<ValueId>| {
            value.map_or_else(String::new, |value| shown(model.str(model.value(value).name())))
        };
        let list = |values: Vec<Option<ValueId>>| {
            let mut names: Vec<String> = values.iter().take(MAX_SHOWN).map(|&value| name(value)).collect();
            names.extend((values.len() > MAX_SHOWN).then(|| "…".to_owned()));
            names.join(", ")
        };
        let operator = operator(model, node);
        let mut text =
            format!("{} = {operator} ({})", list(record.outputs().to_vec()), list(record.inputs().collect()));
        if !record.name().is_empty() {
            let _ = write!(text, "  # {}", shown(model.str(record.name())));
        }
        text
    }

    fn item<'a>(&'a self, loaded: &'a Loaded, found: &[Element], only_counts: bool) -> Item<'a> {
        let count = |is: fn(&Element) -> bool| found.iter().filter(|element| is(element)).count() as u64;
        let elements = (!only_counts).then(|| found.iter().map(|&element| self.entry(element)).collect());
        Item {
            name: &loaded.name,
            nodes: count(|element| matches!(element, Element::Node(_))),
            values: count(|element| matches!(element, Element::Value(_))),
            elements,
        }
    }

    fn entry(&self, element: Element) -> Entry<'_> {
        let model = self.model;
        let text = |symbol: Symbol| Some(model.str(symbol)).filter(|text| !text.is_empty());
        let bytes = match element {
            Element::Value(value) => self.facts.bytes(value),
            Element::Node(_) | Element::Graph(_) => None,
        };
        let (kind, name, operator, ty) = match element {
            Element::Graph(graph) => ("graph", text(model.graph(graph).name()), None, None),
            Element::Node(node) => ("node", text(model.node(node).name()), Some(operator(model, node)), None),
            Element::Value(value) => {
                let ty = types::inferred(model, self.facts.inference(), value);
                ("value", text(model.value(value).name()), None, Some(ty))
            }
        };
        Entry {
            kind,
            selector: self.selectors.text(element),
            path: self.path(element),
            name,
            operator,
            ty,
            bytes,
        }
    }
}

/// `domain.Op:overload`.
fn operator(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    shown(&crate::change::identity(model, (record.domain(), record.op(), record.overload())))
}

/// A model, as an item of `find/1`.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    nodes: u64,
    values: u64,
    /// `null` with `--count`.
    elements: Option<Vec<Entry<'a>>>,
}

/// A node, a value or a graph.
#[derive(Serialize)]
struct Entry<'a> {
    kind: &'static str,
    selector: Option<String>,
    path: String,
    name: Option<&'a str>,
    operator: Option<String>,
    #[serde(rename = "type")]
    ty: Option<String>,
    /// The size of the elements of a value, if its type has no variables.
    bytes: Option<u64>,
}
