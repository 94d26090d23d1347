//! What `--why` and `--unknown` add to a report for programs: the result `infer/1`.

use std::borrow::Cow;

use onnx_ir::{Model, ValueId};
use onnx_select::{Element, Selectors};
use onnx_shape_infer::{Explanation, Inference, Missing, Unknown};
use serde::Serialize;

use super::guards;
use super::unknown::{ends, named};
use crate::args::InferArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::json::JsonText;

/// A model. The keys are always present.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    report: Option<Report<'a>>,
    explain: Option<Vec<Explained<'a>>>,
    /// The conditions under which the results hold; at most `report_entries` of them.
    guards: Option<Vec<serde_json::Value>>,
}

#[derive(Serialize)]
struct Report<'a> {
    values: u64,
    incomplete: u64,
    /// The number of entries beyond the limit `report_entries`.
    dropped: u64,
    unknown: Vec<Entry<'a>>,
}

/// A part of a value that is unknown, and the value where it was lost.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    part: Part<'a>,
    origin: Part<'a>,
    operator: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct Part<'a> {
    value: Cow<'a, str>,
    selector: Option<String>,
    missing: &'static str,
    /// For sizes: the first and the last axis of each range.
    axes: Option<Vec<(usize, usize)>>,
}

#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    /// The names of the values from the one that is explained to the origin; of a long chain only both ends.
    chain: Vec<Cow<'a, str>>,
    chain_omitted: usize,
}

/// The item of the model in the result.
pub(super) fn items(
    args: &InferArgs,
    loaded: &Loaded,
    inference: &Inference,
) -> Result<Vec<JsonText>, Failure> {
    let model = &loaded.model;
    let selectors = Selectors::new(model);
    let report = args.unknown.then(|| {
        let report = inference.report(model, &loaded.execution.limits);
        let unknown = report.unknown.iter().map(|unknown| entry(model, &selectors, unknown)).collect();
        Report { values: report.values, incomplete: report.incomplete, dropped: report.dropped, unknown }
    });
    let explain = match &args.why {
        None => None,
        Some(name) => {
            let explanations = inference.explain(model, &named(loaded, name)?, &loaded.execution.limits);
            Some(explanations.iter().map(|one| explained(model, &selectors, one)).collect())
        }
    };
    let is_wanted = args.unknown || args.guards.is_some();
    let guards = is_wanted.then(|| {
        inference
            .guards(model)
            .take(loaded.execution.limits.report_entries)
            .map(|guard| guards::object(&guard))
            .collect()
    });
    let item = Item { name: &loaded.name, report, explain, guards };
    Ok(vec![JsonText::of(&item)?])
}

/// A name, cut if it is long: an origin with a long name is in many entries.
fn cut(name: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 1024;
    match name.char_indices().nth(MAX_CHARS).and_then(|(end, _)| name.get(..end)) {
        Some(begin) => Cow::Owned(format!("{begin}…")),
        None => Cow::Borrowed(name),
    }
}

fn name(model: &Model, value: ValueId) -> Cow<'_, str> {
    cut(model.str(model.value(value).name()))
}

fn part<'a>(model: &'a Model, selectors: &Selectors<'_>, value: ValueId, missing: &Missing) -> Part<'a> {
    let (missing, axes) = match missing {
        Missing::Type => ("type", None),
        Missing::Elem => ("element type", None),
        Missing::Rank => ("rank", None),
        Missing::Sizes(axes) => ("sizes", Some(axes.ranges().to_vec())),
    };
    Part { value: name(model, value), selector: selectors.text(Element::Value(value)), missing, axes }
}

fn entry<'a>(model: &'a Model, selectors: &Selectors<'_>, unknown: &Unknown) -> Entry<'a> {
    Entry {
        part: part(model, selectors, unknown.value, &unknown.missing),
        origin: part(model, selectors, unknown.origin, &unknown.missing_at_origin),
        operator: unknown.node.map(|node| cut(model.str(model.node(node).op()))),
    }
}

fn explained<'a>(model: &'a Model, selectors: &Selectors<'_>, explanation: &Explanation) -> Explained<'a> {
    let (begin, chain_omitted, end) = ends(&explanation.chain);
    let chain = begin.iter().chain(end).map(|&value| name(model, value)).collect();
    Explained { entry: entry(model, selectors, &explanation.unknown), chain, chain_omitted }
}
