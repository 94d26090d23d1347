//! Which values of two models belong together, although their names differ.

use std::collections::{HashMap, HashSet};

use onnx_diff::{CorrespondingValues, DiffOptions, corresponding_values};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_types::tensor::NoData;

use super::{CompareArgs, quantized};
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::{Out, shown};
use crate::run::{Given, eval_options, missing, name};
use crate::size;

/// The least number of values with one name that decides whether names are of one origin.
const LEAST: usize = 8;

/// The values of the second model that are compared under the name of a value of the first one.
#[derive(Default)]
pub(super) struct Paired {
    /// The names that the values had before, by the value.
    names: HashMap<ValueId, String>,
    /// How many of them correspond as `onnx diff` finds it, or read the same weights.
    by_structure: usize,
    /// How many of them are compared behind their quantization.
    dequantized: usize,
    /// The values with one name, and those of them that one operator makes, if names are accidental.
    accidental: Option<(usize, usize)>,
}

impl Paired {
    /// The name of a value in the file of the second model.
    pub(super) fn name_in_b(&self, value: ValueId) -> Option<&str> {
        self.names.get(&value).map(String::as_str)
    }

    /// Tells how values are paired that have other names.
    pub(super) fn describe(&self, args: &CompareArgs, out: &Out) {
        let values = |count: usize| size::plural(count as u64, "value");
        if !args.inner {
            return;
        }
        if let Some((shared, equal)) = self.accidental {
            out.summary(&format!(
                "names of inner values are not compared: of {} with names of both models, {equal} come from the same operator",
                values(shared)
            ));
        }
        if self.by_structure > 0 {
            let values = values(self.by_structure);
            out.summary(&format!(
                "{values} with different names correspond by structure or weights, as in `onnx diff`"
            ));
        }
        if self.dequantized > 0 {
            let verb = if self.dequantized == 1 { "is" } else { "are" };
            let values = values(self.dequantized);
            out.summary(&format!("{values} of the second model {verb} compared behind DequantizeLinear"));
        }
    }
}

/// Gives values of the second model the names of the values of the first one that they are compared with.
pub(super) fn pair(
    a: &Loaded,
    b: &mut Loaded,
    registry: &Registry,
    args: &CompareArgs,
) -> Result<Paired, Failure> {
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
    let mut renamed = HashSet::new();
    if args.inner {
        let shared: Vec<(ValueId, ValueId)> = named_results(&a.model, &b.model).collect();
        paired.accidental = accidental(&a.model, &b.model, &shared);
        let (varying_a, varying_b) = (varying(&a.model), varying(&b.model));
        let is_accidental = |&(one, two): &(ValueId, ValueId)| {
            paired.accidental.is_some()
                || !may_share_a_name((&a.model, &varying_a), (&b.model, &varying_b), one, two)
        };
        renamed.extend(shared.iter().filter(|pair| is_accidental(pair)).map(|&(_, two)| two));
        let found = Search { a, b, given: &pairs, renamed: &renamed, varying: &varying_b }.found()?;
        paired.by_structure = found.len();
        pairs.extend(found);
        let sources = (a.source()?, b.source()?);
        let run = |loaded: &Loaded| eval_options(&loaded.execution, 0, registry, args.threads);
        let mut found = quantized::Search {
            a: &a.model,
            b: &b.model,
            run_a: &run(a).with_data(&sources.0),
            run_b: &run(b).with_data(&sources.1),
            given: &pairs,
            renamed: &renamed,
        }
        .found()?;
        found.dequantize(&mut b.model)?;
        paired.by_structure += found.floats.len();
        paired.dequantized = found.dequantized.len();
        pairs.extend(found.floats.into_iter().chain(found.dequantized));
    }
    let model = &mut b.model;
    paired.names = pairs.iter().map(|(value, _)| (*value, name(model, *value).to_owned())).collect();
    give_names(model, &pairs, &renamed);
    Ok(paired)
}

/// The inputs of a model, and the results of its main graph that depend on them, or on chance.
fn varying(model: &Model) -> HashSet<ValueId> {
    let graph = model.main_graph();
    let mut varying: HashSet<ValueId> = model.graph(graph).inputs().iter().copied().collect();
    for node in model.sorted_nodes(graph).unwrap_or_else(|_| model.nodes(graph).collect()) {
        let record = model.node(node);
        let is_constant = model.has_deterministic_operator(node, Registry::STANDARD)
            && record.nested_graphs().next().is_none()
            && !record.inputs().flatten().any(|operand| varying.contains(&operand));
        if !is_constant {
            varying.extend(record.outputs().iter().flatten());
        }
    }
    varying
}

/// Whether values with one name can be the same: what depends on constants only may be folded in one of two exports, whose counters then
/// give its name to another constant.
fn may_share_a_name(
    (a, varying_a): (&Model, &HashSet<ValueId>),
    (b, varying_b): (&Model, &HashSet<ValueId>),
    one: ValueId,
    two: ValueId,
) -> bool {
    if varying_a.contains(&one) && varying_b.contains(&two) {
        return true;
    }
    let constants = a.constant_tensor(one).zip(b.constant_tensor(two));
    constants.is_some_and(|(of_a, of_b)| of_a.same_meaning(of_b, &NoData))
}

/// The results of nodes with one name in both models, except outputs of the second one: they are the interface.
fn named_results<'m>(a: &'m Model, b: &'m Model) -> impl Iterator<Item = (ValueId, ValueId)> + 'm {
    let of_a = values(a).filter(|&value| a.value(value).producer().is_some());
    let of_a: HashMap<&str, ValueId> = of_a.map(|value| (name(a, value), value)).collect();
    let outputs = outputs(b);
    let of_b =
        values(b).filter(move |value| b.value(*value).producer().is_some() && !outputs.contains(value));
    of_b.filter_map(move |two| Some((*of_a.get(name(b, two)).filter(|_| !name(b, two).is_empty())?, two)))
}

/// The number of results with one name and of those that one operator makes, if most of them are made by different ones: then two
/// exporters have counted, and `mul_3` of one has nothing to do with `mul_3` of the other. An edit keeps most names.
fn accidental(a: &Model, b: &Model, shared: &[(ValueId, ValueId)]) -> Option<(usize, usize)> {
    fn op(model: &Model, value: ValueId) -> Option<(&str, &str)> {
        let record = model.node(model.value(value).producer()?);
        Some((model.str(record.domain()), model.str(record.op())))
    }
    // A quantizer gives the name of a `Relu` that it removes to the operand.
    let compared: Vec<_> = shared.iter().filter(|(_, two)| !is_quantized(b, *two)).collect();
    let equal = compared.iter().filter(|(one, two)| op(a, *one) == op(b, *two)).count();
    (compared.len() >= LEAST && equal.saturating_mul(2) < compared.len()).then_some((compared.len(), equal))
}

pub(super) fn outputs(model: &Model) -> HashSet<ValueId> {
    model.graph(model.main_graph()).outputs().iter().map(|output| output.value()).collect()
}

/// Whether nodes read a value only to quantize it.
pub(super) fn is_quantized(model: &Model, value: ValueId) -> bool {
    let users = model.node_uses(value);
    !users.is_empty() && users.iter().all(|(node, _)| is_op(model, *node, "QuantizeLinear"))
}

pub(super) fn is_op(model: &Model, node: NodeId, op: &str) -> bool {
    let record = model.node(node);
    model.str(record.op()) == op && matches!(model.str(record.domain()), "" | "com.microsoft")
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

pub(super) fn values(model: &Model) -> impl Iterator<Item = ValueId> + '_ {
    model.definitions(model.main_graph())
}

fn value(model: &Model, wanted: &str) -> Option<ValueId> {
    values(model).find(|&value| name(model, value) == wanted)
}

/// The search for values that correspond although their names differ.
struct Search<'a> {
    a: &'a Loaded,
    b: &'a Loaded,
    given: &'a [(ValueId, String)],
    /// Values of the second model whose names are accidental.
    renamed: &'a HashSet<ValueId>,
    /// Values of the second model that are not constant.
    varying: &'a HashSet<ValueId>,
}

impl Search<'_> {
    /// The values of the second model whose node corresponds to one of the first, unless a name that both models have decides.
    fn found(&self) -> Result<Vec<(ValueId, String)>, Failure> {
        let (a, b) = (self.a, self.b);
        let (source_a, source_b) = (a.source()?, b.source()?);
        let options = DiffOptions::default()
            .with_data_of_a(&source_a)
            .with_data_of_b(&source_b)
            .with_same_files(a.has_data_of(b))
            .with_execution(a.execution.clone());
        let of_b = values(&b.model).filter(|value| !self.renamed.contains(value));
        let of_b: HashSet<&str> = of_b.map(|value| name(&b.model, value)).collect();
        let of_a: HashSet<&str> = values(&a.model).map(|value| name(&a.model, value)).collect();
        let outputs = outputs(&b.model);
        let mut found = Vec::new();
        let mut taken: HashSet<ValueId> = self.given.iter().map(|(value, _)| *value).collect();
        let mut names: HashSet<&str> = self.given.iter().map(|(_, name)| name.as_str()).collect();
        for (one, two) in self.of_equal_operands(corresponding_values(&a.model, &b.model, &options)?) {
            let (one, other) = (name(&a.model, one), name(&b.model, two));
            let is_open = !of_b.contains(one) && (!of_a.contains(other) || self.renamed.contains(&two));
            // Outputs are the interface: their names count.
            if is_open && !one.is_empty() && !outputs.contains(&two) && names.insert(one) && taken.insert(two)
            {
                found.push((two, one.to_owned()));
            }
        }
        Ok(found)
    }

    /// The pairs of results of nodes that read the same weights, that compute the same from the inputs, or whose operands correspond:
    /// values that are paired or have one name, and constants. Constants that are integers, such as indices and axes, are equal: a
    /// node that is like another one but reads another axis is none of them. So are those that only other constants meet: one of
    /// two models may have folded them.
    fn of_equal_operands(&self, corresponding: CorrespondingValues) -> Vec<(ValueId, ValueId)> {
        let (a, b) = (&self.a.model, &self.b.model);
        let candidates: HashMap<ValueId, ValueId> =
            corresponding.by_structure.into_iter().map(|(one, two)| (two, one)).collect();
        let anchors: HashMap<ValueId, ValueId> =
            corresponding.by_weights.into_iter().map(|(one, two)| (two, one)).collect();
        let forms: HashMap<ValueId, ValueId> =
            corresponding.by_form.into_iter().map(|(one, two)| (two, one)).collect();
        let mut paired: HashMap<ValueId, ValueId> = HashMap::new();
        let given: HashMap<ValueId, &str> =
            self.given.iter().map(|(value, name)| (*value, name.as_str())).collect();
        let fits =
            |paired: &HashMap<ValueId, ValueId>, one: Option<ValueId>, two: Option<ValueId>, varies| {
                let (Some(one), Some(two)) = (one, two) else { return one.is_none() && two.is_none() };
                match (a.constant_tensor(one), b.constant_tensor(two)) {
                    (Some(of_a), Some(of_b)) => {
                        varies && !of_a.elem().is_integer() || of_a.same_meaning(of_b, &NoData)
                    }
                    (None, None) => {
                        let of_a = name(a, one);
                        let has_name = || name(b, two) == of_a && !self.renamed.contains(&two);
                        paired.get(&two) == Some(&one)
                            || !of_a.is_empty() && (given.get(&two) == Some(&of_a) || has_name())
                    }
                    _ => false,
                }
            };
        let graph = b.main_graph();
        let nodes = b.sorted_nodes(graph).unwrap_or_else(|_| b.nodes(graph).collect());
        let mut found = Vec::new();
        for node in nodes {
            let record = b.node(node);
            let varies = record.outputs().iter().flatten().any(|result| self.varying.contains(result));
            for &two in record.outputs().iter().flatten() {
                let are_equal = |one: &ValueId| {
                    let other = a.value(*one).producer().map(|producer| a.node(producer));
                    let fits = |(one, two)| fits(&paired, one, two, varies);
                    other.is_some_and(|other| {
                        other.input_count() == record.input_count()
                            && other.inputs().zip(record.inputs()).all(fits)
                            && (record.input_count() > 0 || fits((Some(*one), Some(two))))
                    })
                };
                let by_structure = || candidates.get(&two).copied().filter(are_equal);
                let by_form = || forms.get(&two).copied();
                let one = anchors.get(&two).copied().or_else(by_structure).or_else(by_form);
                let Some(one) = one else { continue };
                paired.insert(two, one);
                found.push((one, two));
            }
        }
        found
    }
}

/// Names values; another value that has such a name, or an accidental name, gets a new one.
fn give_names(model: &mut Model, pairs: &[(ValueId, String)], renamed: &HashSet<ValueId>) {
    let given: HashSet<ValueId> = pairs.iter().map(|(value, _)| *value).collect();
    let wanted: HashSet<&str> = pairs.iter().map(|(_, name)| name.as_str()).collect();
    let graphs: Vec<_> = model.graphs_in(model.main_graph()).collect();
    let all: Vec<ValueId> = graphs.into_iter().flat_map(|graph| model.definitions(graph)).collect();
    let taken: HashSet<String> = all.iter().map(|&value| name(model, value).to_owned()).collect();
    for &value in all.iter().filter(|value| !given.contains(value)) {
        let old = name(model, value).to_owned();
        if wanted.contains(old.as_str()) || renamed.contains(&value) {
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
            None => "inputs are matched by name: `--map A=B` pairs two; \
                     `onnx edit MODEL --remove-input NAME=FILE -o NEW` gives the second model a constant in its place"
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
