//! Other element types of inputs and outputs.

use onnx_diag::Quoted;
use onnx_ir::{Def, EditError, GraphOutput, Model, Position, Use, User, ValueId};
use onnx_schema::{Schema, attr, domain, op};
use onnx_types::{ElemType, Type};

use crate::edits::raise_ir_version;
use crate::narrow::cast_code;
use crate::types::{is_dense, with_elem};

/// Why the type of an input or output is not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetypeError {
    /// The model has no such input or output.
    #[error("{} is not an input or output of the model", Quoted(.0))]
    NotFound(String),
    /// Its type is not declared, or is not that of a tensor.
    #[error("{} is not declared as a tensor, and only tensors are cast", Quoted(.0))]
    NotTensor(String),
    /// `Cast` does not convert between the types in the version that is imported.
    #[error("`Cast` does not convert {from} to {to} in version {version} of the operator set")]
    Cast {
        /// The type of the operand.
        from: ElemType,
        /// The type of the result.
        to: ElemType,
        /// The version.
        version: i64,
        /// The first version that does.
        needed: Option<i64>,
    },
    /// The input has a default, whose elements are of the old type.
    #[error("{} has a default of the old type", Quoted(.0))]
    Default(String),
    /// An edit failed.
    #[error("the model cannot be edited: {0}")]
    Edit(String),
}

impl From<EditError> for RetypeError {
    fn from(error: EditError) -> Self {
        Self::Edit(error.to_string())
    }
}

/// Gives an input or output of the main graph another element type: behind an input, or in front of an output, there is a `Cast`.
/// An input that only `Cast` nodes use needs none. A value that the model returns as it gets it has the new type as an input and as an
/// output. The IR version is raised to one that has the type. Returns the number of casts that were added.
///
/// ```
/// use onnx_quantize::retype;
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::ElemType;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (int64[N] x) => (float[N] y) { y = Cast <to = 1> (x) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// assert_eq!(retype(&mut model, "x", ElemType::Int32)?, 0);
/// assert_eq!(retype(&mut model, "y", ElemType::Float16)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the model has no such input or output, it is not a tensor, or the types cannot be cast.
pub fn retype(model: &mut Model, name: &str, to: ElemType) -> Result<usize, RetypeError> {
    let graph = model.graph(model.main_graph());
    let is_named = |value: &ValueId| model.str(model.value(*value).name()) == name;
    let input = graph.inputs().iter().copied().find(is_named);
    let output = graph.outputs().iter().map(GraphOutput::value).find(is_named);
    let (value, is_input) = match (input, output) {
        (Some(value), _) => (value, true),
        (None, Some(value)) => (value, false),
        (None, None) => return Err(RetypeError::NotFound(name.to_owned())),
    };
    let ty = model.ty(value).filter(|ty| is_dense(ty)).cloned();
    let ty = ty.ok_or_else(|| RetypeError::NotTensor(name.to_owned()))?;
    if ty.elem() == to {
        return Ok(0);
    }
    if is_input && model.value(value).initializer().is_some() {
        return Err(RetypeError::Default(name.to_owned()));
    }
    let (from, into) = if is_input { (to, ty.elem()) } else { (ty.elem(), to) };
    require_cast(model, from, into)?;
    let new = with_elem(&ty, to);
    let is_cast = |&(node, _): &(_, usize)| model.node(node).is(op::CAST);
    let uses = model.node_uses(value);
    let main = model.main_graph();
    let is_result_of_branch = |at: &Use| matches!(at.user, User::Graph(graph) if graph != main);
    if is_input && uses.iter().all(is_cast) && !model.value(value).uses().iter().any(is_result_of_branch) {
        model.change_own_types(value, |ty| Some(with_elem(ty, new.elem())));
        model.set_type(value, Some(new));
        raise_ir_version(model);
        return Ok(0);
    }
    if is_input {
        cast_input(model, value, (ty, new))?
    } else {
        cast_output(model, value, new)?
    }
    raise_ir_version(model);
    Ok(1)
}

/// Refuses types between which the version of `Cast` in the main graph does not convert.
fn require_cast(model: &Model, from: ElemType, to: ElemType) -> Result<(), RetypeError> {
    let version = model.versions_in(model.main_graph()).get(domain::ONNX).unwrap_or(1);
    let schema = onnx_schema::lookup(domain::ONNX, op::CAST, version);
    let takes = |schema: &&Schema| {
        let input = schema.input_for(0).is_some_and(|formal| schema.types_of(formal).contains_tensor(from));
        input && schema.output_for(0).is_some_and(|formal| schema.types_of(formal).contains_tensor(to))
    };
    if schema.filter(takes).is_some() {
        return Ok(());
    }
    let all = onnx_schema::versions(domain::ONNX, op::CAST);
    let newer = all.iter().filter(takes).map(Schema::since_version).find(|&since| since > version);
    Err(RetypeError::Cast { from, to, version, needed: newer })
}

fn cast_input(model: &mut Model, value: ValueId, (old, new): (Type, Type)) -> Result<(), RetypeError> {
    let name = format!("{}_{}", model.str(model.value(value).name()), old.elem().name());
    let graph = model.main_graph();
    let name = model.unused_name(&name);
    let name = model.str(name).to_owned();
    let code = cast_code(model, graph, old.elem());
    let mut build = model.build_at(Position::Start(graph));

    let cast = build.op(op::CAST, [value]).attr(attr::TO, code).output_named(&name)?;
    let node = model.value(cast).producer();
    model.change_own_types(value, |ty| Some(with_elem(ty, new.elem())));
    model.set_type(value, Some(new));
    model.set_type(cast, Some(old));
    let stays = [node.map(User::Node), Some(User::Graph(graph))];
    model.replace_uses_where(value, cast, |_, at| !stays.contains(&Some(at.user)));
    Ok(())
}

fn cast_output(model: &mut Model, value: ValueId, new: Type) -> Result<(), RetypeError> {
    let graph = model.main_graph();
    let name = format!(
        "{}_{}",
        model.str(model.value(value).name()),
        model.ty(value).map_or("", |ty| ty.elem().name())
    );
    let at = match model.value(value).def() {
        Def::Output { node, .. } => Position::After(node),
        _ => Position::End(graph),
    };
    let name = model.unused_name(&name);
    let name = model.str(name).to_owned();
    let code = cast_code(model, graph, new.elem());
    let mut build = model.build_at(at);

    let cast = build.op(op::CAST, [value]).attr(attr::TO, code).output_named(&name)?;
    model.set_type(cast, Some(new));
    model.take_name(cast, value);
    // An output of a graph would keep the type that the first value declares.
    let (declared, new) = (model.value(value).shared_ty().cloned(), model.value(cast).shared_ty().cloned());
    model.set_type(value, new);
    model.replace_uses_where(value, cast, |_, at: Use| at.user == User::Graph(graph));
    model.set_type(value, declared);
    Ok(())
}
