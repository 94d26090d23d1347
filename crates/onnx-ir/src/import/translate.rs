//! Names, types and notes of another model, in the tables of this one.

use std::sync::Arc;

use onnx_types::{Dim, Shape, Symbol, TensorType, Type, TypeKind};

use super::Importer;
use crate::extras::{
    Extras, Metadata, MetadataEntry, NodeDeviceConfiguration, ShardSize, Sharding, ValueRef,
};
use crate::model::Model;
use crate::value::OwnInfo;

impl Importer<'_> {
    /// The symbol of `into` for a name of the other model.
    pub fn symbol(&mut self, into: &mut Model, symbol: Symbol) -> Symbol {
        *self.symbols.entry(symbol).or_insert_with(|| into.intern(self.from.str(symbol)))
    }

    /// The symbol of `into` for a name that has no influence on what is computed; empty in an anonymous import.
    pub(super) fn note(&mut self, into: &mut Model, symbol: Symbol) -> Symbol {
        if self.anonymous.is_some() { Symbol::EMPTY } else { self.symbol(into, symbol) }
    }

    /// A dimension of the other model, with its symbols by name. In an anonymous import, only numbers are known.
    pub fn dim(&mut self, into: &mut Model, dim: Dim) -> Dim {
        match dim {
            Dim::Known(_) | Dim::Unknown => dim,
            Dim::Var(_) | Dim::Expr(_) if self.anonymous.is_some() => Dim::Unknown,
            Dim::Var(symbol) => match self.dimensions.get(&symbol) {
                Some(&mapped) => mapped,
                None => Dim::Var(self.symbol(into, symbol)),
            },
            Dim::Expr(_) => self.expression(into, dim),
        }
    }

    fn expression(&self, into: &mut Model, dim: Dim) -> Dim {
        let from = self.from;
        let (exprs, names) = into.exprs_mut();
        let mut mapped: Vec<Dim> = Vec::new();
        let copy = exprs.import(from.exprs(), dim, &mut |symbol| match self.dimensions.get(&symbol) {
            Some(&Dim::Var(new)) => new,
            // All sizes are replaced at once, so that none is replaced twice.
            Some(&size) => {
                mapped.push(size);
                Symbol::unnamed(u32::try_from(mapped.len()).unwrap_or(0))
            }
            None => names.intern(from.str(symbol)),
        });
        if mapped.is_empty() {
            return copy;
        }
        exprs.substitute(copy, &|symbol| {
            let index = usize::try_from(symbol.number()?).ok()?;
            mapped.get(index.checked_sub(1)?).copied()
        })
    }

    /// A type of the other model.
    pub fn ty(&mut self, into: &mut Model, ty: &Type) -> Type {
        let kind = match &ty.kind {
            TypeKind::Undefined => TypeKind::Undefined,
            TypeKind::Tensor(tensor) => TypeKind::Tensor(self.tensor_type(into, tensor)),
            TypeKind::SparseTensor(tensor) => TypeKind::SparseTensor(self.tensor_type(into, tensor)),
            TypeKind::Sequence(elem) => TypeKind::Sequence(self.boxed(into, elem.as_deref())),
            TypeKind::Optional(elem) => TypeKind::Optional(self.boxed(into, elem.as_deref())),
            TypeKind::Map { key, value } => {
                TypeKind::Map { key: *key, value: self.boxed(into, value.as_deref()) }
            }
            TypeKind::Opaque { domain, name } => {
                TypeKind::Opaque { domain: self.symbol(into, *domain), name: self.symbol(into, *name) }
            }
        };
        let denotation = ty.denotation.filter(|_| self.anonymous.is_none());
        let denotation = denotation.map(|denotation| self.symbol(into, denotation));
        Type { denotation, ..Type::new(kind) }
    }

    // Decoders limit how deep types are nested.
    fn boxed(&mut self, into: &mut Model, ty: Option<&Type>) -> Option<Box<Type>> {
        ty.map(|ty| Box::new(self.ty(into, ty)))
    }

    fn tensor_type(&mut self, into: &mut Model, tensor: &TensorType) -> TensorType {
        let shape = tensor.shape.as_ref().map(|shape| self.shape(into, shape));
        TensorType { elem: tensor.elem, shape }
    }

    fn shape(&mut self, into: &mut Model, shape: &Shape) -> Shape {
        let written = |axis: usize, dim: Dim| shape.negative(axis).map_or(dim, Dim::Known);
        let dims = shape.dims().iter().enumerate();
        let mut copy: Shape = dims.map(|(axis, &dim)| written(axis, self.dim(into, dim))).collect();
        if self.anonymous.is_some() {
            return copy;
        }
        for axis in 0..shape.rank() {
            if let Some(denotation) = shape.denotation(axis) {
                copy.set_denotation(axis, Some(self.symbol(into, denotation)));
            }
        }
        copy
    }

    pub(super) fn shared_ty(&mut self, into: &mut Model, ty: Option<&Arc<Type>>) -> Option<Arc<Type>> {
        ty.map(|ty| Arc::new(self.ty(into, ty)))
    }

    pub(super) fn metadata(&mut self, into: &mut Model, metadata: &[MetadataEntry]) -> Metadata {
        let metadata = if self.anonymous.is_some() { &[] } else { metadata };
        let entry =
            |entry: &MetadataEntry| MetadataEntry::new(self.symbol(into, entry.key()), entry.value().clone());
        metadata.iter().map(entry).collect()
    }

    pub(super) fn own_info(&mut self, into: &mut Model, own: &OwnInfo) -> OwnInfo {
        let mut copy = own.clone();
        copy.ty = own.ty.as_ref().map(|ty| Arc::new(self.ty(into, ty)));
        copy.doc = self.symbol(into, own.doc);
        copy.metadata = self.metadata(into, &own.metadata);
        copy
    }

    pub(super) fn extras(&mut self, into: &mut Model, extras: &Extras) -> Extras {
        Extras {
            doc: self.symbol(into, extras.doc),
            metadata: self.metadata(into, &extras.metadata),
            unknown: extras.unknown.clone(),
            forms: extras.forms,
            device_configurations: extras
                .device_configurations
                .iter()
                .map(|configuration| self.device_configuration(into, configuration))
                .collect(),
        }
    }

    fn device_configuration(
        &mut self,
        into: &mut Model,
        configuration: &NodeDeviceConfiguration,
    ) -> NodeDeviceConfiguration {
        let mut copy = configuration.clone();
        copy.configuration = self.symbol(into, configuration.configuration);
        for sharding in &mut copy.shardings {
            self.sharding(into, sharding);
        }
        copy
    }

    fn sharding(&mut self, into: &mut Model, sharding: &mut Sharding) {
        sharding.tensor = self.reference(into, sharding.tensor);
        for piece in sharding.dims.iter_mut().flat_map(|dim| &mut dim.simple) {
            if let ShardSize::Var(symbol) = piece.dim {
                piece.dim = match self.dim(into, Dim::Var(symbol)) {
                    Dim::Known(size) => ShardSize::Known(size),
                    Dim::Var(symbol) => ShardSize::Var(symbol),
                    Dim::Unknown | Dim::Expr(_) => ShardSize::Var(self.symbol(into, symbol)),
                };
            }
        }
    }

    /// The target of a reference in the copy; only the name if the value is not part of the import.
    pub(super) fn reference(&mut self, into: &mut Model, reference: ValueRef) -> ValueRef {
        let name = match reference {
            ValueRef::Value(value) => {
                if let Some(copy) = self.get(value) {
                    return ValueRef::Value(copy);
                }
                self.from.get_value(value).map_or(Symbol::EMPTY, |value| value.name())
            }
            ValueRef::Name(name) => name,
        };
        ValueRef::Name(self.symbol(into, name))
    }
}
