//! Writing what was inferred into the model.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_diag::{Diagnostic, Severity};
use onnx_ir::{GraphId, Model, ValueId};
use onnx_types::expr::Dialect;
use onnx_types::{Dim, ElemType, Shape, Symbol, TensorType, Type, TypeKind};

use crate::result::Inference;
use crate::table::Key;
use crate::ty::{Dims, MAX_NESTING, Ty, with_shapes};

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
    /// Writes the inferred types into the model: to all outputs of nodes of the main graph and of the graphs nested in it,
    /// and to the inputs of nested graphs. Function bodies are left alone, as every call may have other types.
    ///
    /// Values that get their first type appear in `value_info` of their graph when the model is written; outputs of graphs
    /// carry it themselves. Sizes may be expressions afterwards (`2*N + 1`), which are written as the text of a dimension
    /// variable; an expression whose text would be too long to be read back becomes a symbol.
    ///
    /// # Errors
    ///
    /// With [`MergePolicy::Strict`] when there are findings; the model is as it was then.
    pub fn apply(&self, model: &mut Model, policy: MergePolicy) -> Result<Applied, Contradictions> {
        if policy == MergePolicy::Strict && self.findings.has_errors() {
            let errors = self.findings.diagnostics().iter();
            let findings = errors.filter(|found| found.severity == Severity::Error).cloned().collect();
            return Err(Contradictions { findings });
        }
        let mut merge = Merge {
            inference: self,
            policy,
            spelled: HashMap::default(),
            last: None,
            shared: HashMap::default(),
        };
        let mut applied = Applied::default();
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

/// The text with `//` for `/:`, but not in quoted names; nothing where there is none.
fn without_exact_quotients(text: &str) -> Option<String> {
    let parts: Vec<String> = text
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part.replace("/:", "//") } else { part.to_owned() })
        .collect();
    let rounded = parts.join("`");
    (rounded != text).then_some(rounded)
}

struct Merge<'a> {
    inference: &'a Inference,
    policy: MergePolicy,
    /// The expressions that were looked at, and what stands for them.
    spelled: HashMap<Dim, Dim, RandomState>,
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
            let (Some(declared), Some(known)) = (&declared.shape, self.inference.shape(value)) else {
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
        let Some(inferred) = self.inferred(model, value) else { return };
        let Some(declared) = model.value(value).shared_ty() else {
            applied.added = applied.added.saturating_add(1);
            model.set_type(value, Some(inferred));
            return;
        };
        if Arc::ptr_eq(declared, &inferred) {
            return;
        }
        let merged = self.merge(declared, &inferred, MAX_NESTING);
        if merged != **declared {
            applied.changed = applied.changed.saturating_add(1);
            model.set_type(value, Some(merged));
        }
    }

    /// The inferred type as it can be written.
    fn inferred(&mut self, model: &mut Model, value: ValueId) -> Option<Arc<Type>> {
        let Some(key) = self.inference.table.key(value) else {
            return self.written(model, value).map(Arc::new);
        };
        if let Some((last, written)) = &self.last
            && *last == key
        {
            return Some(Arc::clone(written));
        }
        let Ty::Tensor(elem, Some(dims)) = self.inference.ty(value) else { return None };
        let ty = (elem, dims);
        let written = match self.shared.get(&ty) {
            Some(shared) => Arc::clone(shared),
            None => {
                let written = Arc::new(self.written(model, value)?);
                self.shared.insert(ty, Arc::clone(&written));
                written
            }
        };
        self.last = Some((key, Arc::clone(&written)));
        Some(written)
    }

    /// The inferred type as it can be written. A tensor of unknown elements cannot: other readers refuse it.
    fn written(&mut self, model: &mut Model, value: ValueId) -> Option<Type> {
        let ty = self.inference.ty(value).to_type()?;
        if matches!(ty.kind, TypeKind::Tensor(_) | TypeKind::SparseTensor(_))
            && ty.elem() == ElemType::Undefined
            && model.value(value).ty().is_none()
        {
            return None;
        }
        let has_expressions = |shape: &Shape| shape.dims().iter().any(|dim| matches!(dim, Dim::Expr(_)));
        match &ty.kind {
            TypeKind::Tensor(tensor) if !tensor.shape.as_ref().is_some_and(has_expressions) => Some(ty),
            _ => Some(with_shapes(&ty, &mut |shape| {
                let mut shape = shape.clone();
                shape.dims_mut().iter_mut().for_each(|dim| *dim = self.spell(model, *dim));
                Some(shape)
            })),
        }
    }

    /// The dimension as it is written: exact quotients as those that are rounded down, which every reader knows and which
    /// are the same wherever the exact one is defined; a symbol in place of an expression that is too long.
    fn spell(&mut self, model: &mut Model, dim: Dim) -> Dim {
        if !matches!(dim, Dim::Expr(_)) {
            return dim;
        }
        *self.spelled.entry(dim).or_insert_with(|| {
            let Some(text) = model.exprs().text(dim, model.names(), Dialect::Python) else {
                return Dim::Var(model.names_mut().fresh("unk_"));
            };
            let Some(rounded) = without_exact_quotients(&text) else { return dim };
            let (exprs, names) = model.exprs_mut();
            match exprs.parse(names, &rounded) {
                Dim::Unknown => dim,
                rounded => rounded,
            }
        })
    }

    fn merge(&self, declared: &Type, inferred: &Type, depth: usize) -> Type {
        use TypeKind as K;
        let Some(depth) = depth.checked_sub(1) else { return declared.clone() };
        let inner = |declared: &Option<Box<Type>>, inferred: &Option<Box<Type>>| match (declared, inferred) {
            (Some(declared), Some(inferred)) => Some(Box::new(self.merge(declared, inferred, depth))),
            (declared, inferred) => declared.as_ref().or(inferred.as_ref()).cloned(),
        };
        let kind = match (&declared.kind, &inferred.kind) {
            (K::Undefined, inferred) => inferred.clone(),
            (declared, K::Undefined) => declared.clone(),
            (K::Tensor(old), K::Tensor(new)) => K::Tensor(self.merge_tensors(old, new)),
            (K::SparseTensor(old), K::SparseTensor(new)) => K::SparseTensor(self.merge_tensors(old, new)),
            (K::Sequence(old), K::Sequence(new)) => K::Sequence(inner(old, new)),
            (K::Optional(old), K::Optional(new)) => K::Optional(inner(old, new)),
            (K::Map { key, value }, K::Map { key: other, value: new }) if key == other => {
                K::Map { key: *key, value: inner(value, new) }
            }
            (_, inferred) if self.policy == MergePolicy::Override => inferred.clone(),
            (declared, _) => declared.clone(),
        };
        Type { kind, denotation: declared.denotation, source: None }
    }

    fn merge_tensors(&self, declared: &TensorType, inferred: &TensorType) -> TensorType {
        let wins = self.policy == MergePolicy::Override && inferred.elem != ElemType::Undefined;
        let elem = if declared.elem == ElemType::Undefined || wins { inferred.elem } else { declared.elem };
        let shape = match (&declared.shape, &inferred.shape) {
            (Some(old), Some(new)) if old.rank() == new.rank() => {
                let mut merged = old.clone();
                for (dim, &new) in merged.dims_mut().iter_mut().zip(new.dims()) {
                    *dim = self.merge_dims(*dim, new);
                }
                Some(merged)
            }
            (_, Some(new)) if self.policy == MergePolicy::Override => Some(new.clone()),
            (declared, inferred) => declared.as_ref().or(inferred.as_ref()).cloned(),
        };
        TensorType { elem, shape }
    }

    fn merge_dims(&self, declared: Dim, inferred: Dim) -> Dim {
        let made_up = |dim| matches!(dim, Dim::Var(symbol) if self.inference.is_fresh(symbol));
        match (declared, inferred, self.policy) {
            (declared, Dim::Unknown, _) => declared,
            (Dim::Unknown, inferred, _) => inferred,
            (Dim::Known(_), Dim::Known(_), MergePolicy::Override) => inferred,
            (Dim::Known(_), _, _) => declared,
            (_, _, MergePolicy::Keep) => declared,
            (_, Dim::Known(_), _) => inferred,
            (_, inferred, MergePolicy::Override) if !made_up(inferred) => inferred,
            (declared, _, _) => declared,
        }
    }
}

impl Inference {
    /// Whether this run made a symbol up, for a size that nothing is known about.
    pub(crate) fn is_fresh(&self, symbol: Symbol) -> bool {
        self.fresh.origin(symbol).is_some()
    }
}
