//! `onnx cost`: operations, parameters, and bytes of weights and of activations.

mod sizes;
mod text;

use onnx_cost::{Amount, Cost, CostError, CostOptions, NodeCost, OperatorCost, cost};
use serde_json::{Value, json};

use crate::args::CostArgs;
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, expand, load};
use crate::json::JsonText;
use crate::output::Out;
use crate::run::{Set, parse_set};
use crate::{jobs, wrap};

pub(crate) use sizes::{SharedSizes, bind};

pub(crate) fn run(args: &CostArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let set: Vec<Set> =
        args.sizes.iter().map(|text| parse_set(text)).collect::<Result<Vec<_>, _>>()?.concat();
    out.result_kind("cost/1", "models");
    let mut is_first = true;
    let files = expand(&args.files, &["onnx"]);
    let mut shared = (files.len() > 1).then(SharedSizes::default);
    let outcome = jobs::one_by_one(files, "counting", out, |path, progress, out| {
        let mut loaded = load(path, &args.input)?;
        progress.aside(|| loaded.report(&args.input.severity, true, out))?;
        let found = measured(&mut loaded, args, &set, shared.as_mut())
            .map_err(|failure| failure.about(&loaded.name))?;
        progress.aside(|| show(&loaded, &found, (args, &set), is_first, out))?;
        is_first = false;
        Ok(Outcome::Fine)
    })?;
    shared.map_or(Ok(()), |shared| shared.require_used())?;
    Ok(outcome)
}

fn measured(
    loaded: &mut Loaded,
    args: &CostArgs,
    set: &[Set],
    shared: Option<&mut SharedSizes>,
) -> Result<Cost, Failure> {
    let sizes = match shared {
        Some(shared) => shared.bind(&mut loaded.model, set)?,
        None => bind(&mut loaded.model, set)?,
    };
    let source = loaded.source()?;
    let registry = args.documents.registry_with_bodies(&mut loaded.model, &loaded.execution)?;
    let options = CostOptions::default()
        .with_registry(&registry)
        .with_data(&source)
        .with_sizes(&sizes)
        .with_execution(loaded.execution.clone());
    Ok(cost(&loaded.model, &options)?)
}

impl LibraryError for CostError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }
}

/// Shows the cost of one model, or adds it to the report.
fn show(
    loaded: &Loaded,
    found: &Cost,
    (args, set): (&CostArgs, &[Set]),
    is_first: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if out.is_for_people() {
        out.text(if is_first { "" } else { "\n" })?;
        out.text(&wrap::for_terminal(&text::page(&loaded.name, found, set, args.all)?))?;
        return out.input(loaded, loaded.findings.clone());
    }
    let item = JsonText::of(&item(&loaded.name, found, set))?;
    let findings = loaded.findings.clone();
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}

/// A model, as an item of `cost/1`.
fn item(name: &str, found: &Cost, set: &[Set]) -> Value {
    let sizes: serde_json::Map<String, Value> =
        set.iter().map(|(dim, size)| (dim.clone(), json!(size))).collect();
    json!({
        "name": name,
        "sizes": sizes,
        "macs": amount(&found.macs),
        "operations": amount(&found.operations),
        "parameters": number(found.parameters),
        "weight_bytes": number(found.weight_bytes),
        "activation_bytes": amount(&found.activation_bytes),
        "peak_bytes": amount(&found.peak_bytes),
        "peak_node": found.peak_node,
        "unknown_nodes": found.unknown_nodes,
        "unknown_values": found.unknown_values,
        "loops_counted_once": found.loops_counted_once,
        "contradiction": found.contradiction,
        "operators": found.operators.iter().map(operator).collect::<Vec<_>>(),
        "nodes": found.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}

fn operator(found: &OperatorCost) -> Value {
    json!({
        "domain": domain(&found.domain),
        "op": found.op,
        "nodes": found.nodes,
        "unknown_nodes": found.unknown_nodes,
        "macs": amount(&found.macs),
        "operations": amount(&found.operations),
        "activation_bytes": amount(&found.activation_bytes),
    })
}

fn node(found: &NodeCost) -> Value {
    json!({
        "name": found.name,
        "path": found.path,
        "domain": domain(&found.domain),
        "op": found.op,
        "has_graphs": found.has_graphs,
        "times": amount(&found.times),
        "macs": amount(&found.macs),
        "operations": amount(&found.operations),
        "why_unknown": found.why_unknown,
        "parameters": number(found.parameters),
        "weight_bytes": number(found.weight_bytes),
        "activation_bytes": amount(&found.activation_bytes),
    })
}

fn domain(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// A number, an expression as text, or nothing.
fn amount(amount: &Amount) -> Value {
    match amount {
        Amount::Known(known) => number(*known),
        Amount::Expression(text) => json!(text),
        _ => Value::Null,
    }
}

/// A number; one that a reader of JSON may round is a text.
fn number(number: u64) -> Value {
    const EXACT: u64 = 1 << 53;
    if number > EXACT { json!(number.to_string()) } else { json!(number) }
}
