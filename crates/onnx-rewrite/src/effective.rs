//! Parameters of nodes by name, independent of the form that they have in the version in scope: attributes with their
//! defaults, and operands that other versions have as attributes.

use onnx_ir::{AttrValue, Model, NodeId, ValueId};
use onnx_ops::{Call, derived_default};
use onnx_schema::{AttrDefault, Schema, attr, op};
use onnx_shape_infer::Inference;
use onnx_types::tensor::{DataSource, NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Symbol};

/// Maximum number of `Identity` nodes between a constant and its user.
const MAX_IDENTITIES: usize = 64;

/// The attribute of `BatchNormalization` since version 14.
const TRAINING_MODE: &str = "training_mode";

/// The value of a parameter of a node.
#[derive(Clone, Debug)]
pub(crate) enum Effective {
    /// An attribute, or its default: integers are `int64`, numbers `float`, single ones of rank 0.
    Tensor(Tensor),
    /// An operand.
    Operand(ValueId),
    Absent,
    /// A reference, a graph, or a default that depends on unknown sizes.
    Unknown,
}

/// The model and the facts that a match reads.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) model: &'a Model,
    pub(crate) inference: Option<&'a Inference>,
    pub(crate) data: &'a dyn DataSource,
}

impl Source<'_> {
    /// The attribute of a node, also if the version in scope has it as an operand.
    pub(crate) fn attribute(&self, node: NodeId, call: Option<&Call<'_>>, name: &str) -> Effective {
        let record = self.model.node(node);
        let given = record.attributes().iter().find(|attribute| self.model.str(attribute.name()) == name);
        if let Some(given) = given {
            return given.value().to_tensor().map_or(Effective::Unknown, Effective::Tensor);
        }
        let Some(call) = call else { return Effective::Absent };
        let schema = call.schema();
        if schema.op() == op::BATCH_NORMALIZATION && name == TRAINING_MODE && schema.since_version() < 14 {
            return self.training_mode(node, call);
        }
        let Some(formal) = schema.attributes().iter().find(|formal| formal.text() == name) else {
            let index = schema.inputs().iter().position(|formal| formal.name == name);
            return match index.map(|index| record.input(index)) {
                Some(Some(value)) => Effective::Operand(value),
                _ => Effective::Absent,
            };
        };
        if let Some(default) = formal.default {
            return of_default(default).map_or(Effective::Unknown, Effective::Tensor);
        }
        let shape = |value: ValueId| {
            let dims = self.inference?.shape(value)?;
            Some(dims.iter().map(|dim| dim.known()).collect())
        };
        match onnx_ops::absence(schema.domain(), schema.op(), formal.name) {
            Some(onnx_ops::Absence::Derived(_)) => match derived_default(call, formal.name, &shape) {
                Some(values) if formal.kind == onnx_schema::AttrKind::Int => {
                    Effective::Tensor(Tensor::scalar(values.first().copied().unwrap_or(0)))
                }
                Some(values) => Effective::Tensor(Tensor::vector(&values)),
                None => Effective::Unknown,
            },
            _ => Effective::Absent,
        }
    }

    /// Whether a `BatchNormalization` before version 14 is in training mode: by an attribute up to version 6, and then by its
    /// outputs.
    fn training_mode(&self, node: NodeId, call: &Call<'_>) -> Effective {
        let has_more = self.model.node(node).outputs().iter().skip(1).any(Option::is_some);
        let has_flag = call.schema().attributes().iter().any(|formal| formal.name == attr::IS_TEST);
        let is_test = match self.model.node(node).attribute(attr::IS_TEST).map(onnx_ir::Attribute::value) {
            Some(AttrValue::Int(flag)) => *flag != 0,
            Some(_) => return Effective::Unknown,
            None => !has_flag,
        };
        Effective::Tensor(Tensor::scalar(i64::from(has_more || !is_test)))
    }

    /// The operand at an index of the latest version, also if the version in scope has it as an attribute.
    pub(crate) fn operand(&self, node: NodeId, call: Option<&Call<'_>>, index: usize) -> Effective {
        let record = self.model.node(node);
        if let Some(call) = call
            && let Some(name) = latest_input(call.schema(), index)
        {
            let here = call.schema().inputs().iter().position(|formal| formal.name == name);
            match here {
                Some(here) if here != index => {
                    return record.input(here).map_or(Effective::Absent, Effective::Operand);
                }
                None if call.schema().attributes().iter().any(|formal| formal.text() == name) => {
                    return self.attribute(node, Some(call), name);
                }
                _ => {}
            }
        }
        record.input(index).map_or(Effective::Absent, Effective::Operand)
    }

    /// Returns `true` if an attribute has the value that it has if it is omitted.
    pub(crate) fn is_default(&self, call: Option<&Call<'_>>, name: &str, value: &AttrValue) -> bool {
        let Some(call) = call else { return false };
        let Some(formal) = call.schema().attributes().iter().find(|formal| formal.text() == name) else {
            return false;
        };
        if let Some(default) = formal.default {
            return value.is_default(default);
        }
        let shape = |value: ValueId| {
            let dims = self.inference?.shape(value)?;
            Some(dims.iter().map(|dim| dim.known()).collect())
        };
        let derived = derived_default(call, formal.name, &shape);
        match (value, derived) {
            (AttrValue::Ints(given), Some(derived)) => *given == derived,
            (AttrValue::Int(given), Some(derived)) => derived == [*given],
            _ => false,
        }
    }

    /// The elements of a constant, also through `Identity`.
    pub(crate) fn constant(&self, value: ValueId) -> Option<Tensor> {
        let mut at = value;
        for _ in 0..MAX_IDENTITIES {
            let record = self.model.get_value(at)?;
            if let Some(tensor) = self.model.constant_tensor(at) {
                return Some(tensor.clone());
            }
            let node = self.model.node(record.producer()?);
            if node.is(op::CONSTANT) {
                return node.constant_tensor();
            }
            if !node.is(op::IDENTITY) {
                return None;
            }
            at = node.input(0)?;
        }
        None
    }

    /// Returns `true` if a value may be constant: an initializer, a `Constant`, or one whose elements inference has.
    pub(crate) fn is_constant(&self, value: ValueId) -> bool {
        let is_known = || self.inference.is_some_and(|inference| inference.content(value).is_some());
        self.constant(value).is_some() || is_known()
    }
}

/// The name of an operand in the latest version of an operator; `None` if it is variadic or there is none.
pub(crate) fn latest_input(schema: &Schema, index: usize) -> Option<&'static str> {
    let latest = latest(schema.domain(), schema.op())?;
    let formal = latest.inputs().get(index)?;
    (!formal.is_variadic()).then_some(formal.name)
}

/// The latest version of an operator.
pub(crate) fn latest(domain: Symbol, op: Symbol) -> Option<&'static Schema> {
    onnx_schema::versions(domain, op).iter().max_by_key(|schema| schema.since_version())
}

fn of_default(default: AttrDefault) -> Option<Tensor> {
    Some(match default {
        AttrDefault::Float(value) => Tensor::scalar(value),
        AttrDefault::Int(value) => Tensor::scalar(value),
        AttrDefault::Floats(values) => Tensor::vector(values),
        AttrDefault::Ints(values) => Tensor::vector(values),
        AttrDefault::String(text) => Tensor::from_strings([], [text]).ok()?,
        AttrDefault::Strings(texts) => {
            let count = i64::try_from(texts.len()).unwrap_or(0);
            Tensor::from_strings([count], texts).ok()?
        }
        _ => return None,
    })
}

/// An attribute of a kind with the elements of a tensor.
pub(crate) fn to_value(tensor: &Tensor, kind: onnx_schema::AttrKind) -> Option<AttrValue> {
    use onnx_schema::AttrKind;
    const MAX_ELEMENTS: usize = 4096;
    let count = tensor.element_count()?;
    if count > MAX_ELEMENTS as u64 && kind != AttrKind::Tensor {
        return None;
    }
    let integers = || tensor.get_i64s(&NoData, MAX_ELEMENTS).ok();
    let floats =
        || -> Option<Vec<f32>> { Some(tensor.iter_f64(&NoData).ok()?.map(|number| number as f32).collect()) };
    let one = |count: usize| (count == 1).then_some(());
    Some(match kind {
        AttrKind::Int => AttrValue::Int(integers().filter(|all| one(all.len()).is_some())?.first().copied()?),
        AttrKind::Ints => AttrValue::Ints(integers()?),
        AttrKind::Float => {
            AttrValue::Float(floats().filter(|all| one(all.len()).is_some())?.first().copied()?)
        }
        AttrKind::Floats => AttrValue::Floats(floats()?),
        AttrKind::String => {
            let texts = tensor.string_bytes().ok()?;
            AttrValue::String(texts.first().filter(|_| texts.len() == 1)?.clone())
        }
        AttrKind::Strings => AttrValue::Strings(tensor.string_bytes().ok()?.to_vec()),
        AttrKind::Tensor => AttrValue::from(tensor.clone()),
        _ => return None,
    })
}

/// Returns `true` if two tensors have the same sizes and equal elements; numbers are compared as numbers, integers with all bits.
pub(crate) fn is_equal(a: &Tensor, b: &Tensor) -> bool {
    if a.dims() != b.dims() {
        return false;
    }
    if let (Ok(a), Ok(b)) = (a.string_bytes(), b.string_bytes()) {
        return a == b;
    }
    if let (Ok(a), Ok(b)) = (a.iter_i64(&NoData), b.iter_i64(&NoData)) {
        return a.eq(b);
    }
    // One of them has numbers that no `int64` is.
    if a.elem() == ElemType::Uint64 && b.elem() == ElemType::Uint64 {
        return a.same_meaning(b, &NoData);
    }
    let (Ok(a), Ok(b)) = (a.iter_f64(&NoData), b.iter_f64(&NoData)) else { return false };
    a.eq(b)
}

/// Returns `true` if a constant is a literal: each element is the number, up to the rounding of the element type.
pub(crate) fn is_literal(tensor: &Tensor, literal: &crate::ast::Literal, data: &dyn DataSource) -> bool {
    const MAX_ELEMENTS: u64 = 1 << 16;
    let Some(count) = tensor.element_count().filter(|count| (1..=MAX_ELEMENTS).contains(count)) else {
        return false;
    };
    let is_integral = matches!(tensor.elem().class(), ElemClass::Int | ElemClass::Uint | ElemClass::Bool);
    if let Some(integers) = literal.integers.as_ref().filter(|_| is_integral) {
        let Ok(elements) = tensor.iter_i64(data) else { return false };
        let is_vector = tensor.rank() == 1 && count == integers.len() as u64;
        let first = integers.first().copied().unwrap_or(0);
        return match literal.is_list {
            true => is_vector && elements.eq(integers.iter().copied()),
            false => elements.into_iter().all(|element| element == first),
        };
    }
    let Ok(elements) = tensor.iter_f64(data) else { return false };
    let epsilon = match tensor.elem() {
        ElemType::Double => f64::EPSILON,
        ElemType::Float => f64::from(f32::EPSILON),
        ElemType::Float16 => f64::from(f32::EPSILON) * 8192.0,
        ElemType::Bfloat16 => f64::from(f32::EPSILON) * 65536.0,
        _ => 0.0,
    };
    let is_float = tensor.elem().class() == ElemClass::Float;
    let is_near = |number: f64, wanted: f64| {
        if wanted.is_nan() {
            number.is_nan()
        } else if wanted == 0.0 && is_float {
            number.to_bits() == wanted.to_bits() // -0.0 is another number.
        } else if wanted.is_infinite() || wanted.fract() == 0.0 {
            number == wanted
        } else {
            (number - wanted).abs() <= wanted.abs() * epsilon
        }
    };
    if literal.is_list {
        let is_vector = tensor.rank() == 1 && count == literal.numbers.len() as u64;
        return is_vector && elements.zip(&literal.numbers).all(|(number, &wanted)| is_near(number, wanted));
    }
    let wanted = literal.numbers.first().copied().unwrap_or(0.0);
    elements.into_iter().all(|number| is_near(number, wanted))
}
