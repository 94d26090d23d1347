//! The types of values during a conversion.

use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_schema::{Registry, domain};
use onnx_shape_infer::{InferOptions, Inference, Ty, infer};
use onnx_types::{Dim, ElemType, Execution, TypeKind};
use slotmap::SecondaryMap;

use crate::sparse;

/// The types of values: those of inference, and of the values that steps made after it.
#[derive(Default)]
pub(crate) struct Types {
    /// `None` until a step needs types.
    inference: Option<Inference>,
    /// Types that take precedence over those of inference.
    own: SecondaryMap<ValueId, Ty>,
    changed: Changed,
    /// Whether sizes may be taken as positive.
    assumes_positive: bool,
    /// The conditions that steps rely on.
    assumed: Vec<String>,
}

/// The changes by steps since inference.
#[derive(Clone, Default)]
pub(crate) struct Changed {
    /// New values that replaced others, each with the original one.
    stand_for: SecondaryMap<ValueId, ValueId>,
    /// Values whose element type a step sets.
    elems: SecondaryMap<ValueId, ElemType>,
}

impl Types {
    pub(crate) fn new(model: &Model, registry: &Registry, execution: &Execution) -> Self {
        let options = InferOptions::default().with_registry(registry).with_execution(execution.clone());
        let inference = infer(model, &options);
        Self { own: own_types(model, &inference), inference: Some(inference), ..Self::default() }
    }

    /// No types yet; whether sizes may be taken as positive.
    pub(crate) fn assuming(assumes_positive: bool) -> Self {
        Self { assumes_positive, ..Self::default() }
    }

    /// The same assumptions with the types of the model as it is.
    pub(crate) fn renewed(&mut self, model: &Model, registry: &Registry, execution: &Execution) -> Self {
        let (assumes_positive, assumed) = (self.assumes_positive, std::mem::take(&mut self.assumed));
        Self { assumes_positive, assumed, ..Self::new(model, registry, execution) }
    }

    /// The conditions that steps rely on.
    pub(crate) fn assumed(&self) -> &[String] {
        &self.assumed
    }

    pub(crate) const fn assumes_positive(&self) -> bool {
        self.assumes_positive
    }

    /// Notes that a step relies on a size that is positive.
    pub(crate) fn assume_positive(&mut self, model: &Model, size: Dim) {
        let text = self.inference.as_ref().and_then(|inference| inference.text(model, size));
        self.assumed.extend(text.map(|size| format!("1 <= {size}")));
    }

    /// The results of inference, if it ran.
    pub(crate) const fn inference(&self) -> Option<&Inference> {
        self.inference.as_ref()
    }

    /// A saved state of the changes, which can be restored.
    pub(crate) fn changed(&self) -> Changed {
        self.changed.clone()
    }

    pub(crate) fn restore(&mut self, changed: Changed) {
        self.changed = changed;
    }

    /// Gives a value the type that another one had.
    pub(crate) fn stand_for(&mut self, value: ValueId, original: ValueId) {
        let original = self.original(original);
        self.changed.stand_for.insert(value, original);
    }

    pub(crate) fn set_elem(&mut self, value: ValueId, elem: ElemType) {
        self.changed.elems.insert(value, elem);
    }

    /// The value whose inferred type a value has.
    pub(crate) fn original(&self, value: ValueId) -> ValueId {
        self.changed.stand_for.get(value).copied().unwrap_or(value)
    }

    pub(crate) fn elem(&self, value: ValueId) -> Option<ElemType> {
        let known = self.changed.elems.get(value).copied();
        known.or_else(|| match self.own.get(self.original(value)) {
            Some(own) => own.elem(),
            None => self.inference.as_ref()?.elem(self.original(value)),
        })
    }

    pub(crate) fn dims(&self, value: ValueId) -> Option<&[Dim]> {
        match self.own.get(self.original(value)) {
            Some(Ty::Tensor(_, dims)) => dims.as_deref(),
            _ => self.inference.as_ref()?.shape(self.original(value)),
        }
    }

    /// The type, without a shape if a step set the element type.
    pub(crate) fn ty(&self, value: ValueId) -> Ty {
        match self.changed.elems.get(value) {
            Some(&elem) => Ty::Tensor(elem, None),
            None => match self.own.get(self.original(value)) {
                Some(own) => own.clone(),
                None => self
                    .inference
                    .as_ref()
                    .map_or(Ty::Unknown, |inference| inference.ty(self.original(value))),
            },
        }
    }
}

/// The types that inference does not return: those in functions that nothing calls, in training graphs and in graphs of
/// nodes of other domains, as far as the model states them, and the dense ones of the results of `Constant` nodes with sparse values.
fn own_types(model: &Model, inference: &Inference) -> SecondaryMap<ValueId, Ty> {
    let mut own = SecondaryMap::new();
    let mut has_sparse = false;
    for graph in model.all_graphs() {
        for &input in model.graph(graph).inputs() {
            if inference.elem(input).is_none()
                && let Some(ty) = model.ty(input)
            {
                own.insert(input, Ty::from(ty));
            }
        }
        let is_foreign = is_foreign(model, graph);
        for node in model.nodes(graph) {
            if let Some(ty) = of_sparse(model, node) {
                has_sparse = true;
                own.extend(model.node(node).output(0).map(|output| (output, ty)));
            }
            for &output in model.node(node).outputs().iter().flatten() {
                if inference.elem(output).is_none() && !own.contains_key(output) {
                    let declared = model.ty(output).filter(|_| is_foreign).map(Ty::from);
                    let constant = model.node(node).constant_tensor();
                    let constant = constant.map(|tensor| Ty::tensor(tensor.elem(), sizes(tensor.dims())));
                    own.extend(constant.or(declared).map(|ty| (output, ty)));
                }
            }
        }
        for value in model.initializers(graph).filter(|&value| inference.elem(value).is_none()) {
            let ty =
                model.constant_tensor(value).map(|tensor| Ty::tensor(tensor.elem(), sizes(tensor.dims())));
            own.extend(ty.map(|ty| (value, ty)));
        }
    }
    if has_sparse {
        of_sparse_operands(model, inference, &mut own);
    }
    own
}

/// Whether inference visits no graph of this kind: those of training, and those of nodes of other domains.
fn is_foreign(model: &Model, graph: GraphId) -> bool {
    let mut inner = graph;
    while let Some(node) = model.owner_node(inner) {
        let record = model.node(node);
        if record.domain() != domain::ONNX {
            return true;
        }
        inner = record.graph();
    }
    model.info().training.iter().any(|info| [info.initialization, info.algorithm].contains(&Some(inner)))
}

/// The type of a `Constant` with a sparse value.
fn of_sparse(model: &Model, node: NodeId) -> Option<Ty> {
    let sparse = sparse::value(model, node)?;
    Some(Ty::tensor(sparse.values.as_ref()?.elem(), sizes(&sparse.dims)))
}

/// Inference takes the result of such a node to be sparse, and the results of operators that read it.
fn of_sparse_operands(model: &Model, inference: &Inference, own: &mut SecondaryMap<ValueId, Ty>) {
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        for &output in model.node(node).outputs().iter().flatten() {
            if !own.contains_key(output)
                && let Ty::Other(ty) = inference.ty(output)
                && let TypeKind::SparseTensor(tensor) = &ty.kind
            {
                let dims = tensor.shape.as_ref().map(|shape| shape.dims().iter().copied().collect());
                own.insert(output, Ty::Tensor(tensor.elem, dims));
            }
        }
    }
}

fn sizes(dims: &[i64]) -> impl Iterator<Item = Dim> + '_ {
    dims.iter().map(|&size| Dim::Known(size))
}
