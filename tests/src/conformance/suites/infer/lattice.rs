//! Compares types as what is known about them: equal, finer, coarser, or in conflict.
//!
//! Sizes compare like this; *fresh* is a symbol that inference made up, for a size of which it knows nothing:
//!
//! | reference | here | |
//! |---|---|---|
//! | nothing | anything | equal or finer |
//! | fresh | number, symbol of the author, expression | finer |
//! | fresh | fresh | equal, if the same ones correspond everywhere; coarser if one of the reference is two here |
//! | symbol of the author | number | finer |
//! | symbol of the author | the same | equal |
//! | symbol of the author | fresh, nothing | coarser |
//! | symbol of the author | another symbol, expression | other: needs review |
//! | number | the same | equal |
//! | number | another number | conflict |
//! | number | anything else | coarser |

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use onnx_ir::Model;
use onnx_types::{Dim, ElemType, TensorType, Type, TypeKind};

/// How what we know compares with what the reference knows, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Order {
    /// Both know the same.
    #[default]
    Equal,
    /// We know more.
    Finer,
    /// We know something else, and neither follows from the other.
    Other,
    /// We know less.
    Coarser,
    /// One of us is wrong.
    Conflict,
}

impl Order {
    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Finer => "finer",
            Self::Other => "other",
            Self::Coarser => "coarser",
            Self::Conflict => "conflict",
        }
    }

    /// Whether it needs a fix or a reason.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Other | Self::Coarser | Self::Conflict)
    }
}

/// A comparison of types of two models: ours after inference, and the reference's.
pub struct Comparison<'a> {
    ours: &'a Model,
    theirs: &'a Model,
    /// Returns `true` if a name was in the original model, not created by inference.
    is_given: &'a dyn Fn(&str) -> bool,
    /// Our dimensions for the fresh symbols of the reference.
    partners: BTreeMap<String, Dim>,
    /// Whether the types are those of elements of a sequence. A fresh symbol says nothing there: each element may have
    /// another size.
    of_elements: bool,
}

impl<'a> Comparison<'a> {
    /// A comparison; `is_given` returns `true` for names that were in the model before inference.
    pub fn new(ours: &'a Model, theirs: &'a Model, is_given: &'a dyn Fn(&str) -> bool) -> Self {
        Self { ours, theirs, is_given, partners: BTreeMap::new(), of_elements: false }
    }

    /// Compares what is known about one value.
    pub fn types(&mut self, ours: Option<&Type>, theirs: Option<&Type>) -> Order {
        use TypeKind as K;
        let (ours, theirs) = match (ours.map(|ty| &ty.kind), theirs.map(|ty| &ty.kind)) {
            (None | Some(K::Undefined), None | Some(K::Undefined)) => return Order::Equal,
            (_, None | Some(K::Undefined)) => return Order::Finer,
            (None | Some(K::Undefined), _) => return Order::Coarser,
            (Some(ours), Some(theirs)) => (ours, theirs),
        };
        match (ours, theirs) {
            (K::Tensor(ours), K::Tensor(theirs)) | (K::SparseTensor(ours), K::SparseTensor(theirs)) => {
                self.tensors(ours, theirs)
            }
            (K::Sequence(ours), K::Sequence(theirs)) => {
                let outer = std::mem::replace(&mut self.of_elements, true);
                let order = self.types(ours.as_deref(), theirs.as_deref());
                self.of_elements = outer;
                order
            }
            (K::Optional(ours), K::Optional(theirs)) => self.types(ours.as_deref(), theirs.as_deref()),
            (K::Map { key, value }, K::Map { key: their_key, value: their_value }) if key == their_key => {
                self.types(value.as_deref(), their_value.as_deref())
            }
            (K::Opaque { domain, name }, K::Opaque { domain: their_domain, name: their_name })
                if self.ours.str(*domain) == self.theirs.str(*their_domain)
                    && self.ours.str(*name) == self.theirs.str(*their_name) =>
            {
                Order::Equal
            }
            _ => Order::Conflict,
        }
    }

    fn tensors(&mut self, ours: &TensorType, theirs: &TensorType) -> Order {
        let elem = match (ours.elem, theirs.elem) {
            (ours, theirs) if ours == theirs => Order::Equal,
            (_, ElemType::Undefined) => Order::Finer,
            (ElemType::Undefined, _) => Order::Coarser,
            _ => return Order::Conflict,
        };
        let shape = match (&ours.shape, &theirs.shape) {
            (None, None) => Order::Equal,
            (Some(_), None) => Order::Finer,
            (None, Some(_)) => Order::Coarser,
            (Some(ours), Some(theirs)) if ours.rank() == theirs.rank() => {
                let dims = ours.dims().iter().zip(theirs.dims());
                dims.map(|(&ours, &theirs)| self.dims(ours, theirs)).max().unwrap_or_default()
            }
            _ => Order::Conflict,
        };
        elem.max(shape)
    }

    fn dims(&mut self, ours: Dim, theirs: Dim) -> Order {
        match (ours, theirs) {
            (Dim::Unknown, Dim::Unknown) => Order::Equal,
            (_, Dim::Unknown) => Order::Finer,
            (Dim::Known(ours), Dim::Known(theirs)) if ours == theirs => Order::Equal,
            (Dim::Known(_), Dim::Known(_)) => Order::Conflict,
            (_, Dim::Known(_)) => Order::Coarser,
            (ours, Dim::Var(name)) if !(self.is_given)(self.theirs.str(name)) => {
                let name = self.theirs.str(name).to_owned();
                self.fresh(ours, name)
            }
            (Dim::Known(_), _) => Order::Finer,
            (Dim::Unknown, _) => Order::Coarser,
            (ours, theirs) => {
                if text(self.ours, ours) == text(self.theirs, theirs) {
                    Order::Equal
                } else if self.is_fresh(ours) {
                    Order::Coarser
                } else {
                    Order::Other
                }
            }
        }
    }

    fn fresh(&mut self, ours: Dim, theirs: String) -> Order {
        if ours.is_unknown() {
            return if self.of_elements { Order::Equal } else { Order::Coarser };
        }
        let order = if self.is_fresh(ours) { Order::Equal } else { Order::Finer };
        match self.partners.entry(theirs) {
            Entry::Vacant(entry) => {
                entry.insert(ours);
                order
            }
            Entry::Occupied(entry) if *entry.get() == ours => order,
            // A number for one of them is more than the reference knows, whatever the other is.
            Entry::Occupied(entry) if entry.get().known().is_some() || ours.known().is_some() => Order::Finer,
            Entry::Occupied(_) => Order::Coarser,
        }
    }

    fn is_fresh(&self, dim: Dim) -> bool {
        match dim {
            Dim::Var(symbol) => {
                let name = self.ours.str(symbol);
                name.starts_with("unk_") && !(self.is_given)(name)
            }
            _ => false,
        }
    }

    /// Our type as text, for reports.
    #[must_use]
    pub fn show_ours(&self, ty: Option<&Type>) -> String {
        show(self.ours, ty)
    }

    /// The reference's type as text.
    #[must_use]
    pub fn show_theirs(&self, ty: Option<&Type>) -> String {
        show(self.theirs, ty)
    }
}

/// The text of a dimension in a file.
fn text(model: &Model, dim: Dim) -> String {
    match dim {
        Dim::Var(symbol) => model.str(symbol).to_owned(),
        dim => model.exprs().display(dim, model.names()).to_string(),
    }
}

fn show(model: &Model, ty: Option<&Type>) -> String {
    let Some(ty) = ty else { return "nothing".to_owned() };
    let inner = |name: &str, inner: &Option<Box<Type>>| format!("{name}({})", show(model, inner.as_deref()));
    match &ty.kind {
        TypeKind::Undefined => "nothing".to_owned(),
        TypeKind::Tensor(tensor) => show_tensor(model, tensor),
        TypeKind::SparseTensor(tensor) => format!("sparse({})", show_tensor(model, tensor)),
        TypeKind::Sequence(of) => inner("seq", of),
        TypeKind::Optional(of) => inner("optional", of),
        TypeKind::Map { key, value } => inner(&format!("map {} ", key.name()), value),
        TypeKind::Opaque { name, .. } => format!("opaque {}", model.str(*name)),
    }
}

fn show_tensor(model: &Model, tensor: &TensorType) -> String {
    let elem = if tensor.elem == ElemType::Undefined { "?" } else { tensor.elem.name() };
    let Some(shape) = &tensor.shape else { return elem.to_owned() };
    let dims = shape.dims().iter().map(|&dim| text(model, dim));
    format!("{elem}[{}]", dims.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use onnx_types::Shape;

    use super::*;

    #[test]
    fn sizes_compare_as_the_table_says() {
        let (mut ours, mut theirs) = (Model::new(), Model::new());
        let names = ["N", "M", "unk__0", "unk__1"];
        let [n, m, u, v] = names.map(|name| Dim::Var(ours.intern(name)));
        let [their_n, _, their_u, their_v] = names.map(|name| Dim::Var(theirs.intern(name)));
        let two = Dim::Known(2);
        let check = |ours_dims: &[Dim], their_dims: &[Dim], expected| {
            let is_given = |name: &str| !name.starts_with("unk_");
            let mut comparison = Comparison::new(&ours, &theirs, &is_given);
            let [a, b] = [ours_dims, their_dims]
                .map(|dims| Type::tensor(ElemType::Float, Some(Shape::new(dims.iter().copied()))));
            assert_eq!(comparison.types(Some(&a), Some(&b)), expected, "{ours_dims:?} {their_dims:?}");
        };
        check(&[n, two, u], &[their_n, two, their_u], Order::Equal);
        check(&[n, two], &[Dim::Unknown, their_u], Order::Finer);
        check(&[two], &[their_n], Order::Finer);
        check(&[u, u], &[their_u, their_v], Order::Equal);
        check(&[u, v], &[their_u, their_u], Order::Coarser);
        check(&[u], &[their_n], Order::Coarser);
        check(&[n], &[two], Order::Coarser);
        check(&[m], &[their_n], Order::Other);
        check(&[two], &[Dim::Known(3)], Order::Conflict);
        check(&[two, two], &[two], Order::Conflict);
    }
}
