//! Values that are the same in every run: constants, and what nodes compute from constants.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Def, Model, NodeId, ValueId};
use onnx_types::tensor::{DataSource, Tensor, TensorError};

use crate::engine::run_node;
use crate::fault::Failure;
use crate::options::EvalOptions;
use crate::value::Value;

/// Why a value is not a constant, or has no elements that can be computed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotConstant {
    /// The value depends on this value, which differs from run to run: an input, an initializer that callers can override, or
    /// the result of a node that is not deterministic, that contains graphs or that depends on the call of a function.
    Varies {
        /// The value.
        value: ValueId,
        /// Its name, and why it is not constant.
        reason: String,
    },
    /// A node on the way fails.
    Failed(Failure),
    /// The data cannot be read.
    Data(TensorError),
    /// More than [`proof_nodes`](onnx_types::Limits::proof_nodes) nodes compute the value.
    TooManyNodes,
}

impl NotConstant {
    /// The name of the limit that was exceeded, if that is the reason.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Failed(failure) => failure.limit(),
            Self::Data(error) => error.limit(),
            Self::Varies { .. } | Self::TooManyNodes => None,
        }
    }
}

impl fmt::Display for NotConstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Varies { reason, .. } => f.write_str(reason),
            Self::Failed(failure) => failure.fmt(f),
            Self::Data(error) => error.fmt(f),
            Self::TooManyNodes => {
                f.write_str("too many nodes compute the value: raise the limit `proof_nodes` to allow it")
            }
        }
    }
}

impl std::error::Error for NotConstant {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Data(error) => Some(error),
            Self::Varies { .. } | Self::TooManyNodes => None,
        }
    }
}

/// The elements of a value that is the same in every run, in memory: of a constant, or of what deterministic nodes compute from
/// constants, such as `Transpose`, `Cast`, `Reshape` and `DequantizeLinear`.
///
/// An initializer that is an input, too, is not a constant, since callers can override it. Nodes run within the limits of
/// `options`, whose [data source](EvalOptions::data) is read. A patch of `onnx-pass` has queries that also record what an edit
/// relies on.
///
/// ```
/// use onnx_eval::{EvalOptions, constant};
/// use onnx_types::tensor::NoData;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[2] x) => (float[1,2] y) <float[2] w = {1, 2}> {
///    a = Neg (w)
///    shape = Constant <value_ints = [1, 2]> ()
///    b = Reshape (a, shape)
///    y = Add (x, b)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let find = |name| model.find_value(model.main_graph(), name).unwrap();
/// let b = constant(&model, find("b"), &EvalOptions::default())?;
/// assert_eq!((b.dims(), b.to_vec::<f32>(&NoData)?), (&[1, 2][..], vec![-1.0, -2.0]));
/// let error = constant(&model, find("y"), &EvalOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "`x` is an input");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the reason if the elements are not the same in every run or cannot be computed.
pub fn constant(model: &Model, value: ValueId, options: &EvalOptions<'_>) -> Result<Tensor, NotConstant> {
    let mut known: HashMap<ValueId, Tensor, RandomState> = HashMap::default();
    // The nodes whose operands are computed before them, each with a visit before its operands and one after.
    let mut open = vec![(value, false)];
    let mut count = 0_usize;
    while let Some((at, is_ready)) = open.pop() {
        if known.contains_key(&at) {
            continue;
        }
        if let Some(tensor) = model.get_value(at).and_then(|_| model.constant_tensor(at)) {
            known.insert(at, in_memory(tensor, options.data).map_err(NotConstant::Data)?);
            continue;
        }
        let node = computable(model, at, options)?;
        if is_ready {
            let inputs: Vec<Option<Value>> =
                model.node(node).inputs().map(|input| known.get(&input?).cloned().map(Value::from)).collect();
            known.insert(at, run(model, (node, at), &inputs, options)?);
            continue;
        }
        count = count.saturating_add(1);
        if count > options.execution.limits.proof_nodes {
            return Err(NotConstant::TooManyNodes);
        }
        open.push((at, true));
        let inputs: Vec<ValueId> = model.node(node).inputs().flatten().collect();
        // A value that waits for itself is never computed.
        let is_waiting = |input: &ValueId| open.iter().any(|&(other, is_ready)| is_ready && other == *input);
        if inputs.iter().any(is_waiting) {
            return Err(varies(model, at, "depends on itself"));
        }
        open.extend(inputs.into_iter().map(|input| (input, false)));
    }
    known.remove(&value).ok_or_else(|| varies(model, value, "is not computed"))
}

/// The node that makes a value, if its result is a function of its operands.
fn computable(model: &Model, value: ValueId, options: &EvalOptions<'_>) -> Result<NodeId, NotConstant> {
    let Some(record) = model.get_value(value) else { return Err(varies(model, value, "is gone")) };
    let node = match record.def() {
        Def::Output { node, .. } => node,
        Def::Input { .. } if record.initializer().is_some() => {
            return Err(varies(model, value, "is an input with a default, which callers can override"));
        }
        Def::Input { .. } => return Err(varies(model, value, "is an input")),
        Def::Initializer(_) => return Err(varies(model, value, "is a sparse tensor")),
        Def::Unresolved(_) => return Err(varies(model, value, "is not defined")),
    };
    let record = model.node(node);
    let is_of_call =
        record.attributes().iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)));
    if record.nested_graphs().next().is_some() || is_of_call {
        return Err(varies(model, value, "is computed by a node with graphs or references"));
    }
    if !model.is_deterministic(node, options.registry) {
        return Err(varies(model, value, "is computed by a node that is not known to be deterministic"));
    }
    Ok(node)
}

/// One output of a node on values.
fn run(
    model: &Model,
    (node, output): (NodeId, ValueId),
    inputs: &[Option<Value>],
    options: &EvalOptions<'_>,
) -> Result<Tensor, NotConstant> {
    let results = run_node(model, node, inputs, options).map_err(NotConstant::Failed)?;
    let index = model.node(node).outputs().iter().position(|&made| made == Some(output));
    let result = index.and_then(|index| results.into_iter().nth(index)).flatten();
    let tensor = result.as_ref().and_then(Value::tensor).map(|tensor| Tensor::clone(tensor));
    tensor.ok_or_else(|| varies(model, output, "is not a tensor"))
}

fn in_memory(tensor: &Tensor, data: &dyn DataSource) -> Result<Tensor, TensorError> {
    if !tensor.is_external() {
        return Ok(tensor.clone());
    }
    let bytes = tensor.bytes(data)?;
    Ok(Tensor::from_raw(tensor.elem(), tensor.dims().iter().copied(), bytes)?)
}

fn varies(model: &Model, value: ValueId, why: &str) -> NotConstant {
    let name = model.get_value(value).map(|record| model.str(record.name())).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| value.to_string(), |name| Quoted(name).to_string());
    NotConstant::Varies { value, reason: format!("{name} {why}") }
}
