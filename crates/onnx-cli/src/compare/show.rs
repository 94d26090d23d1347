//! A comparison as text and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use onnx_eval::compare::{Compared, Comparison, DEFAULTS, Difference, First, Side, Tolerances};
use onnx_ir::{Model, NodeId};
use onnx_select::{Element, Selectors};
use onnx_types::ElemType;
use serde_json::{Value as Json, json};

use super::{Models, Run, Verdict, cause, table, title};
use crate::exit::Failure;
use crate::json::JsonText;
use crate::output::{BAD, DIM, GOOD, HEADING, KEY, WARN, paint, shown};
use crate::run::{node_name, number};
use crate::size::grouped;

/// All runs, and whether the models agree, unless nothing was compared: that is a failure.
pub(super) fn text(models: &Models<'_>, runs: &[Run], verdict: Verdict) -> Result<String, Failure> {
    let mut text = String::new();
    let mut types = BTreeSet::new();
    for run in runs {
        writeln!(text, "{}", paint(HEADING, title(&run.sizes, run.seed)))?;
        match &run.result {
            Ok(comparison) => {
                for output in &comparison.outputs {
                    line(&mut text, output)?;
                }
                let all = comparison.outputs.iter().chain(&comparison.inner);
                types.extend(
                    all.flat_map(|one| [Some(&one.ty), one.ty_in_b.as_ref()])
                        .flatten()
                        .map(|ty| element_type(ty)),
                );
                rest(&mut text, models, comparison)?;
            }
            Err(not_run) => {
                let side = if not_run.side == Side::A { "A" } else { "B" };
                writeln!(text, "  {side} does not run: {}", shown(&not_run.message))?;
            }
        }
    }
    for (elem, ..) in DEFAULTS.iter().filter(|(elem, ..)| types.contains(&elem.to_string())) {
        let tolerance = models.options.tolerances.of(*elem);
        let ulps = if tolerance.ulps > 0 { format!(", or {} ulps", tolerance.ulps) } else { String::new() };
        let (atol, rtol) = (tolerance.atol, tolerance.rtol);
        writeln!(text, "{}", paint(DIM, format!("{elem}: |a - b| <= {atol:e} + {rtol:e} * |b|{ulps}")))?;
    }
    let is_asked = verdict == Verdict::Differ && models.options.inner;
    if is_asked && let Some(found) = models.weights.summary(models)? {
        writeln!(text, "{}", paint(WARN, found))?;
    }
    match verdict {
        Verdict::Agree => {
            let diverges = |run: &Run| run.result.as_ref().is_ok_and(|found| found.divergence().is_some());
            let what = match models.options.inner && runs.iter().any(diverges) {
                true => "the outputs of the models agree, inner values do not",
                false => "the models agree",
            };
            writeln!(text, "{}", paint(GOOD, what))?;
        }
        Verdict::Differ => writeln!(text, "{}", paint(BAD, "the models differ"))?,
        Verdict::Unknown => {}
    }
    Ok(text)
}

/// The element type of a described tensor.
fn element_type(ty: &str) -> String {
    ty.split('[').next().unwrap_or_default().to_owned()
}

/// An output, or an inner value.
fn line(text: &mut String, output: &Compared) -> Result<(), Failure> {
    let name = shown(&output.name);
    // A mismatch names both types.
    let ty = match output.ty_in_b.as_ref().filter(|_| output.difference.mismatch.is_none()) {
        Some(ty) => format!("{} in A, {} in B", paint(KEY, &output.ty), paint(KEY, ty)),
        None => paint(KEY, &output.ty).to_string(),
    };
    writeln!(text, "  {name}  {ty}  {}", words(&output.difference))?;
    Ok(())
}

pub(super) fn words(difference: &Difference) -> String {
    if let Some(mismatch) = &difference.mismatch {
        return format!("{}: {mismatch}", paint(BAD, "differs"));
    }
    let Some(first) = &difference.first else {
        let nothing = if difference.elements == 0 { ": no elements" } else { "" };
        return format!("{}{nothing}", paint(GOOD, "equal"));
    };
    let (style, count) = match difference.exceeding {
        0 => (GOOD, "within the tolerance".to_owned()),
        count => (BAD, format!("{} of {} elements differ", grouped(count), grouped(difference.elements))),
    };
    format!("{}{}", paint(style, count), numbers(difference, first))
}

/// How an output differs, as plain text.
pub(crate) fn difference(difference: &Difference) -> String {
    match (&difference.mismatch, &difference.first) {
        (Some(mismatch), _) => mismatch.clone(),
        (None, Some(first)) => {
            let (count, all) = (grouped(difference.exceeding), grouped(difference.elements));
            format!("{count} of {all} elements differ{}", numbers(difference, first))
        }
        (None, None) => String::new(),
    }
}

/// How far the elements are apart, and the first pair.
fn numbers(difference: &Difference, first: &First) -> String {
    let numbers = if difference.max_abs > 0.0 {
        let (abs, rel) = (number(difference.max_abs), number(difference.max_rel));
        format!(": at most {abs}, relative {rel}, {} ulps", grouped(difference.max_ulps))
    } else {
        String::new()
    };
    let index: Vec<String> = first.index.iter().map(i64::to_string).collect();
    let place = format!("{}[{}]", first.path, index.join(","));
    format!("{numbers}; first at {place}: {} and {}", first.a, first.b)
}

/// Outputs without a counterpart, and where inner values diverge.
fn rest(text: &mut String, models: &Models<'_>, comparison: &Comparison) -> Result<(), Failure> {
    let style = if models.common { DIM } else { BAD };
    for name in &comparison.only_in_b {
        writeln!(text, "  {}  {}", shown(name), paint(style, "A has no value of this name"))?;
    }
    for name in &comparison.only_in_a {
        writeln!(text, "  {}  {}", shown(name), paint(style, "only an output of A"))?;
    }
    if !models.options.inner {
        return Ok(());
    }
    let count = comparison.inner_values();
    if count == 0 {
        writeln!(
            text,
            "  {}",
            paint(WARN, "no inner value has the same name in both models, and none corresponds")
        )?;
    }
    match comparison.divergence() {
        None if count == 0 => {}
        None => writeln!(text, "  {}", paint(DIM, agreement(comparison)))?,
        Some(compared) => {
            let despite = match models.agree(comparison) {
                true => ", although the outputs stay within the tolerance",
                false => "",
            };
            let nodes = cause::uncompared(&models.b.model, comparison, compared);
            let node = origin(models, compared);
            let what = if count == 0 { "only outputs are compared: they" } else { "inner values" };
            // Where nothing in front of a value was compared, its node says little.
            let others = match nodes.len() {
                0 | 1 => String::new(),
                2 => ", or the node before it, whose result is not compared".to_owned(),
                many => {
                    let others = grouped(many.saturating_sub(1) as u64);
                    format!(", or one of {others} nodes before it, whose results are not compared")
                }
            };
            writeln!(text, "  {what} diverge after the node {node}{others}{despite}:")?;
            line(text, compared)?;
            for found in models.weights.about(models, &nodes, compared.node_in_a)? {
                writeln!(text, "    {}", paint(WARN, found))?;
            }
        }
    }
    Ok(())
}

/// Number of inner values, all of which agree, and of those whose types differ.
fn agreement(comparison: &Comparison) -> String {
    let count = comparison.inner_values();
    let is_other = |compared: &&Compared| !compared.is_output && compared.ty_in_b.is_some();
    match comparison.inner.iter().filter(is_other).count() {
        0 => format!("{count} inner values agree"),
        others => format!("{count} inner values agree; the types of {others} differ"),
    }
}

/// The node of the second model that computes a value, and that of the first one if its operator or name is another one. Names are
/// those in the files.
fn origin(models: &Models<'_>, compared: &Compared) -> String {
    let (a, b) = (&models.a.model, &models.b.model);
    let text = |model: &Model, node: NodeId, name: &str| {
        paint(HEADING, format!("{} `{}`", operator(model, node), shown(name))).to_string()
    };
    let in_b = |node: NodeId| match models.paired.name_in_b(compared.value) {
        // A node without a name is called by its result, which has the name of its counterpart here.
        Some(name) if b.node(node).name().is_empty() => name,
        _ => node_name(b, node),
    };
    let node = compared.node.map(|node| text(b, node, in_b(node))).unwrap_or_default();
    let is_like = |other: NodeId| {
        compared
            .node
            .is_some_and(|node| operator(a, other) == operator(b, node) && node_name(a, other) == in_b(node))
    };
    match compared.node_in_a {
        Some(other) if !is_like(other) => {
            format!("{node} of B, in A {}", text(a, other, node_name(a, other)))
        }
        Some(_) => format!("{node} of B"),
        None => format!("{node} of B, in A no node"),
    }
}

/// The operator of a node, with the domain unless it is the default one.
fn operator(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    match (model.str(record.domain()), shown(model.str(record.op()))) {
        ("" | "ai.onnx", op) => op,
        (domain, op) => format!("{}.{op}", shown(domain)),
    }
}

/// The tolerances of all element types, as JSON.
pub(super) fn tolerances(tolerances: &Tolerances) -> Vec<Json> {
    let of = |elem: ElemType| {
        let tolerance = tolerances.of(elem);
        json!({ "elem": elem.to_string(), "rtol": tolerance.rtol, "atol": tolerance.atol, "ulps": tolerance.ulps })
    };
    DEFAULTS.iter().map(|&(elem, ..)| of(elem)).collect()
}

/// A run that is not made yet, as an item of `compare/1`.
pub(super) fn run_item(sizes: &[(String, i64)], seed: u64, tolerances: &Tolerances) -> Json {
    let sizes: Vec<Json> = sizes.iter().map(|(dim, size)| json!({ "dim": dim, "size": size })).collect();
    json!({
        "sizes": sizes,
        "seed": seed,
        "status": "not run",
        "not_run": null,
        "outputs": [],
        "inner": null,
        "values": null,
        "divergence": null,
        "only_in_a": [],
        "only_in_b": [],
        "tolerances": self::tolerances(tolerances),
    })
}

/// The fields of an output, and those of its difference.
pub(super) fn with_difference(mut item: Json, difference: &Difference) -> Json {
    if let (Some(fields), Json::Object(difference)) = (item.as_object_mut(), difference_item(difference)) {
        fields.extend(difference);
    }
    item
}

/// A run as JSON.
pub(super) fn item(models: &Models<'_>, run: &Run) -> Result<JsonText, Failure> {
    let selectors = Selectors::new(&models.b.model);
    let mut item = run_item(&run.sizes, run.seed, &models.options.tolerances);
    match &run.result {
        Ok(comparison) => {
            let outputs: Vec<Json> =
                comparison.outputs.iter().map(|output| compared(models, &selectors, output)).collect();
            item["status"] = json!(if models.agree(comparison) { "equal" } else { "different" });
            item["outputs"] = json!(outputs);
            item["only_in_a"] = json!(comparison.only_in_a);
            item["only_in_b"] = json!(comparison.only_in_b);
            if models.options.inner {
                item["inner"] = json!(comparison.inner_values());
                item["divergence"] =
                    comparison.divergence().map_or(Json::Null, |inner| compared(models, &selectors, inner));
                if models.options.similarity {
                    let values = comparison.inner.iter().map(|inner| compared(models, &selectors, inner));
                    item["values"] = json!(values.collect::<Vec<Json>>());
                }
            }
        }
        Err(not_run) => {
            let side = if not_run.side == Side::A { "a" } else { "b" };
            item["not_run"] = json!({ "model": side, "message": not_run.message });
        }
    }
    JsonText::of(&item)
}

fn compared(models: &Models<'_>, selectors: &Selectors<'_>, compared: &Compared) -> Json {
    let item = json!({
        "name": compared.name,
        // The name in the file of B is a selector of it.
        "selector": models.paired.name_in_b(compared.value).map(str::to_owned)
            .or_else(|| selectors.text(Element::Value(compared.value))),
        "node": compared.node.map(|node| node_name(&models.b.model, node)),
        "op": compared.node.map(|node| models.b.model.str(models.b.model.node(node).op())),
        "node_in_a": compared.node_in_a.map(|node| node_name(&models.a.model, node)),
        "op_in_a": compared.node_in_a.map(|node| models.a.model.str(models.a.model.node(node).op())),
        "type": compared.ty,
        "type_in_b": compared.ty_in_b,
        "name_in_b": models.paired.name_in_b(compared.value),
        "similarity": models.options.similarity.then(|| table::item(compared.similarity.as_ref())),
    });
    with_difference(item, &compared.difference)
}

/// A difference as JSON.
pub(crate) fn difference_item(difference: &Difference) -> Json {
    let finite = |number: f64| number.is_finite().then_some(number);
    let first = difference.first.as_ref().map(|first| {
        json!({ "path": first.path, "index": first.index, "a": first.a, "b": first.b, "within": first.is_within })
    });
    json!({
        "agrees": difference.agrees(),
        "elements": difference.elements,
        "differing": difference.differing,
        "exceeding": difference.exceeding,
        "max_abs": finite(difference.max_abs),
        "max_rel": finite(difference.max_rel),
        "max_ulps": difference.max_ulps,
        "first": first,
        "mismatch": difference.mismatch,
    })
}
