//! Values with equal elements are merged, and lists of sizes are computed by as few nodes as possible.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Def, Model, NodeId, Position, ValueId};
use onnx_ops::ops;
use onnx_schema::{domain, op};
use onnx_shape_infer::{Elem, Inference};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemClass, ElemType};

use super::NAME;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::keys::{KeyMap, KeySet};
use crate::passes::Report;
use crate::patch::Patch;
use crate::query::{Reason, label};

/// Maximum number of nodes between a value and the tensors whose sizes it has, so that the pass takes linear time.
const MAX_NODES: usize = 64;

/// Maximum number of values with equal elements that are remembered: they are in graphs that cannot use each other's
/// values.
const MAX_TWINS: usize = 4;

/// The first version whose `Shape` can return a part of the sizes.
const SHAPE_WITH_RANGE: i64 = 15;

/// The content of a value of integers: the element type, the sizes and the elements.
type Key = (ElemType, Vec<Dim>, Vec<Dim>);

/// The elements of a value, if they are known integers that depend on sizes of the inputs.
fn key(inference: &Inference, value: ValueId) -> Option<Key> {
    let elem = inference.elem(value)?;
    if !matches!(elem.class(), ElemClass::Int | ElemClass::Uint) {
        return None;
    }
    let elements: Vec<Dim> = inference.content(value)?.iter().map(|&element| Elem::dim(element)).collect();
    let is_known = elements.iter().all(|element| !element.is_unknown());
    let depends = elements.iter().any(|element| element.known().is_none());
    (is_known && depends).then(|| (elem, inference.shape(value).unwrap_or_default().to_vec(), elements))
}

/// Replaces values by earlier values with equal elements: each size is computed once.
pub(super) fn merge(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let mut known: HashMap<Key, Vec<ValueId>, RandomState> = HashMap::default();
    let mut cursor = Cursor::all(cx.model());
    while let Some(node) = cx.next(&mut cursor) {
        let outputs: Vec<ValueId> = cx.model().node(node).outputs().iter().flatten().copied().collect();
        for output in outputs {
            let Some(key) = key(cx.inference(), output) else { continue };
            let model = cx.model();
            let twins = known.entry(key).or_default();
            let twin = twins.iter().copied().find(|&twin| is_defined_before(model, twin, node));
            let Some(twin) = twin else {
                if twins.len() < MAX_TWINS {
                    twins.push(output);
                }
                continue;
            };
            if !model.value(output).is_used() || model.is_graph_output(output) {
                continue;
            }
            replace(cx, node, (output, twin), &mut report);
            if cx.model().get_node(node).is_none() {
                break;
            }
        }
    }
    report
}

/// Replaces an output of a node by a value with equal elements.
fn replace(cx: &mut PassCx<'_>, node: NodeId, (output, twin): (ValueId, ValueId), report: &mut Report) {
    let mut patch = cx.patch(NAME, Exactness::Exact);
    patch.source(node);
    match tap_sizes(&mut patch, output).and_then(|()| tap_sizes(&mut patch, twin)) {
        Ok(()) => {
            patch.replace(output, twin);
            report.commit(patch);
        }
        Err(reason) => report.miss(patch.model(), node, &reason),
    }
}

/// Returns `true` if a value is made before a node, where the node sees it.
fn is_defined_before(model: &Model, value: ValueId, node: NodeId) -> bool {
    let Some(record) = model.get_value(value) else { return false };
    let Some(producer) = record.producer() else { return false };
    let ancestor = model.ancestor_in(node, model.node(producer).graph());
    ancestor.is_some_and(|ancestor| model.is_before(producer, ancestor))
}

/// Makes the tensors of whose sizes a value is computed the inputs of the claim, with their sizes as assumptions. A tensor whose
/// elements it is computed from, too, is not one of them: as an input of the claim, it would have any elements.
///
/// # Errors
///
/// Returns the reason if the value is computed from anything else.
pub(in crate::passes) fn tap_sizes(patch: &mut Patch<'_, '_>, value: ValueId) -> Result<(), Reason> {
    let mut measured: Vec<ValueId> = Vec::new();
    let mut seen: KeySet<NodeId> = KeySet::default();
    let result = find_measured(patch.model(), value, &mut measured, &mut seen);
    for value in measured {
        let producer = patch.model().value(value).producer();
        if producer.is_none_or(|producer| !seen.contains_key(producer)) {
            patch.try_shape(value)?;
            patch.tap(value);
        }
    }
    result
}

/// Finds the tensors of whose sizes a value is computed, and the nodes between these and the value.
fn find_measured(
    model: &Model,
    value: ValueId,
    measured: &mut Vec<ValueId>,
    seen: &mut KeySet<NodeId>,
) -> Result<(), Reason> {
    let mut open = vec![value];
    let mut count = 0_usize;
    let mut result = Ok(());
    while let Some(value) = open.pop() {
        let record = model.get_value(value).ok_or("a value is gone")?;
        if record.constant().is_some() {
            continue;
        }
        let Def::Output { node, .. } = record.def() else {
            // The other operands are found, too.
            result = Err(Reason::new(format!("{} is not computed from sizes", label(model, value))));
            continue;
        };
        if seen.insert(node, ()).is_some() {
            continue;
        }
        count = count.saturating_add(1);
        if count > MAX_NODES {
            return Err("it is computed from sizes by too many nodes".into());
        }
        let record = model.node(node);
        if record.nested_graphs().next().is_some() {
            return Err("it is computed by a node with a graph".into());
        }
        if !record.is(op::SHAPE) && !record.is(op::SIZE) {
            open.extend(record.inputs().flatten());
            continue;
        }
        let data = record.input(0).ok_or("an operand is left out")?;
        // Sizes of constants need no tap.
        if model.constant_tensor(data).is_none() {
            measured.push(data);
        }
    }
    result
}

/// A part of a list of sizes.
enum Piece {
    Constant(Vec<i64>),
    /// Sizes of a value, from one axis up to another.
    Sizes {
        value: ValueId,
        begin: usize,
        end: usize,
    },
}

impl Piece {
    const fn value(&self) -> Option<ValueId> {
        match self {
            Self::Constant(_) => None,
            Self::Sizes { value, .. } => Some(*value),
        }
    }
}

/// Replaces lists of sizes by a `Shape` of consecutive sizes of one value, or a `Concat` of several and of constants, where
/// that leaves fewer nodes than there were.
pub(super) fn simplify(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    if cx.model().opset_version(domain::ONNX).is_none_or(|version| version < SHAPE_WITH_RANGE) {
        return report;
    }
    let main = cx.model().main_graph();
    let nodes: Vec<NodeId> = cx.model().nodes(main).collect();
    let mut sources = Sources::of_inputs(cx.model(), cx.inference());
    // Users come first, because this makes the nodes dead whose results only they use.
    for node in nodes.into_iter().rev() {
        let model = cx.model();
        let Some(record) = model.get_node(node) else { continue };
        let [Some(list)] = *record.outputs() else { continue };
        let Some((ElemType::Int64, sizes, elements)) = key(cx.inference(), list) else { continue };
        if sizes.len() != 1 || !model.value(list).is_used() || model.is_graph_output(list) {
            continue;
        }
        let Some(pieces) = sources.pieces(cx, node, &elements) else { continue };
        let made = pieces.iter().filter(|piece| matches!(piece, Piece::Sizes { .. })).count();
        let cost = made.saturating_add(usize::from(pieces.len() > 1));
        let read: Vec<ValueId> = pieces.iter().filter_map(Piece::value).collect();
        if cost >= dying(cx.model(), node, &read) {
            continue;
        }
        let mut patch = cx.patch(NAME, Exactness::Exact);
        patch.source(node);
        match assemble(&mut patch, node, list, &pieces) {
            Ok(()) => report.commit(patch),
            Err(reason) => report.miss(patch.model(), node, &reason),
        }
    }
    report
}

/// Makes a list of its pieces, and replaces another one by it.
fn assemble(patch: &mut Patch<'_, '_>, node: NodeId, list: ValueId, pieces: &[Piece]) -> Result<(), Reason> {
    tap_sizes(patch, list)?;
    let at = Position::Before(node);
    let mut parts = Vec::new();
    for piece in pieces {
        parts.push(match piece {
            Piece::Constant(elements) => {
                let tensor = Tensor::from_slice([elements.len() as i64], elements)?;
                patch.new_constant(at, tensor)?
            }
            &Piece::Sizes { value, begin, end } => {
                let rank = patch.try_rank(value)?;
                patch.tap(value);
                patch.build(at, |build| {
                    let shape = ops::shape(build, value);
                    let shape = if begin > 0 { shape.start(begin as i64) } else { shape };
                    if end < rank { shape.end(end as i64) } else { shape }.output()
                })?
            }
        });
    }
    let new = match *parts.as_slice() {
        [only] => only,
        _ => patch.build(at, |build| ops::concat(build, parts, 0).output())?,
    };
    patch.replace(list, new);
    Ok(())
}

/// The values from which sizes can be read: the first one for each size.
struct Sources(HashMap<Dim, (ValueId, usize), RandomState>);

impl Sources {
    /// The sizes of the inputs of the model, which are available to all nodes.
    fn of_inputs(model: &Model, inference: &Inference) -> Self {
        let mut sources: HashMap<Dim, (ValueId, usize), RandomState> = HashMap::default();
        for &input in model.graph(model.main_graph()).inputs() {
            for (axis, &size) in inference.shape(input).unwrap_or_default().iter().enumerate() {
                if size.known().is_none() && !size.is_unknown() {
                    sources.entry(size).or_insert((input, axis));
                }
            }
        }
        Self(sources)
    }

    /// The value and the axis from which a size can be read before a node.
    fn find(&mut self, cx: &PassCx<'_>, node: NodeId, size: Dim) -> Option<(ValueId, usize)> {
        if let Some(&source) = self.0.get(&size) {
            return Some(source);
        }
        let Dim::Var(symbol) = size else { return None };
        let (value, axis) = cx.inference().origin(symbol)?;
        let is_there = is_defined_before(cx.model(), value, node)
            && cx.inference().shape(value).is_some_and(|sizes| sizes.get(axis) == Some(&size));
        is_there.then_some((value, axis))
    }

    /// The pieces of a list of sizes, as long as possible.
    fn pieces(&mut self, cx: &PassCx<'_>, node: NodeId, elements: &[Dim]) -> Option<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &element in elements {
            let last = pieces.last_mut();
            if let Some(Piece::Sizes { value, end, .. }) = last
                && cx.inference().shape(*value).is_some_and(|sizes| sizes.get(*end) == Some(&element))
            {
                *end = end.saturating_add(1);
                continue;
            }
            match (element, last) {
                (Dim::Known(number), Some(Piece::Constant(numbers))) => numbers.push(number),
                (Dim::Known(number), _) => pieces.push(Piece::Constant(vec![number])),
                (size, _) => {
                    let (value, axis) = self.find(cx, node, size)?;
                    pieces.push(Piece::Sizes { value, begin: axis, end: axis.saturating_add(1) });
                }
            }
        }
        Some(pieces)
    }
}

/// The number of nodes that would be dead without a node, that node included. Producers of values that are read
/// afterwards are not counted.
fn dying(model: &Model, node: NodeId, read: &[ValueId]) -> usize {
    let mut left: KeyMap<ValueId, usize> = KeyMap::default();
    let mut open = vec![node];
    let mut count = 0_usize;
    while let Some(node) = open.pop() {
        count = count.saturating_add(1);
        if count >= MAX_NODES {
            break;
        }
        for input in model.node(node).inputs().flatten().filter(|input| !read.contains(input)) {
            let uses = model.value(input).uses().len();
            let left = left.entry(input).map(|entry| entry.or_insert(uses));
            let Some(left) = left else { continue };
            *left = left.saturating_sub(1);
            let producer = model.value(input).producer();
            let is_only = |producer: &NodeId| model.node(*producer).outputs().iter().flatten().count() == 1;
            if *left == 0 {
                open.extend(producer.filter(is_only));
            }
        }
    }
    count
}
