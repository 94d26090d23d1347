//! Writing what was inferred into the model.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_diag::{Diagnostic, Severity};
use onnx_ir::{GraphId, Model, ValueId};
use onnx_types::{Dim, ElemType, Shape, TensorType, Type, TypeKind};

use crate::naming::Interning;
use crate::result::Inference;
use crate::table::{Key, Table};
use crate::ty::{Dims, MAX_NESTING, Ty};

/// What happens where the model declares a type already.
///
/// With each of them the names that an author gave to sizes stay: none is replaced by the name of a symbol that a run of
/// inference made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MergePolicy {
    /// What is declared stays as it is. Only what it leaves open is filled in: sizes without number and name, shapes,
    /// element types.
    Keep,
    /// As `Keep`, and declared symbols become numbers where the number is known. The reference merges like this.
    #[default]
    Refine,
    /// What was inferred replaces what is declared, contradictions included.
    Override,
    /// As `Refine`, but nothing is written when the model contradicts itself.
    Strict,
}

/// How much [`Inference::apply`] has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Applied {
    /// Values that had no type and have one now.
    pub added: usize,
    /// Values whose type says more, or something else, than before.
    pub changed: usize,
}

/// The model contradicts itself, so that [`MergePolicy::Strict`] has written nothing.
#[derive(Clone, Debug)]
pub struct Contradictions {
    findings: Vec<Diagnostic>,
}

impl Contradictions {
    /// All contradictions that were found.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }
}

impl fmt::Display for Contradictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.findings.len();
        let noun = if count == 1 { "contradiction" } else { "contradictions" };
        write!(f, "inference found {count} {noun}")?;
        self.findings.first().map_or(Ok(()), |first| write!(f, ", first: {}", first.message))
    }
}

impl std::error::Error for Contradictions {}

impl Inference {
    /// Writes the inferred types into the model: to all outputs of nodes of the main graph and of the graphs nested in
    /// it, and to the inputs of nested graphs. Function bodies are not changed, because each call may have different
    /// types.
    ///
    /// Values that get their first type appear in `value_info` of their graph when the model is written; outputs of graphs
    /// carry it themselves. Sizes may be expressions afterwards (`2*N + 1`), which are written as the text of a dimension
    /// variable; an expression whose text would be too long to be read back becomes a symbol. An exact quotient becomes one
    /// that is rounded down, which every reader knows and which is equal wherever the exact one is defined. Symbols that
    /// inference made get names, by which [`display`](Self::display) then prints them. Negative numbers in the places of sizes are
    /// removed: they are unknown.
    ///
    /// # Errors
    ///
    /// With [`MergePolicy::Strict`] when there are findings; the model is as it was then.
    pub fn apply(&mut self, model: &mut Model, policy: MergePolicy) -> Result<Applied, Contradictions> {
        if policy == MergePolicy::Strict && self.findings.has_errors() {
            let errors = self.findings.diagnostics().iter();
            let findings = errors.filter(|found| found.severity == Severity::Error).cloned().collect();
            return Err(Contradictions { findings });
        }
        let Self { table, exprs, named, .. } = self;
        let mut merge = Merge {
            table,
            policy,
            interning: Interning::new(exprs, named, model),
            last: None,
            shared: HashMap::default(),
        };
        let mut applied = Applied { changed: model.forget_negative_dimensions(), ..Applied::default() };
        let main = model.main_graph();
        let graphs: Vec<GraphId> = model.graphs_in(main).collect();
        let mut values: Vec<ValueId> = Vec::new();
        for graph in graphs {
            if graph == main {
                merge.inputs(model, main, &mut applied);
            } else {
                values.extend_from_slice(model.graph(graph).inputs());
            }
            values.extend(
                model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().copied().flatten()),
            );
        }
        for value in values {
            merge.value(model, value, &mut applied);
        }
        Ok(applied)
    }
}

struct Merge<'a> {
    table: &'a Table,
    policy: MergePolicy,
    interning: Interning<'a>,
    /// The type that was written last: a value often has that of the one before it.
    last: Option<(Key, Arc<Type>)>,
    /// The types of tensors that were written: a model has many values and few types.
    shared: HashMap<(ElemType, Dims), Arc<Type>, RandomState>,
}

impl Merge<'_> {
    /// Writes the sizes that the caller chose into the types of the main graph's inputs. What these leave open stays open.
    fn inputs(&mut self, model: &mut Model, graph: GraphId, applied: &mut Applied) {
        if self.policy == MergePolicy::Keep {
            return;
        }
        for value in model.graph(graph).inputs().to_vec() {
            let Some(TypeKind::Tensor(declared)) = model.value(value).ty().map(|ty| &ty.kind) else {
                continue;
            };
            let (Some(declared), Some(known)) = (&declared.shape, self.table.dims(value)) else {
                continue;
            };
            let mut shape = declared.clone();
            for (dim, &known) in shape.dims_mut().iter_mut().zip(known) {
                if matches!((*dim, known), (Dim::Var(_) | Dim::Expr(_), Dim::Known(_))) {
                    *dim = known;
                }
            }
            if shape != *declared
                && let Some(ty) = model.value(value).ty()
            {
                let tensor = TensorType { elem: ty.elem(), shape: Some(shape) };
                let ty = Type { kind: TypeKind::Tensor(tensor), denotation: ty.denotation, source: None };
                model.set_type(value, Some(ty));
                applied.changed = applied.changed.saturating_add(1);
            }
        }
    }

    fn value(&mut self, model: &mut Model, value: ValueId, applied: &mut Applied) {
        let Some(declared) = model.value(value).shared_ty() else {
            if let Some(written) = self.written(model, value) {
                applied.added = applied.added.saturating_add(1);
                model.set_type(value, Some(written));
            }
            return;
        };
        let declared = Arc::clone(declared);
        if let Some(merged) = self.merged(model, &declared, value) {
            applied.changed = applied.changed.saturating_add(1);
            model.set_type(value, Some(merged));
        }
    }

    /// The inferred type as it is written. A tensor of unknown elements is not: other readers refuse it.
    fn written(&mut self, model: &mut Model, value: ValueId) -> Option<Arc<Type>> {
        let key = self.table.key(value);
        if let (Some(key), Some((last, written))) = (key, &self.last)
            && *last == key
        {
            return Some(Arc::clone(written));
        }
        match self.table.ty(value) {
            Ty::Unknown | Ty::Tensor(ElemType::Undefined, _) => None,
            Ty::Tensor(elem, None) => Some(Arc::new(Type::tensor(elem, None))),
            Ty::Tensor(elem, Some(dims)) => {
                let Self { shared, interning, .. } = self;
                let written = shared.entry((elem, dims)).or_insert_with_key(|(elem, dims)| {
                    let dims = dims.iter().map(|&dim| interning.dim(model, dim));
                    Arc::new(Type::tensor(*elem, Some(Shape::new(dims))))
                });
                let written = Arc::clone(written);
                self.last = key.map(|key| (key, Arc::clone(&written)));
                Some(written)
            }
            Ty::Other(ty) => {
                let is_open =
                    matches!(ty.kind, TypeKind::SparseTensor(_)) && ty.elem() == ElemType::Undefined;
                (!is_open).then(|| self.interning.ty(model, &ty).map_or(ty, Arc::new))
            }
        }
    }

    /// What is declared and inferred together; `None` if that is what is declared.
    fn merged(&mut self, model: &mut Model, declared: &Type, value: ValueId) -> Option<Type> {
        let inferred = match (self.table.ty(value), &declared.kind) {
            (Ty::Unknown, _) => return None,
            // Do not allocate if nothing is new, which is the common case.
            (Ty::Tensor(elem, dims), TypeKind::Tensor(tensor)) => {
                let merged = self.merge_tensors(model, tensor, elem, dims.as_deref())?;
                let kind = TypeKind::Tensor(merged);
                return Some(Type { kind, denotation: declared.denotation, source: None });
            }
            (ty, _) => ty.to_type()?,
        };
        let merged = self.merge(model, declared, &inferred, MAX_NESTING);
        (merged != *declared).then_some(merged)
    }

    /// An inferred type in the tables of the model.
    fn interned(&mut self, model: &mut Model, inferred: &Type) -> Type {
        self.interning.ty(model, inferred).unwrap_or_else(|| inferred.clone())
    }

    fn merge(&mut self, model: &mut Model, declared: &Type, inferred: &Type, depth: usize) -> Type {
        use TypeKind as K;
        let Some(depth) = depth.checked_sub(1) else { return declared.clone() };
        let mut inner = |declared: &Option<Box<Type>>, inferred: &Option<Box<Type>>| {
            Some(Box::new(match (declared, inferred) {
                (Some(declared), Some(inferred)) => self.merge(model, declared, inferred, depth),
                (Some(declared), None) => Type::clone(declared),
                (None, Some(inferred)) => self.interned(model, inferred),
                (None, None) => return None,
            }))
        };
        let kind = match (&declared.kind, &inferred.kind) {
            (K::Undefined, _) => self.interned(model, inferred).kind,
            (declared, K::Undefined) => declared.clone(),
            (K::Tensor(old), K::Tensor(new)) => K::Tensor(self.merged_tensor(model, old, new)),
            (K::SparseTensor(old), K::SparseTensor(new)) => {
                K::SparseTensor(self.merged_tensor(model, old, new))
            }
            (K::Sequence(old), K::Sequence(new)) => K::Sequence(inner(old, new)),
            (K::Optional(old), K::Optional(new)) => K::Optional(inner(old, new)),
            (K::Map { key, value }, K::Map { key: other, value: new }) if key == other => {
                K::Map { key: *key, value: inner(value, new) }
            }
            _ if self.policy == MergePolicy::Override => self.interned(model, inferred).kind,
            (declared, _) => declared.clone(),
        };
        Type { kind, denotation: declared.denotation, source: None }
    }

    fn merged_tensor(
        &mut self,
        model: &mut Model,
        declared: &TensorType,
        inferred: &TensorType,
    ) -> TensorType {
        let dims = inferred.shape.as_ref().map(Shape::dims);
        self.merge_tensors(model, declared, inferred.elem, dims).unwrap_or_else(|| declared.clone())
    }

    /// The merged element type and shape; `None` if they are those that are declared.
    fn merge_tensors(
        &mut self,
        model: &mut Model,
        declared: &TensorType,
        elem: ElemType,
        dims: Option<&[Dim]>,
    ) -> Option<TensorType> {
        let wins = self.policy == MergePolicy::Override && elem != ElemType::Undefined;
        let elem = if declared.elem == ElemType::Undefined || wins { elem } else { declared.elem };
        let shape = match (&declared.shape, dims) {
            (_, None) => None,
            (Some(old), Some(new)) if old.rank() == new.len() => {
                let mut merged: Option<Shape> = None;
                for (axis, (&old_dim, &new)) in old.dims().iter().zip(new).enumerate() {
                    let dim = self.merge_dims(model, old_dim, new);
                    if dim != old_dim
                        && let Some(slot) = merged.get_or_insert_with(|| old.clone()).dims_mut().get_mut(axis)
                    {
                        *slot = dim;
                    }
                }
                merged
            }
            (Some(_), Some(_)) if self.policy != MergePolicy::Override => None,
            (old, Some(new)) => {
                let new: Shape = new.iter().map(|&dim| self.interning.dim(model, dim)).collect();
                (old.as_ref() != Some(&new)).then_some(new)
            }
        };
        if shape.is_none() && elem == declared.elem {
            return None;
        }
        Some(TensorType { elem, shape: shape.or_else(|| declared.shape.clone()) })
    }

    fn merge_dims(&mut self, model: &mut Model, declared: Dim, inferred: Dim) -> Dim {
        let made_up = |dim| matches!(dim, Dim::Var(symbol) if symbol.number().is_some());
        match (declared, inferred, self.policy) {
            (declared, Dim::Unknown, _) => declared,
            (Dim::Unknown, inferred, _) => self.interning.dim(model, inferred),
            (Dim::Known(_), Dim::Known(_), MergePolicy::Override) => inferred,
            (Dim::Known(_), _, _) => declared,
            (_, _, MergePolicy::Keep) => declared,
            (_, Dim::Known(_), _) => inferred,
            (_, inferred, MergePolicy::Override) if !made_up(inferred) => self.interning.dim(model, inferred),
            (declared, _, _) => declared,
        }
    }
}
