//! A run of the model on generated inputs, and the values at its edges.

use std::sync::Mutex;

use onnx_diag::Clean;
use onnx_draw::{Edge, number_text, shown};
use onnx_eval::{
    EvalOptions, Evaluator, Failure, FailureKind, NodeRun, Observer, Statistics, Value as Number,
};
use onnx_ir::{Model, ValueId};
use onnx_pass::{FeedGenerator, FeedOptions, Feeds};
use onnx_select::Element;
use onnx_types::Interrupt;
use serde_json::{Value, json};
use slotmap::SecondaryMap;

use crate::queries::{line, named_sizes, place, variables};
use crate::session::Session;

/// Values that are listed.
const MOST_ROWS: usize = 2_000;
/// Elements of a value that are listed.
const MOST_ELEMENTS: usize = 8;

/// What is known of a value of a run.
#[derive(Clone)]
struct Seen {
    ty: String,
    statistics: Option<Statistics>,
    elements: Vec<String>,
}

impl Seen {
    fn new(value: &Number, interrupt: &Interrupt) -> Self {
        let statistics = value.tensor().and_then(|tensor| Statistics::of(tensor, interrupt).ok());
        let elements = value
            .tensor()
            .and_then(|tensor| tensor.iter_f64(&onnx_types::tensor::NoData).ok())
            .map(|elements| elements.take(MOST_ELEMENTS).map(number_text).collect());
        Self { ty: value.describe(), statistics, elements: elements.unwrap_or_default() }
    }

    /// The range of the elements: `-1.5 … 2`, one number if there is one, and what is not finite.
    fn range(&self) -> String {
        let Some(found) = &self.statistics else { return String::new() };
        let mut text = match (found.min, found.max) {
            (Some(min), Some(max)) if min == max => number_text(min.to_f64()),
            (Some(min), Some(max)) => {
                format!("{} … {}", number_text(min.to_f64()), number_text(max.to_f64()))
            }
            _ => String::new(),
        };
        for (count, word) in [(found.nans, "NaN"), (found.infinities, "∞")] {
            if count > 0 {
                text.push_str(&format!(" {count}×{word}"));
            }
        }
        text
    }
}

/// The values of a run; those of a loop are of its last iteration.
#[derive(Clone, Default)]
pub(crate) struct Values(SecondaryMap<ValueId, Seen>);

impl Values {
    /// A value in a line.
    pub(crate) fn text(&self, value: ValueId) -> Option<String> {
        let seen = self.0.get(value)?;
        let more = seen.statistics.as_ref().is_some_and(|found| found.elements > seen.elements.len() as u64);
        let elements = seen.elements.join(", ");
        Some(format!("{}: {} [{elements}{}]", seen.ty, seen.range(), if more { ", …" } else { "" }))
    }
}

/// Keeps what nodes compute.
struct Watcher<'a> {
    model: &'a Model,
    interrupt: &'a Interrupt,
    seen: Mutex<Values>,
}

impl Watcher<'_> {
    fn keep(&self, value: ValueId, content: &Number) {
        let seen = Seen::new(content, self.interrupt);
        if let Ok(mut values) = self.seen.lock() {
            values.0.insert(value, seen);
        }
    }
}

impl Observer for Watcher<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        for (value, content) in self.model.node(run.node).outputs().iter().zip(run.outputs) {
            if let (&Some(value), Some(content)) = (value, content) {
                self.keep(value, content);
            }
        }
    }
}

/// Runs the model on generated inputs. A run that fails has the values up to the node that failed.
pub(crate) fn run(session: &Session, sizes: &str, seed: u64) -> Result<(Value, Values), String> {
    let model = &session.model;
    let sizes = named_sizes(sizes)?;
    let execution = session.execution.clone().with_seed(seed);
    let options = FeedOptions::default()
        .with_sizes(&sizes)
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_execution(execution.clone());
    let mut feeds =
        FeedGenerator::new(model, &session.inference, &options, &[]).map_err(|error| error.to_string())?;
    let options = EvalOptions::default()
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_execution(execution.clone());
    let evaluator = Evaluator::new(model, &options).map_err(|error| error.to_string())?;
    let mut given = feeds.feeds().map_err(|error| error.to_string())?;
    let (mut values, mut failure) = once(model, &evaluator, &given, &execution.interrupt);
    // Some operators need larger inputs than the smallest ones.
    while failure.as_ref().is_some_and(|failure| failure.kind() == FailureKind::Operator) && feeds.grow() {
        let Ok(larger) = feeds.feeds() else { continue };
        let (next, failed) = once(model, &evaluator, &larger, &execution.interrupt);
        if failed.is_none() {
            (values, failure, given) = (next, None, larger);
        }
    }
    let answer = answer(session, &values, &given, failure.as_ref());
    Ok((answer, values))
}

fn once(
    model: &Model,
    evaluator: &Evaluator<'_>,
    feeds: &Feeds,
    interrupt: &Interrupt,
) -> (Values, Option<Failure>) {
    let watcher = Watcher { model, interrupt, seen: Mutex::default() };
    let given = feeds.by_name();
    let inputs: Vec<Option<Number>> = evaluator
        .inputs()
        .iter()
        .map(|&input| {
            let name = model.str(model.value(input).name());
            let value = given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            value.iter().for_each(|value| watcher.keep(input, value));
            value
        })
        .collect();
    let failure = evaluator.run_observed(inputs, &watcher).err();
    (watcher.seen.into_inner().unwrap_or_default(), failure)
}

fn answer(session: &Session, values: &Values, feeds: &Feeds, failure: Option<&Failure>) -> Value {
    let model = &session.model;
    let mut rows = Vec::new();
    let inputs = model.graph(model.main_graph()).inputs().iter().copied();
    let made = model.walk(model.main_graph()).nodes();
    let made = made.flat_map(|node| model.node(node).outputs().iter().flatten().copied());
    for value in inputs.chain(made) {
        let Some(seen) = values.0.get(value) else { continue };
        if rows.len() == MOST_ROWS {
            break;
        }
        let found = seen.statistics.as_ref();
        let mut row = json!({
            "name": shown(model.str(model.value(value).name())),
            "type": seen.ty,
            "range": seen.range(),
            "mean": found.and_then(|found| found.mean).map(number_text),
            "bad": found.is_some_and(|found| found.nans + found.infinities > 0),
            "elements": seen.elements,
        });
        if let Some((level, item)) = place(session, Element::Value(value)) {
            (row["level"], row["item"]) = (json!(level), json!(item));
        }
        rows.push(row);
    }
    let mut answer = json!({
        "sizes": feeds.sizes.iter().map(|(name, size)| json!([shown(name), size])).collect::<Vec<_>>(),
        "variables": variables(model).iter().map(|(name, _)| shown(name)).collect::<Vec<_>>(),
        "rows": rows,
        "values": values.0.len(),
    });
    if let Some(failure) = failure {
        answer["failure"] = json!({ "message": Clean(&failure.to_string()).to_string() });
        if let Some(node) = failure.node() {
            answer["failure"]["node"] = json!(line(session, Element::Node(node)));
            if let Some((level, item)) = session.scene.place(node) {
                (answer["failure"]["level"], answer["failure"]["item"]) = (json!(level), json!(item));
            }
        }
    }
    answer
}

/// The values of the last run at the edges of a level, in the order of the edges.
pub(crate) fn labels(session: &Session, level: usize) -> Value {
    let edges = session.scene.level(level).map(|level| level.edges.as_slice()).unwrap_or_default();
    let label = |edge: &Edge| match (edge.values.as_slice(), &edge.label, &session.values) {
        (&[value], Some(_), Some(values)) => {
            values.0.get(value).map(|seen| format!("{} {}", dims(&seen.ty), seen.range()))
        }
        _ => None,
    };
    json!(edges.iter().map(label).collect::<Vec<_>>())
}

/// The shape in a description such as `float[2,3]`, as edges show it.
fn dims(ty: &str) -> String {
    match ty.split_once('[') {
        Some((_, dims)) => dims.trim_end_matches(']').replace(',', "×"),
        None => String::new(),
    }
}
