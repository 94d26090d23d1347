//! Inputs and outputs of a model: added, removed, reordered, and exchanged with initializers.

use std::sync::Arc;

use onnx_ir::{Constant, Def, Model, User, ValueId};
use onnx_types::{Dim, Type};
use slotmap::SecondaryMap;

use crate::error::ComposeError;
use crate::interface::{self, name};
use crate::sizes::EditOptions;

/// Makes values of the main graph the outputs of the model, in this order. A value without declared type gets the inferred one.
///
/// Nodes that no output needs any more are kept: see [`onnx_ir::Model::erase_unused`].
///
/// # Errors
///
/// Returns an error if a value is not of the main graph or is listed twice, or if the type of a new output is not known. The model
/// is unchanged then.
pub fn set_outputs(
    model: &mut Model,
    outputs: &[ValueId],
    options: &EditOptions<'_>,
) -> Result<(), ComposeError> {
    if outputs.is_empty() {
        let help = "name the outputs that it has instead: `onnx edit --outputs SEL`, or `--add-output SEL`";
        return Err(ComposeError::Advised("a model without outputs computes nothing".to_owned(), None, help));
    }
    check_distinct(model, outputs)?;
    for &value in outputs {
        if matches!(model.value(value).def(), Def::Unresolved(_)) {
            let message = format!("nothing defines `{}`", name(model, value));
            return Err(ComposeError::Refused(message, Some(value)));
        }
    }
    interface::declare(model, outputs, options.registry, &options.execution)?;
    interface::set_outputs(model, model.main_graph(), outputs);
    Ok(())
}

/// Makes values of the main graph the inputs of the model, in this order. Each is an input or an initializer, which becomes the
/// default of the input.
///
/// # Errors
///
/// Returns an error if a value is neither or is listed twice, or if an input that is not listed is used and has no default. The
/// model is unchanged then.
pub fn set_inputs(model: &mut Model, inputs: &[ValueId]) -> Result<(), ComposeError> {
    check_distinct(model, inputs)?;
    let graph = model.main_graph();
    let is_listed: SecondaryMap<ValueId, ()> = inputs.iter().map(|&value| (value, ())).collect();
    for &value in inputs {
        if !matches!(model.value(value).def(), Def::Input { .. } | Def::Initializer(_)) {
            let message = format!("`{}` is neither an input nor an initializer", name(model, value));
            let help = "`onnx extract --inputs SEL` makes inner values the inputs";
            return Err(ComposeError::Advised(message, Some(value), help));
        }
    }
    for &value in model.graph(graph).inputs() {
        let record = model.value(value);
        if !is_listed.contains_key(value) && record.is_used() && record.initializer().is_none() {
            return Err(in_use(model, value));
        }
    }
    for &value in inputs {
        declare_initializer(model, value)?;
    }
    interface::set_inputs(model, graph, inputs)
}

/// Adds an input to the model. If nothing defines the name yet and nodes use it, the input defines it.
///
/// # Errors
///
/// Returns an error if another value has the name, or if the type has no element type.
pub fn add_input(model: &mut Model, input: &str, ty: Type) -> Result<ValueId, ComposeError> {
    let main = model.main_graph();
    if input.is_empty() {
        return Err(ComposeError::refused("an input needs a name"));
    }
    let symbol = model.intern(input);
    let graphs: Vec<_> = model.graphs_in(main).collect();
    let mut undefined = None;
    for &graph in &graphs {
        if let Some(value) = model.definitions(graph).find(|&value| model.value(value).name() == symbol) {
            let message = format!("another value is called `{}`", name(model, value));
            let help = "choose another name, or rename the value: `onnx edit --rename OLD=NEW`; `--to-input SEL` makes an \
                        initializer an input";
            return Err(ComposeError::Advised(message, Some(value), help));
        }
        let used = model.nodes(graph).flat_map(|node| model.node(node).used_values());
        let used = used.chain(model.graph(graph).outputs().iter().map(onnx_ir::GraphOutput::value));
        let is_open = |value: &ValueId| {
            let record = model.value(*value);
            record.name() == symbol && matches!(record.def(), Def::Unresolved(_))
        };
        undefined = undefined.or_else(|| used.into_iter().find(is_open));
    }
    let value = undefined.unwrap_or_else(|| model.new_value_in(main, symbol));
    model.push_graph_input(main, value)?;
    model.set_type(value, Some(ty));
    Ok(value)
}

/// Removes an input of the model. If it is used, its default takes its place, or the given constant.
///
/// # Errors
///
/// Returns an error if the value is not an input of the main graph, if it is used and there is no constant, or if the constant is of
/// another type than the input declares. The model is unchanged then.
pub fn remove_input(
    model: &mut Model,
    input: ValueId,
    constant: Option<Arc<Constant>>,
) -> Result<(), ComposeError> {
    let main = model.main_graph();
    let record = model.get_value(input).ok_or(onnx_ir::EditError::Gone)?;
    let Def::Input { graph, index } = record.def() else {
        return Err(not_an_input(model, input));
    };
    if graph != main {
        return Err(not_an_input(model, input));
    }
    if constant.is_none() && record.initializer().is_none() && record.is_used() {
        return Err(in_use(model, input));
    }
    if let Some(constant) = constant {
        check_type(model, input, &constant)?;
        model.set_initializer(main, input, Some(constant));
    }
    model.remove_graph_input(main, index as usize);
    if matches!(model.value(input).def(), Def::Unresolved(_)) {
        model.erase_value(input)?;
    }
    Ok(())
}

/// Makes an initializer of the main graph an input, at the end. Its elements become the default of the input, if that is kept.
///
/// # Errors
///
/// Returns an error if the value is not an initializer of the main graph or an input already. The model is unchanged then.
pub fn initializer_to_input(
    model: &mut Model,
    value: ValueId,
    keep_default: bool,
) -> Result<(), ComposeError> {
    let main = model.main_graph();
    let def = model.get_value(value).map(onnx_ir::Value::def);
    if def != Some(Def::Initializer(main)) {
        let message = match def {
            Some(_) => {
                format!(
                    "`{}` is not an initializer of the main graph, or an input already",
                    name(model, value)
                )
            }
            None => "the value is gone".to_owned(),
        };
        let help = "`onnx weights list MODEL` lists initializers, `onnx info MODEL --all` inputs";
        return Err(ComposeError::Advised(message, def.map(|_| value), help));
    }
    declare_initializer(model, value)?;
    let mut inputs = model.graph(main).inputs().to_vec();
    inputs.push(value);
    model.set_graph_inputs(main, &inputs)?;
    if !keep_default {
        model.set_initializer(main, value, None);
    }
    Ok(())
}

fn not_an_input(model: &Model, value: ValueId) -> ComposeError {
    let message = format!("`{}` is not an input of the model", name(model, value));
    ComposeError::Advised(message, Some(value), "`onnx info MODEL --all` lists inputs")
}

fn in_use(model: &Model, value: ValueId) -> ComposeError {
    let message =
        format!("the input `{}` is used and has no default: give a constant for it", name(model, value));
    let help = "a tensor takes its place: `onnx edit --remove-input NAME=FILE.npy`";
    ComposeError::Advised(message, Some(value), help)
}

fn check_distinct(model: &Model, values: &[ValueId]) -> Result<(), ComposeError> {
    let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    for &value in values {
        if model.get_value(value).is_none() {
            return Err(onnx_ir::EditError::Gone.into());
        }
        let problem = if model.graph_of(value) != model.main_graph() {
            "is not a value of the main graph"
        } else if seen.insert(value, ()).is_some() {
            "is listed twice"
        } else {
            continue;
        };
        let message = format!("`{}` {problem}", name(model, value));
        let help = "list each input or output once, by values of the main graph: `onnx find MODEL SEL` shows what a selector denotes";
        return Err(ComposeError::Advised(message, Some(value), help));
    }
    Ok(())
}

/// Declares the type of an initializer, if nothing does.
fn declare_initializer(model: &mut Model, value: ValueId) -> Result<(), ComposeError> {
    if model.ty(value).is_some() {
        return Ok(());
    }
    let ty = match model.value(value).initializer().map(|constant| &**constant) {
        Some(Constant::Dense(tensor)) => Type::tensor(tensor.elem(), interface::dims(tensor.dims())),
        Some(Constant::Sparse(sparse)) => {
            let elem = sparse.values.as_ref().map_or(onnx_types::ElemType::Undefined, |values| values.elem());
            Type::sparse_tensor(elem, interface::dims(&sparse.dims))
        }
        None => return Ok(()),
    };
    if ty.elem() == onnx_types::ElemType::Undefined || ty.shape().is_none() {
        return Err(ComposeError::UnknownType(vec![value], vec![name(model, value)]));
    }
    model.set_type(value, Some(ty));
    Ok(())
}

/// Refuses a constant of another type than an input declares.
fn check_type(model: &Model, input: ValueId, constant: &Constant) -> Result<(), ComposeError> {
    let (elem, dims) = match constant {
        Constant::Dense(tensor) => (tensor.elem(), tensor.dims()),
        Constant::Sparse(sparse) => {
            let elem = sparse.values.as_ref().map_or(onnx_types::ElemType::Undefined, |values| values.elem());
            (elem, sparse.dims.as_slice())
        }
    };
    let Some(ty) = model.ty(input) else { return Ok(()) };
    let fits = |shape: &onnx_types::Shape| {
        let same = |(dim, size): (&Dim, &i64)| dim.known().is_none_or(|known| known == *size);
        shape.rank() == dims.len() && shape.dims().iter().zip(dims).all(same)
    };
    let is_elem = ty.elem() == onnx_types::ElemType::Undefined || ty.elem() == elem;
    if is_elem && ty.shape().is_none_or(fits) {
        return Ok(());
    }
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    let declared = match ty.shape() {
        Some(shape) => format!("{} of rank {}", ty.elem(), shape.rank()),
        None => ty.elem().to_string(),
    };
    let (name, dims) = (name(model, input), dims.join(","));
    let message = format!(
        "the constant for `{name}` is {elem}[{dims}], which is of another type than the input declares, {declared}"
    );
    let help = "save the tensor in the type and with the sizes that `onnx info MODEL --all` shows for the input, or change those: \
                `onnx edit --type SEL=TYPE`, `--set DIM=SIZE`";
    Err(ComposeError::Advised(message, Some(input), help))
}

/// Returns `true` if a value is an output of the model.
#[must_use]
pub fn is_output(model: &Model, value: ValueId) -> bool {
    let main = model.main_graph();
    model
        .get_value(value)
        .is_some_and(|record| record.output_uses().iter().any(|at| at.user == User::Graph(main)))
}
