//! Changes types, attributes and constants as the slots say, and adds the casts between them.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{
    AttrValue, Attribute, Constant, Def, EditError, GraphId, Model, Node, NodeId, Position, Use, User,
    ValueId,
};
use onnx_schema::{AttrKind, attr, domain, op};
use onnx_types::tensor::{Tensor, TensorError};
use onnx_types::{ElemType, Stopped, Watch};

use super::change::Change;
use super::functions::Types;
use super::want::TypeAttribute;
use crate::edits::add_constant_in;
use crate::types::{inner_elem, is_dense, with_elem};
use crate::weights::{Reading, ReadingError};

/// What is chosen for the slots of a model, in terms of the model.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Each value with whether it is made narrow, and the uses with the other type.
    pub(crate) values: Vec<(ValueId, bool, Vec<Use>)>,
    /// Each constant with its uses that are narrow, and whether these are all.
    pub(crate) constants: Vec<(ValueId, Vec<Use>, bool)>,
    pub(crate) attributes: Vec<(NodeId, TypeAttribute)>,
}

/// Values between two checks of the interrupt.
const WATCHED_VALUES: u64 = 256;

/// A failure of an edit.
#[derive(Debug)]
pub(crate) enum ApplyError {
    Edit(EditError),
    /// The tensor of this name cannot be read.
    Tensor(String, TensorError),
    Stopped(Stopped),
}

impl ApplyError {
    fn of(tensor: &str, error: ReadingError) -> Self {
        match error {
            ReadingError::Tensor(error) => Self::Tensor(tensor.to_owned(), error),
            ReadingError::Stopped(stopped) => Self::Stopped(stopped),
        }
    }
}

impl From<Stopped> for ApplyError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<EditError> for ApplyError {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

/// Edits the model. Returns the numbers of casts that it adds, and that it removes.
pub(crate) fn apply(
    model: &mut Model,
    choice: &Choice,
    types: &Types,
    change: Change,
    reading: Reading<'_>,
) -> Result<(usize, usize), ApplyError> {
    for &(node, attribute) in &choice.attributes {
        set_type_attribute(model, node, attribute, change, reading)?;
    }
    let mut watch = Watch::silent(reading.interrupt, WATCHED_VALUES);
    for (value, uses, is_all) in &choice.constants {
        watch.work(1)?;
        round_constant(model, (*value, uses, *is_all), change, reading)?;
    }
    let mut casts = 0;
    for (value, is_narrow, others) in &choice.values {
        watch.work(1)?;
        if !others.is_empty() {
            let (from, to) = match is_narrow {
                true => (change.to(), change.from()),
                false => (change.from(), change.to()),
            };
            casts += usize::from(cast(model, *value, others, types, (from, to))?);
        }
        if *is_narrow {
            retype(model, *value, change);
            if let Some(default) = model.value(*value).initializer().cloned() {
                let graph = model.graph_of(*value);
                let rounded = rounded(model, *value, &default, change, reading)?;
                model.set_initializer(graph, *value, Some(Arc::new(Constant::Dense(rounded))));
            }
        }
    }
    watch.check()?;
    let removed = remove_idle_casts(model, choice, types, change, &mut watch)?;
    Ok((casts, removed))
}

/// Declares other elements for a value, wherever its type is declared.
fn retype(model: &mut Model, value: ValueId, change: Change) {
    if let Some(ty) = model.ty(value).filter(|ty| inner_elem(ty) == Some(change.from())) {
        let ty = with_elem(ty, change.to());
        model.set_type(value, Some(ty));
    }
    // An output of the graph, or a second entry for the value, would still declare the old type.
    model.change_own_types(value, |ty| {
        (inner_elem(ty) == Some(change.from())).then(|| with_elem(ty, change.to()))
    });
}

/// Adds a cast of a value, for these uses.
fn cast(
    model: &mut Model,
    value: ValueId,
    uses: &[Use],
    types: &Types,
    (from, to): (ElemType, ElemType),
) -> Result<bool, EditError> {
    let wanted: HashSet<Use, RandomState> = uses.iter().copied().collect();
    let at = match model.value(value).def() {
        Def::Output { node, .. } => Position::After(node),
        Def::Input { graph, .. } | Def::Initializer(graph) => Position::Start(graph),
        Def::Unresolved(_) => return Ok(false),
    };
    let main = model.main_graph();
    let is_output = |at: &Use| matches!(at.user, User::Graph(graph) if is_known(model, graph, main));
    let takes_name = uses.iter().any(is_output);
    // The new name states the type of the value that has it: of the first one, if the result of the cast takes its name.
    let elem = if takes_name { from } else { to };
    let name = format!("{}_{}", model.str(model.value(value).name()), elem.name());
    let name = model.unused_name(&name);
    let name = model.str(name).to_owned();
    let code = cast_code(model, model.graph_of(value), to);
    let mut build = model.build_at(at);
    let new = build.op(op::CAST, [value]).attr(attr::TO, code).output_named(&name)?;
    let ty = model.ty(value).or_else(|| types.get(&value)).filter(|ty| is_dense(ty));
    let own = model.ty(value).is_some() || takes_name;
    if let Some(ty) = ty.filter(|_| own).map(|ty| with_elem(ty, to)) {
        model.set_type(new, Some(ty));
    }
    if takes_name {
        model.take_name(new, value);
    }
    redirect(model, value, new, &wanted);
    Ok(true)
}

/// Lets uses of a value use another one. An output of a graph would keep the type that the first one declares.
fn redirect(model: &mut Model, from: ValueId, to: ValueId, wanted: &HashSet<Use, RandomState>) {
    let declared = model.value(from).shared_ty().cloned();
    let new = model.value(to).shared_ty().cloned();
    model.set_type(from, new);
    model.replace_uses_where(from, to, |_, at| wanted.contains(&at));
    model.set_type(from, declared);
}

/// The attribute `to` of a cast in a graph: the name of the type in old versions.
pub(crate) fn cast_code(model: &Model, graph: GraphId, to: ElemType) -> AttrValue {
    let version = model.versions_in(graph).get(domain::ONNX).unwrap_or(1);
    let schema = onnx_schema::lookup(domain::ONNX, op::CAST, version);
    match schema.and_then(|schema| schema.attribute(attr::TO)).map(|formal| formal.kind) {
        Some(AttrKind::String) => AttrValue::from(to.proto_name()),
        _ => AttrValue::Int(i64::from(to.code())),
    }
}

/// Whether callers know the outputs of a graph by their names.
fn is_known(model: &Model, graph: GraphId, main: GraphId) -> bool {
    graph == main || matches!(model.graph(graph).owner(), onnx_ir::Owner::Function(_))
}

fn set_type_attribute(
    model: &mut Model,
    node: NodeId,
    attribute: TypeAttribute,
    change: Change,
    reading: Reading<'_>,
) -> Result<(), ApplyError> {
    let elem = change.to();
    let new = match attribute {
        TypeAttribute::Code(name) => Attribute::new(name, AttrValue::Int(i64::from(elem.code()))),
        TypeAttribute::Name(name) => Attribute::new(name, AttrValue::from(elem.proto_name())),
        TypeAttribute::Tensor(name) => {
            let given = model.node(node).attribute(name).and_then(Attribute::as_tensor);
            let zero = || Tensor::vector(&[0.0_f32]);
            let tensor = given.map_or_else(zero, |tensor| tensor.as_ref().clone());
            let failed = |error| ApplyError::of("", error);
            Attribute::new(name, AttrValue::from(change.converted(&tensor, reading).map_err(failed)?))
        }
        TypeAttribute::Type(name) => {
            let given = model.node(node).attribute(name).map(Attribute::value).cloned();
            let Some(AttrValue::Type(ty)) = given else { return Ok(()) };
            Attribute::new(name, AttrValue::from(Arc::new(with_elem(&ty, elem))))
        }
    };
    model.set_attribute(node, new)?;
    Ok(())
}

/// The constant of a value, rounded.
fn rounded(
    model: &Model,
    value: ValueId,
    constant: &Constant,
    change: Change,
    reading: Reading<'_>,
) -> Result<Tensor, ApplyError> {
    let name = model.str(model.value(value).name()).to_owned();
    let failed = |error: ReadingError| ApplyError::of(&name, error);
    match constant.dense() {
        Some(tensor) => change.converted(tensor, reading).map_err(failed),
        None => Err(failed(TensorError::Elided.into())),
    }
}

/// Rounds a constant: in place if all its uses are narrow, else as a second constant.
fn round_constant(
    model: &mut Model,
    (value, uses, is_all): (ValueId, &[Use], bool),
    change: Change,
    reading: Reading<'_>,
) -> Result<(), ApplyError> {
    let name = model.str(model.value(value).name()).to_owned();
    let initializer = model.value(value).initializer().and_then(|constant| constant.dense().cloned());
    let Some(tensor) = initializer.or_else(|| of_node(model, value)) else {
        return Ok(());
    };
    let new = change.converted(&tensor, reading).map_err(|error| ApplyError::of(&name, error))?;
    let producer = model.value(value).producer();
    let graph = model.graph_of(value);
    match (is_all, producer) {
        (true, None) => {
            model.set_initializer(graph, value, Some(Arc::new(Constant::Dense(new))));
            retype(model, value, change);
        }
        (true, Some(node)) => {
            let others: Vec<_> = model.node(node).attributes().iter().map(Attribute::name).collect();
            others.into_iter().for_each(|name| _ = model.remove_attribute(node, name));
            model.set_attribute(node, Attribute::new(attr::VALUE, AttrValue::from(new)))?;
            retype(model, value, change);
        }
        (false, _) => {
            let main = model.main_graph();
            let is_output = |at: &Use| matches!(at.user, User::Graph(graph) if is_known(model, graph, main));
            let takes_name = uses.iter().any(is_output);
            // The new name states the type of the constant that has it: of the first one, if the second one takes its name.
            let elem = if takes_name { change.from() } else { change.to() };
            let name = format!("{name}_{}", elem.name());
            let ty = model.ty(value).map(|ty| with_elem(ty, change.to()));
            let other = match producer {
                Some(node) => {
                    let name = model.unused_name(&name);
                    let name = model.str(name).to_owned();
                    let mut build = model.build_at(Position::After(node));
                    build.op(op::CONSTANT, []).attr(attr::VALUE, new).output_named(&name)?
                }
                None => add_constant_in(model, graph, &name, new)?,
            };
            if let Some(ty) = ty {
                model.set_type(other, Some(ty));
            }
            if takes_name {
                model.take_name(other, value);
            }
            let wanted: HashSet<Use, RandomState> = uses.iter().copied().collect();
            redirect(model, value, other, &wanted);
        }
    }
    Ok(())
}

/// The tensor of a `Constant` node in any of its forms.
fn of_node(model: &Model, value: ValueId) -> Option<Tensor> {
    model.node(model.value(value).producer()?).constant_tensor()
}

/// Removes casts of the model that now have the type that they make, where nothing else would have to change. Returns how many.
fn remove_idle_casts(
    model: &mut Model,
    choice: &Choice,
    types: &Types,
    change: Change,
    watch: &mut Watch,
) -> Result<usize, ApplyError> {
    let mut removed = 0;
    let changed: HashSet<ValueId, RandomState> =
        choice.values.iter().filter(|(_, is_changed, _)| *is_changed).map(|&(value, ..)| value).collect();
    let has_type = |value: ValueId| {
        changed.contains(&value) || types.get(&value).and_then(inner_elem) == Some(change.to())
    };
    let casts: Vec<NodeId> = model.all_graphs().flat_map(|graph| model.nodes(graph)).collect();
    for node in casts {
        watch.work(1)?;
        let record = model.node(node);
        let (Some(operand), Some(value)) = (record.input(0), record.output(0)) else { continue };
        // The result of a cast that was added has the type that the cast makes.
        let added = model.value(operand).producer().filter(|_| !types.contains_key(&operand));
        let added = added.map(|maker| model.node(maker)).filter(|maker| maker.is(op::CAST));
        if !record.is(op::CAST)
            || !(added.is_some() || changed.contains(&operand) || changed.contains(&value))
        {
            continue;
        }
        let code = cast_code(model, model.graph_of(value), change.to());
        let makes = |record: &Node| record.attribute(attr::TO).is_some_and(|to| *to.value() == code);
        let has_type = added.is_some_and(makes) || has_type(operand);
        let is_idle = makes(record) && has_type && model.graph_of(operand) == model.graph_of(value);
        if is_idle && model.can_replace(value, operand) {
            model.replace_value(value, operand);
            model.erase_node(node)?;
            removed += 1;
            if model.is_graph_output(operand) {
                // An output declares its type itself.
                let graph = model.graph_of(operand);
                model.retain_value_info(graph, |entry| entry.value() != operand);
            }
        }
    }
    Ok(removed)
}
