//! Elements and bytes of the weights, from types and dimensions.

use std::collections::BTreeMap;

use onnx_ir::{Model, NodeId, TensorHolder, TensorPart, ValueId};
use onnx_types::tensor::Tensor;
use slotmap::SecondaryMap;

/// Elements and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) elements: u64,
    pub(super) bytes: u64,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.elements = self.elements.saturating_add(other.elements);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The weights of a model by their owners.
pub(super) struct Weights {
    initializers: SecondaryMap<ValueId, Size>,
    attributes: SecondaryMap<NodeId, Size>,
    pub(super) total: Size,
}

impl Weights {
    pub(super) fn of(model: &Model) -> Self {
        let mut all = Self {
            initializers: SecondaryMap::new(),
            attributes: SecondaryMap::new(),
            total: Size::default(),
        };
        model.for_each_tensor(|place, tensor| {
            let size = size(tensor, place.part);
            all.total.add(size);
            match place.holder {
                TensorHolder::Initializer(value) => add(&mut all.initializers, value, size),
                TensorHolder::Attribute(node, _) => add(&mut all.attributes, node, size),
                TensorHolder::Default(..) => {}
            }
        });
        all
    }

    /// The weights that a node reads: initializers, each once, and its attributes.
    pub(super) fn of_node(&self, model: &Model, node: NodeId) -> Size {
        let mut size = self.attributes.get(node).copied().unwrap_or_default();
        let weights = model
            .node(node)
            .inputs()
            .flatten()
            .filter_map(|input| Some((input, self.initializers.get(input)?)));
        let weights: BTreeMap<ValueId, &Size> = weights.collect();
        weights.into_values().for_each(|&weight| size.add(weight));
        size
    }
}

fn add<K: slotmap::Key>(map: &mut SecondaryMap<K, Size>, key: K, size: Size) {
    match map.get_mut(key) {
        Some(known) => known.add(size),
        None => drop(map.insert(key, size)),
    }
}

/// The indices of a sparse tensor take memory, but are not parameters.
fn size(tensor: &Tensor, part: TensorPart) -> Size {
    let elements = tensor.element_count().unwrap_or_default();
    let bytes = tensor.byte_len().unwrap_or_else(|| tensor.payload().resident_bytes());
    Size { elements: if part == TensorPart::SparseIndices { 0 } else { elements }, bytes }
}
