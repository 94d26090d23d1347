//! Connections of models from the command line.

use std::collections::BTreeSet;

use onnx_compose::Connection;
use onnx_ir::{Def, GraphOutput, Model, ValueId};

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

/// Inputs of a model that nothing is connected to, although a later model has outputs of these names.
pub(super) struct Reversed {
    /// The index of the model with the inputs.
    pub(super) of: usize,
    /// The index of the model with the outputs.
    later: usize,
    /// The names, in order.
    names: Vec<String>,
}

impl Reversed {
    /// The message, and how to connect the inputs.
    pub(super) fn warning(&self, names: &[String]) -> (String, String) {
        let model = |index: usize| names.get(index).map_or("", String::as_str);
        let (earlier, later) = (model(self.of), model(self.later));
        let listed: Vec<String> =
            self.names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
        let listed = listed.join(", ") + if self.names.len() > MOST { ", …" } else { "" };
        let (noun, verb, pronoun) =
            if self.names.len() == 1 { ("input", "is", "it") } else { ("inputs", "are", "them") };
        let message = format!(
            "the {noun} {listed} of {earlier} {verb} not connected: {later}, which has {pronoun} as output, comes later"
        );
        let first = self.names.first().map(|name| shown(name)).unwrap_or_default();
        let [of, from] = [self.of, self.later].map(|index| index.saturating_add(1));
        let help = format!(
            "name {later} before {earlier}, or use `--connect 'in({from}, {first})=in({of}, {first})'`"
        );
        (message, help)
    }
}

/// The inputs that a connection by name leaves open because the models are in another order. A model that uses values of the
/// earlier one is not reported: the models would form a cycle.
pub(super) fn reversed(models: &[&Model], connections: &[Connection]) -> Vec<Reversed> {
    let mut found: Vec<Reversed> = Vec::new();
    for (of, model) in models.iter().enumerate() {
        let users = users(models, connections, of);
        for &input in model.graph(model.main_graph()).inputs() {
            let name = model.str(model.value(input).name());
            if name.is_empty() || connections.iter().any(|known| known.to == (of, input)) {
                continue;
            }
            let has_output = |other: &Model| {
                let mut outputs = other.graph(other.main_graph()).outputs().iter().map(GraphOutput::value);
                outputs.any(|output| is_named(other, output, name) && !is_input(other, output))
            };
            let mut others = models.iter().enumerate().skip(of.saturating_add(1));
            let later = others.find(|(index, other)| !users.contains(index) && has_output(other));
            let Some((later, _)) = later else { continue };
            match found.iter_mut().find(|known| known.of == of && known.later == later) {
                Some(known) => known.names.push(name.to_owned()),
                None => found.push(Reversed { of, later, names: vec![name.to_owned()] }),
            }
        }
    }
    found
}

/// An output that its model passes through from an input, which a value of another name replaces.
pub(super) struct ReplacedOutput {
    /// The index of the model.
    pub(super) model: usize,
    /// The name in the model, with the prefix.
    pub(super) from: String,
    /// The name of the output of the merged model.
    pub(super) to: String,
}

/// The outputs of a merged model that are values of other names than in their models, because these names were those of
/// connected inputs.
pub(super) fn replaced_outputs(
    models: &[&Model],
    connections: &[Connection],
    prefixes: &[String],
    merged: &Model,
) -> Vec<ReplacedOutput> {
    let outputs = models.iter().enumerate().flat_map(|(index, model)| {
        let values = model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value);
        let stays = move |&value: &ValueId| {
            is_input(model, value) || connections.iter().all(|connection| connection.from != (index, value))
        };
        values.filter(stays).map(move |value| (index, value))
    });
    let mut found = Vec::new();
    // The outputs of the merged model are those of the models, in order.
    for ((index, value), output) in outputs.zip(merged.graph(merged.main_graph()).outputs()) {
        let Some(model) = models.get(index) else { continue };
        if connections.iter().all(|connection| connection.to != (index, value)) {
            continue;
        }
        let prefix = prefixes.get(index).map_or("", String::as_str);
        let from = format!("{prefix}{}", model.str(model.value(value).name()));
        let to = merged.str(merged.value(output.value()).name()).to_owned();
        if from != to {
            found.push(ReplacedOutput { model: index, from, to });
        }
    }
    found
}

/// The models that use values which a model makes, also through others.
fn users(models: &[&Model], connections: &[Connection], of: usize) -> BTreeSet<usize> {
    let mut users = BTreeSet::new();
    let mut pending = vec![of];
    while let Some(model) = pending.pop() {
        for connection in connections.iter().filter(|connection| connection.from.0 == model) {
            let is_made = models.get(model).is_some_and(|model| !is_input(model, connection.from.1));
            if is_made && users.insert(connection.to.0) {
                pending.push(connection.to.0);
            }
        }
    }
    users
}

fn is_input(model: &Model, value: ValueId) -> bool {
    matches!(model.value(value).def(), Def::Input { .. })
}

fn unmatched(models: &[&Model], text: &str) -> Failure {
    if let Some(failure) = misspelt(models, text) {
        return failure;
    }
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

/// The failure for a connection of which one name, or the sign between them, is another one.
fn misspelt(models: &[&Model], text: &str) -> Option<Failure> {
    let named = |failure: String, help: String| Some(Failure::new(failure).help(help));
    if let Some((from, to)) = text.split_once(':').filter(|_| !text.contains('=')) {
        let written = format!("{from}={to}");
        if !one(models, &written).is_empty() {
            let message = format!("`{}` is not OUTPUT=INPUT", shown(text));
            return named(message, format!("write `--connect {}`", shown(&written)));
        }
    }
    let (from, to) = text.split_once('=')?;
    let (from, to) = (Side::new(from), Side::new(to));
    let name = |model: &Model, value: ValueId| model.str(model.value(value).name()).to_owned();
    let makers: Vec<usize> = of(models, from, |model| source(model, from.name).is_some());
    let takers: Vec<usize> = of(models, to, |model| input(model, to.name).is_some());
    let list = |values: &dyn Fn(&Model) -> Vec<ValueId>| -> Vec<String> {
        models.iter().flat_map(|model| values(model).into_iter().map(|value| name(model, value))).collect()
    };
    let outputs =
        list(&|model| model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect());
    let inputs = list(&|model| model.graph(model.main_graph()).inputs().to_vec());
    match (makers.first(), takers.first()) {
        (None, Some(_)) => {
            let near = onnx_schema::nearest(from.name, outputs.iter().map(String::as_str))?;
            let message = format!("no model has a value `{}`", shown(from.name));
            named(message, format!("did you mean the output `{}`?", shown(near)))
        }
        (Some(_), None) => {
            let near = onnx_schema::nearest(to.name, inputs.iter().map(String::as_str))?;
            let message = format!("no model has an input `{}`", shown(to.name));
            named(message, format!("did you mean `{}`?", shown(near)))
        }
        (Some(&maker), Some(&taker)) if maker != taker => {
            let [maker, taker] = [maker, taker].map(|index| index.saturating_add(1));
            let (from, to) = (shown(from.name), shown(to.name));
            let message = format!(
                "`{from}` is a value of model {maker}, and `{to}` an input of model {taker}, which is not the next one"
            );
            named(
                message,
                format!(
                    "write `--connect 'in({maker}, {from})=in({taker}, {to})'`, or name the models in another order"
                ),
            )
        }
        _ => None,
    }
}

/// The models that a side can be about and that have what it names.
fn of(models: &[&Model], side: Side<'_>, has: impl Fn(&Model) -> bool) -> Vec<usize> {
    let all = models.iter().enumerate();
    let meant = all.filter(|(index, model)| side.model.is_none_or(|model| model == *index) && has(model));
    meant.map(|(index, _)| index).collect()
}
