//! What decides the static levels of a proof, in a form in which claims can be compared before they are models.
//!
//! A model repeats its layers, and so do the edits of a pass: the same rules of the checker and the same inference would run on
//! each of the claims, which differ only in names.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::{AttrValue, Attribute, Callee, NodeId, ValueId};
use onnx_schema::domain;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Symbol, Type, TypeKind};

use crate::collect::{Collected, Region};
use crate::extract::imports;
use crate::keys::KeyMap;

/// The nodes of a side that are compared at most: larger claims are rare, and not repeated.
const MAX_NODES: usize = 32;

/// The elements of a constant that are compared at most.
const MAX_ELEMENTS: u64 = 4096;

/// All that the model of a claim is made of, except names, and the assumptions, which are metadata there. Two claims with equal
/// keys have the same findings and the same inferred types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimKey {
    ir_version: i64,
    /// The operator set of the calls of the sides.
    version: Option<i64>,
    operands: Vec<Operand>,
    sides: [Side; 2],
    /// What is known of the old values.
    results: Vec<Option<TensorKey>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Constant(Tensor),
    Free(TensorKey),
}

/// The type of a tensor. Dimension variables are numbered in the order in which they occur in the claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TensorKey {
    elem: ElemType,
    denotation: Option<Symbol>,
    dims: Option<Vec<Size>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Size {
    Known(i64),
    Var(usize),
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
struct Side {
    versions: Vec<(Symbol, Option<i64>)>,
    nodes: Vec<NodeKey>,
    outputs: Vec<usize>,
}

/// A node. Operands and results are numbers of the values of its side, the operands of the claim first.
#[derive(Clone, Debug, PartialEq)]
struct NodeKey {
    op: Symbol,
    domain: Symbol,
    overload: Symbol,
    attributes: Vec<Attribute>,
    operands: Vec<Option<usize>>,
    results: Vec<Option<usize>>,
}

impl ClaimKey {
    /// The key of a claim; `None` for claims with nested graphs, calls of functions, computed sizes or large constants, which are
    /// not compared.
    pub(crate) fn of(region: &Region<'_>, collected: &Collected) -> Option<Self> {
        let mut variables = Vec::new();
        let operands: Option<Vec<Operand>> = collected
            .inputs
            .iter()
            .enumerate()
            .map(|(index, &input)| operand(region, collected, index, input, &mut variables))
            .collect();
        let [before, after] = [false, true].map(|is_after| side(region, collected, is_after));
        let results = region.pairs.iter().map(|&(old, _)| match (region.known)(old).ty {
            Some(ty) => tensor_key(&ty, false, &mut variables).map(Some),
            None => Some(None),
        });
        let results: Option<Vec<_>> = results.collect();
        Some(Self {
            ir_version: region.model.info().ir_version,
            version: region.model.opset_version(domain::ONNX),
            operands: operands?,
            sides: [before?, after?],
            results: results?,
        })
    }

    /// A hash that equal keys share.
    fn hash(&self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        for operand in &self.operands {
            match operand {
                Operand::Constant(tensor) => tensor.dims().hash(&mut hasher),
                Operand::Free(ty) => ty.hash(&mut hasher),
            }
        }
        for side in &self.sides {
            for node in &side.nodes {
                (node.op, node.domain, &node.operands, &node.results).hash(&mut hasher);
            }
            side.outputs.hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn operand(
    region: &Region<'_>,
    collected: &Collected,
    index: usize,
    value: ValueId,
    variables: &mut Vec<Symbol>,
) -> Option<Operand> {
    if let Some(tensor) = collected.values_of(index, value).find_map(|value| region.constant(value)) {
        let is_small = !tensor.is_external() && tensor.element_count()? <= MAX_ELEMENTS;
        return is_small.then(|| {
            let mut tensor = tensor.clone();
            tensor.set_name("");
            Operand::Constant(tensor)
        });
    }
    let key = match region.model.constant_tensor(value) {
        Some(tensor) => TensorKey {
            elem: tensor.elem(),
            denotation: None,
            dims: Some(tensor.dims().iter().map(|&size| Size::Known(size)).collect()),
        },
        None => {
            let known = (region.known)(value);
            let ty = known.ty.or_else(|| region.model.ty(value).cloned())?;
            tensor_key(&ty, !known.is_assumed, variables)?
        }
    };
    Some(Operand::Free(key))
}

/// The key of the type of a tensor; `None` for other types and computed sizes.
fn tensor_key(ty: &Type, with_dims: bool, variables: &mut Vec<Symbol>) -> Option<TensorKey> {
    let TypeKind::Tensor(tensor) = &ty.kind else { return None };
    let mut size = |dim: Dim| match dim {
        _ if !with_dims => Some(Size::Unknown),
        Dim::Known(size) => Some(Size::Known(size)),
        Dim::Unknown => Some(Size::Unknown),
        Dim::Expr(_) => None,
        Dim::Var(symbol) => {
            let known = variables.iter().position(|&variable| variable == symbol);
            Some(Size::Var(known.unwrap_or_else(|| {
                variables.push(symbol);
                variables.len() - 1
            })))
        }
    };
    let dims = match &tensor.shape {
        Some(shape) => Some(shape.dims().iter().map(|&dim| size(dim)).collect::<Option<Vec<_>>>()?),
        None => None,
    };
    Some(TensorKey { elem: tensor.elem, denotation: ty.denotation, dims })
}

/// A side, with values numbered as [`extract`](crate::extract::extract) copies them.
fn side(region: &Region<'_>, collected: &Collected, is_after: bool) -> Option<Side> {
    let nodes = &collected.sides[usize::from(is_after)];
    if nodes.len() > MAX_NODES {
        return None;
    }
    let mut numbers: KeyMap<ValueId, usize> = KeyMap::default();
    for (index, &input) in collected.inputs.iter().enumerate() {
        for value in collected.values_of(index, input) {
            numbers.insert(value, index);
        }
    }
    let mut next = collected.inputs.len();
    let mut keys = Vec::with_capacity(nodes.len());
    for &node in nodes {
        keys.push(node_key(region, node, is_after, &mut numbers, &mut next)?);
    }
    let output = |&(old, new): &(ValueId, ValueId)| numbers.get(if is_after { new } else { old }).copied();
    Some(Side {
        versions: imports(region, nodes, is_after),
        nodes: keys,
        outputs: region.pairs.iter().map(output).collect::<Option<_>>()?,
    })
}

fn node_key(
    region: &Region<'_>,
    node: NodeId,
    is_after: bool,
    numbers: &mut KeyMap<ValueId, usize>,
    next: &mut usize,
) -> Option<NodeKey> {
    let record = region.model.node(node);
    let is_plain = record.attributes().iter().all(|attribute| is_plain(attribute.value()));
    if !is_plain || !matches!(region.model.callee(node, region.registry), Callee::Standard(_)) {
        return None;
    }
    let number = |value: ValueId| {
        let value = if is_after { region.replacement(value).unwrap_or(value) } else { value };
        numbers.get(value).copied()
    };
    let operands: Option<Vec<_>> = record
        .inputs()
        .map(|input| match input {
            Some(input) => number(input).map(Some),
            None => Some(None),
        })
        .collect();
    let operands = operands?;
    let results = record.outputs().iter().map(|output| {
        let output = (*output)?;
        // A node can make an input of the claim, and another value that is needed on this side only.
        if !numbers.contains_key(output) || region.is_replaced(output) {
            numbers.insert(output, *next);
        }
        *next = next.saturating_add(1);
        numbers.get(output).copied()
    });
    let results = results.collect();
    Some(NodeKey {
        op: record.op(),
        domain: record.written_domain(),
        overload: record.overload(),
        attributes: record.attributes().to_vec(),
        operands,
        results,
    })
}

/// Whether equality of values is equality of what the copies say: not of zeros with different signs, nor of what names graphs, values
/// or attributes elsewhere.
fn is_plain(value: &AttrValue) -> bool {
    let is_plain = |float: &f32| !(*float == 0.0 && float.is_sign_negative());
    match value {
        AttrValue::Int(_) | AttrValue::Ints(_) | AttrValue::String(_) | AttrValue::Strings(_) => true,
        AttrValue::Float(float) => is_plain(float),
        AttrValue::Floats(floats) => floats.iter().all(is_plain),
        AttrValue::Tensor(tensor) => {
            !tensor.is_external() && tensor.element_count().is_some_and(|count| count <= MAX_ELEMENTS)
        }
        _ => false,
    }
}

/// The claims that passed the static levels.
#[derive(Default)]
pub(crate) struct Passed(HashMap<u64, Vec<ClaimKey>, RandomState>);

impl Passed {
    pub(crate) fn contains(&self, key: &ClaimKey) -> bool {
        self.0.get(&key.hash()).is_some_and(|keys| keys.contains(key))
    }

    pub(crate) fn insert(&mut self, key: ClaimKey) {
        self.0.entry(key.hash()).or_default().push(key);
    }
}
