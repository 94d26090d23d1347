//! An equivalence under an implementation that rounds differently, so that an *exact* claim is compared under more than one.
//!
//! The standard leaves open in which order some operators accumulate, and how some functions are approximated. Such an
//! operator counts as an unknown function of its attributes and the bits of its operands. Its results are therefore
//! multiplied by a factor close to 1 that depends on just these: equal calls still have equal results.

use std::hash::Hasher;

use onnx_eval::{Cx, EvalPack, Outcome};
use onnx_ir::{AttrValue, Model, NewNode, NodeId, OpsetImport, Position, User, ValueId};
use onnx_schema::{Pack, attr, op};
use onnx_types::tensor::NoData;
use onnx_types::{ElemClass, ElemType, Symbol};

use crate::equivalence::{DOMAIN, Equivalence};

/// The operator that changes a result: its first operand is the result, the others are the operands of the node.
const DISTURB: &str = "Disturb";

/// Operators of the default domain with an open order of accumulation or approximation.
const OPEN: &[Symbol] = &[
    op::MAT_MUL,
    op::GEMM,
    op::CONV,
    op::CONV_TRANSPOSE,
    op::EINSUM,
    op::REDUCE_SUM,
    op::REDUCE_MEAN,
    op::REDUCE_PROD,
    op::REDUCE_L1,
    op::REDUCE_L2,
    op::REDUCE_LOG_SUM,
    op::REDUCE_LOG_SUM_EXP,
    op::REDUCE_SUM_SQUARE,
    op::SOFTMAX,
    op::LOG_SOFTMAX,
    op::LAYER_NORMALIZATION,
    op::GROUP_NORMALIZATION,
    op::INSTANCE_NORMALIZATION,
    op::BATCH_NORMALIZATION,
    op::AVERAGE_POOL,
    op::GLOBAL_AVERAGE_POOL,
    op::EXP,
    op::LOG,
    op::ERF,
    op::TANH,
    op::SIGMOID,
    op::SOFTPLUS,
    op::GELU,
    op::ELU,
    op::SELU,
    op::MISH,
    op::POW,
    op::SIN,
    op::COS,
    op::TAN,
];

/// The equivalence with all results of open operators changed; `None` if there are none.
pub(crate) fn disturb(eq: &Equivalence) -> Option<Equivalence> {
    let mut eq = eq.clone();
    let model = &mut eq.model;
    let graphs: Vec<_> = model.all_graphs().collect();
    let nodes: Vec<NodeId> =
        graphs.iter().flat_map(|&graph| model.nodes(graph).collect::<Vec<_>>()).collect();
    let mut has_changed = false;
    for node in nodes {
        let record = model.node(node);
        if !record.domain().is_empty() || !OPEN.contains(&record.op()) {
            continue;
        }
        let Some(output) = record.output(0) else { continue };
        insert(model, node, output)?;
        has_changed = true;
    }
    let domain = model.intern(DOMAIN);
    for function in model.functions().to_vec() {
        let imports = &mut model.function_mut(function).opset_imports;
        if !imports.iter().any(|import| import.domain() == domain) {
            imports.push(OpsetImport::new(domain, 1));
        }
    }
    has_changed.then_some(eq)
}

/// Puts the operator that changes the result after a node.
fn insert(model: &mut Model, node: NodeId, output: ValueId) -> Option<()> {
    let key = key(model, node)?;
    let [domain, name] = [DOMAIN, DISTURB].map(|text| model.intern(text));
    let changed = model.new_value(Symbol::EMPTY);
    let operands: Vec<ValueId> = model.node(node).inputs().flatten().collect();
    let new = NewNode { domain, ..NewNode::new(name) }
        .inputs(std::iter::once(output).chain(operands))
        .outputs([changed])
        .attribute(onnx_ir::Attribute::new(attr::VALUE, key));
    let inserted = model.add_node(Position::After(node), new).ok()?;
    model.replace_uses_where(output, changed, |_, at| at.user != User::Node(inserted));
    Some(())
}

/// A number that nodes of one operator with the same attributes share, defaults included.
fn key(model: &mut Model, node: NodeId) -> Option<i64> {
    let record = model.node(node);
    let attributes = record.attributes().to_vec();
    if attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_))) {
        return None;
    }
    // The hash of a node without operands is that of its operator and attributes.
    let bare = NewNode { attributes, ..NewNode::new(record.op()) };
    let bare = model.add_node(Position::After(node), bare).ok()?;
    let mut state = Fold(1);
    model.hash_meaning(bare, &NoData, &mut state);
    model.erase_node(bare).ok()?;
    Some(state.finish().cast_signed())
}

/// The kernel.
pub(crate) fn pack() -> Pack {
    Pack::new().with_kernel(DOMAIN, DISTURB, run)
}

fn run(cx: &mut Cx<'_, '_>) -> Outcome {
    let result = cx.tensor(0)?;
    if result.elem.class() != ElemClass::Float {
        return cx.put_value(0, result.tensor);
    }
    let mut state = Fold(cx.node().int(attr::VALUE).unwrap_or(0).cast_unsigned());
    for index in 1..cx.input_count() {
        let operand = cx.tensor(index)?;
        operand.tensor.hash_meaning(&NoData, &mut state);
    }
    let mut rng = crate::sample::Rng::new(state.finish());
    // Large enough to remain visible in floats of 16 bits.
    let mut factor = || if rng.below(2) == 0 { 1.0 + 1.0 / 64.0 } else { 1.0 - 1.0 / 64.0 };
    let dims = result.dims.clone();
    if result.elem == ElemType::Double {
        let elements = cx.read_f64(&result)?.iter().map(|element| element * factor()).collect();
        return cx.put::<f64>(0, result.elem, &dims, elements);
    }
    let elements: Vec<f32> =
        cx.read::<f32>(&result)?.iter().map(|element| element * factor() as f32).collect();
    cx.put::<f32>(0, result.elem, &dims, elements)
}

/// A hash that depends on nothing but the bytes.
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_operators_are_operators() {
        for &op in OPEN {
            assert!(!onnx_schema::versions(Symbol::EMPTY, op).is_empty(), "{op:?}");
        }
    }
}
