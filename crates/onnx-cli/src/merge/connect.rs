//! Connections of models from the command line.

use onnx_compose::Connection;
use onnx_ir::{GraphOutput, Model, ValueId};

use crate::exit::Failure;
use crate::output::shown;

/// The most names that a message lists.
const MOST: usize = 8;

/// A side of a connection.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The index of the model, if the side has the form `in(K, NAME)`.
    model: Option<usize>,
    name: &'a str,
}

impl<'a> Side<'a> {
    fn new(text: &'a str) -> Self {
        let inner = text.strip_prefix("in(").and_then(|rest| rest.strip_suffix(')'));
        let parts = inner.and_then(|inner| inner.split_once(','));
        let model = parts.and_then(|(number, _)| number.trim().parse::<usize>().ok()?.checked_sub(1));
        match (model, parts) {
            (Some(model), Some((_, name))) => Self { model: Some(model), name: name.trim() },
            _ => Self { model: None, name: text },
        }
    }
}

/// The connections that texts describe: `h=x` for each model that has `h` and the next one if that has the input `x`, or
/// `in(1, h)=in(3, x)`.
pub(super) fn parse(models: &[&Model], texts: &[String]) -> Result<Vec<Connection>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        let found = one(models, text);
        if found.is_empty() {
            return Err(unmatched(models, text));
        }
        all.extend(found);
    }
    Ok(all)
}

fn one(models: &[&Model], text: &str) -> Vec<Connection> {
    // A name can contain `=`: the first that splits the text into two names counts.
    let splits = text.match_indices('=').map(|(at, _)| text.split_at(at));
    let mut found = splits.map(|(from, to)| {
        let (from, to) = (Side::new(from), Side::new(to.get(1..).unwrap_or_default()));
        let last = models.len().saturating_sub(1);
        let pairs: Vec<(usize, usize)> = match (from.model, to.model) {
            (Some(from), Some(to)) => vec![(from, to)],
            (Some(from), None) => vec![(from, from.saturating_add(1))],
            (None, Some(to)) => to.checked_sub(1).map(|from| (from, to)).into_iter().collect(),
            (None, None) => (0..last).map(|from| (from, from.saturating_add(1))).collect(),
        };
        let connection = |(a, b): (usize, usize)| {
            let source = source(models.get(a)?, from.name)?;
            let input = input(models.get(b)?, to.name)?;
            Some(Connection::new((a, source), (b, input)))
        };
        pairs.into_iter().filter_map(connection).collect::<Vec<_>>()
    });
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

/// An output, or else another value of the main graph.
fn source(model: &Model, name: &str) -> Option<ValueId> {
    let mut outputs = model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value);
    let output = outputs.find(|&output| is_named(model, output, name));
    output.or_else(|| model.find_value(model.main_graph(), name))
}

fn input(model: &Model, name: &str) -> Option<ValueId> {
    let mut inputs = model.graph(model.main_graph()).inputs().iter().copied();
    inputs.find(|&input| is_named(model, input, name))
}

fn is_named(model: &Model, value: ValueId, name: &str) -> bool {
    model.str(model.value(value).name()) == name
}

fn unmatched(models: &[&Model], text: &str) -> Failure {
    let message =
        format!("`{}` connects nothing: no value and input of two models have these names", shown(text));
    let names = |model: &Model, values: Vec<ValueId>| {
        let listed = values.iter().take(MOST).map(|&value| shown(model.str(model.value(value).name())));
        let more = if values.len() > MOST { ", …" } else { "" };
        format!("{}{more}", listed.collect::<Vec<_>>().join(", "))
    };
    let lists = models.iter().enumerate().take(MOST).map(|(index, model)| {
        let graph = model.graph(model.main_graph());
        let inputs = names(model, graph.inputs().to_vec());
        let outputs = names(model, graph.outputs().iter().map(GraphOutput::value).collect());
        format!("model {}: ({inputs}) => ({outputs})", index.saturating_add(1))
    });
    let help = "write `OUTPUT=INPUT` for a model and the next one, or `in(1, OUTPUT)=in(3, INPUT)`";
    Failure::new(message).help(format!("{help}; {}", lists.collect::<Vec<_>>().join("; ")))
}
