//! Which values of two models belong together, although their names differ.

use std::collections::{HashMap, HashSet};

use onnx_compose::{DiffOptions, corresponding_values};
use onnx_ir::{Model, ValueId};
use onnx_types::tensor::NoData;

use super::CompareArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::{Out, shown};
use crate::run::{Given, missing, name};
use crate::size;

/// The values of the second model that are compared under the name of a value of the first one.
#[derive(Default)]
pub(super) struct Paired {
    /// The names that the values had before, by the value.
    names: HashMap<ValueId, String>,
    /// How many of them correspond as `onnx diff` finds it.
    by_structure: usize,
}

impl Paired {
    /// The name of a value in the file of the second model.
    pub(super) fn name_in_b(&self, value: ValueId) -> Option<&str> {
        self.names.get(&value).map(String::as_str)
    }

    /// Tells how many values are paired by structure.
    pub(super) fn describe(&self, args: &CompareArgs, out: &Out) {
        if args.inner && self.by_structure > 0 {
            let values = size::plural(self.by_structure as u64, "value");
            out.summary(&format!("{values} with different names correspond by structure, as in `onnx diff`"));
        }
    }
}

/// Gives values of the second model the names of the values of the first one that they are compared with.
pub(super) fn pair(a: &Loaded, b: &mut Loaded, args: &CompareArgs) -> Result<Paired, Failure> {
    let mut pairs: Vec<(ValueId, String)> = Vec::new();
    for text in &args.map {
        let (old, new) = mapped(&a.model, &b.model, text)?;
        if pairs.iter().any(|(value, name)| *value == old || *name == new) {
            return Err(Failure::new(format_args!("`--map {}` names a value twice", shown(text)))
                .help("give one counterpart for each value: `--map A=B`"));
        }
        pairs.push((old, new));
    }
    let mut paired = Paired::default();
    if args.inner {
        let found = by_structure(a, b, &pairs)?;
        paired.by_structure = found.len();
        pairs.extend(found);
    }
    let model = &mut b.model;
    paired.names = pairs.iter().map(|(value, _)| (*value, name(model, *value).to_owned())).collect();
    give_names(model, &pairs);
    Ok(paired)
}

/// Reads `A=B`: names of values of the main graphs, which can contain `=`.
fn mapped(a: &Model, b: &Model, text: &str) -> Result<(ValueId, String), Failure> {
    let splits = text.match_indices('=').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
    let splits: Vec<(&str, &str)> = splits.collect();
    for (of_a, of_b) in &splits {
        if let (Some(_), Some(value)) = (value(a, of_a), value(b, of_b)) {
            return Ok((value, (*of_a).to_owned()));
        }
    }
    let Some((of_a, of_b)) = splits.first() else {
        return Err(Failure::new(format_args!("`{}` is not A=B", shown(text)))
            .help("write the name of a value of the first model and of one of the second: `--map x=input`"));
    };
    let (side, model, wanted) =
        if value(a, of_a).is_none() { ("first", a, of_a) } else { ("second", b, of_b) };
    let failure =
        Failure::new(format_args!("the {side} model has no value `{}` in its main graph", shown(wanted)));
    let names: Vec<&str> = values(model).map(|value| name(model, value)).collect();
    Err(failure.help(match onnx_schema::nearest(wanted, names.into_iter()) {
        Some(near) => format!("did you mean `{}`?", shown(near)),
        None => "`onnx find MODEL 'all()'` lists the values".to_owned(),
    }))
}

fn values(model: &Model) -> impl Iterator<Item = ValueId> + '_ {
    model.definitions(model.main_graph())
}

fn value(model: &Model, wanted: &str) -> Option<ValueId> {
    values(model).find(|&value| name(model, value) == wanted)
}

/// The values of the second model whose node corresponds to one of the first, unless a name that both models have decides.
fn by_structure(
    a: &Loaded,
    b: &Loaded,
    given: &[(ValueId, String)],
) -> Result<Vec<(ValueId, String)>, Failure> {
    let (source_a, source_b) = (a.source()?, b.source()?);
    let options = DiffOptions::default()
        .with_data_of_a(&source_a)
        .with_data_of_b(&source_b)
        .with_same_files(a.has_data_of(b))
        .with_execution(a.execution.clone());
    let names = |model| values(model).map(|value| name(model, value)).collect::<HashSet<&str>>();
    let (of_a, of_b) = (names(&a.model), names(&b.model));
    let outputs: HashSet<ValueId> =
        b.model.graph(b.model.main_graph()).outputs().iter().map(|output| output.value()).collect();
    let mut found = Vec::new();
    let corresponding = corresponding_values(&a.model, &b.model, &options)?;
    for (one, two) in of_equal_operands(a, b, corresponding, given) {
        let (one, other) = (name(&a.model, one), name(&b.model, two));
        let is_open = !of_b.contains(one) && !of_a.contains(other) && !one.is_empty();
        // Outputs are the interface: their names count.
        let is_given = given.iter().any(|(value, name)| *value == two || name == one);
        if is_open && !is_given && !outputs.contains(&two) {
            found.push((two, one.to_owned()));
        }
    }
    Ok(found)
}

/// The pairs of results of nodes whose operands correspond: values that are paired or have one name, and constants, of which those
/// that are integers, such as indices and axes, are equal. A node that is like another one but reads another axis is none of them.
fn of_equal_operands(
    a: &Loaded,
    b: &Loaded,
    corresponding: Vec<(ValueId, ValueId)>,
    given: &[(ValueId, String)],
) -> Vec<(ValueId, ValueId)> {
    let candidates: HashMap<ValueId, ValueId> =
        corresponding.into_iter().map(|(one, two)| (two, one)).collect();
    let mut paired: HashMap<ValueId, ValueId> = HashMap::new();
    let given: HashMap<ValueId, &str> = given.iter().map(|(value, name)| (*value, name.as_str())).collect();
    let fits = |paired: &HashMap<ValueId, ValueId>, one: Option<ValueId>, two: Option<ValueId>| {
        let (Some(one), Some(two)) = (one, two) else { return one.is_none() && two.is_none() };
        match (a.model.constant_tensor(one), b.model.constant_tensor(two)) {
            (Some(of_a), Some(of_b)) => !of_a.elem().is_integer() || of_a.same_meaning(of_b, &NoData),
            (None, None) => {
                let of_a = name(&a.model, one);
                paired.get(&two) == Some(&one)
                    || !of_a.is_empty() && (given.get(&two) == Some(&of_a) || name(&b.model, two) == of_a)
            }
            _ => false,
        }
    };
    let graph = b.model.main_graph();
    let nodes = b.model.sorted_nodes(graph).unwrap_or_else(|_| b.model.nodes(graph).collect());
    let mut found = Vec::new();
    for node in nodes {
        let record = b.model.node(node);
        for &two in record.outputs().iter().flatten() {
            let Some(&one) = candidates.get(&two) else { continue };
            let Some(producer) = a.model.value(one).producer() else { continue };
            let other = a.model.node(producer);
            let are_equal = other.input_count() == record.input_count()
                && other.inputs().zip(record.inputs()).all(|(one, two)| fits(&paired, one, two));
            if are_equal {
                paired.insert(two, one);
                found.push((one, two));
            }
        }
    }
    found
}

/// Names values; another value that has such a name gets a new one.
fn give_names(model: &mut Model, pairs: &[(ValueId, String)]) {
    let given: HashSet<ValueId> = pairs.iter().map(|(value, _)| *value).collect();
    let wanted: HashSet<&str> = pairs.iter().map(|(_, name)| name.as_str()).collect();
    let graphs: Vec<_> = model.graphs_in(model.main_graph()).collect();
    let all: Vec<ValueId> = graphs.into_iter().flat_map(|graph| model.definitions(graph)).collect();
    let taken: HashSet<String> = all.iter().map(|&value| name(model, value).to_owned()).collect();
    for &value in all.iter().filter(|value| !given.contains(value)) {
        let old = name(model, value).to_owned();
        if wanted.contains(old.as_str()) {
            let free = (0_u64..).map(|index| format!("{old}:of_b{index}"));
            let mut free = free.filter(|name| !taken.contains(name) && !wanted.contains(name.as_str()));
            let new = free.next().unwrap_or_default();
            let symbol = model.intern(&new);
            model.set_value_name(value, symbol);
        }
    }
    for (value, new) in pairs {
        let symbol = model.intern(new);
        model.set_value_name(*value, symbol);
    }
}

/// The inputs of the second model that no value of the first one has the name of: they get no value.
#[derive(Default)]
pub(super) struct Unmatched {
    names: Vec<String>,
    /// The options that pair them with the inputs of the first model that are free, in order.
    suggestion: Option<String>,
}

pub(super) fn unmatched(a: &Loaded, b: &Loaded, given: &Given) -> Unmatched {
    let (graph, inputs) = (a.model.main_graph(), a.model.graph(a.model.main_graph()).inputs());
    let all = inputs.iter().copied().chain(a.model.definitions(graph));
    let all: HashSet<&str> = all.map(|value| name(&a.model, value)).collect();
    let missing = missing(&b.model, given);
    let open: Vec<&str> = missing.iter().copied().filter(|input| !all.contains(input)).collect();
    let names = open.iter().map(|name| (*name).to_owned()).collect();
    let of_b: HashSet<&str> = values(&b.model).map(|value| name(&b.model, value)).collect();
    let free = inputs.iter().copied().filter(|&input| !of_b.contains(name(&a.model, input)));
    let free: Vec<ValueId> = free.collect();
    let other = |wanted: &str| {
        let mut inputs = b.model.graph(b.model.main_graph()).inputs().iter().copied();
        inputs.find(|&input| name(&b.model, input) == wanted)
    };
    let fits = |(one, two): (&ValueId, &&str)| {
        let ty = |model: &Model, value| {
            let ty = model.ty(value)?;
            Some((ty.elem(), ty.shape().map(|shape| shape.dims().len())))
        };
        other(two).is_some_and(|two| ty(&a.model, *one) == ty(&b.model, two))
    };
    let are_pairs = !open.is_empty() && open.len() == free.len() && free.iter().zip(&open).all(fits);
    let suggestion = are_pairs.then(|| {
        let pairs = free.iter().zip(&open);
        let pairs = pairs.map(|(&one, two)| format!("--map {}={}", shown(name(&a.model, one)), shown(two)));
        pairs.collect::<Vec<_>>().join(" ")
    });
    Unmatched { names, suggestion }
}

impl Unmatched {
    pub(super) const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn message(&self, a: &Loaded, b: &Loaded) -> String {
        let noun = if self.names.len() == 1 { "input" } else { "inputs" };
        let names: Vec<String> =
            self.names.iter().take(20).map(|input| format!("`{}`", shown(input))).collect();
        format!("{} has no value with the name of the {noun} {} of {}", a.name, names.join(", "), b.name)
    }

    fn help(&self) -> String {
        match &self.suggestion {
            Some(map) => format!("inputs are matched by name; `{map}` pairs them in order"),
            None => "inputs are matched by name: `--map A=B` pairs two, `--feed NAME=FILE` gives a value"
                .to_owned(),
        }
    }

    /// Warns of the inputs.
    pub(super) fn warn(&self, a: &Loaded, b: &Loaded, out: &Out) {
        if !self.is_empty() {
            out.warning(&self.message(a, b), Some(&self.help()));
        }
    }

    /// The failure of a comparison that could not begin.
    pub(super) fn failure(&self, a: &Loaded, b: &Loaded) -> Failure {
        Failure::new(format_args!("nothing was compared: {}", self.message(a, b))).help(self.help())
    }
}
