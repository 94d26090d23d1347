//! Nodes, what they define and what is in their attributes.

use onnx_ir::{AttrValue, Attribute, Callee, Node, NodeId, SparseTensor, ValueId};
use onnx_schema::SchemaRef;
use onnx_types::tensor::Tensor;

use super::Run;
use crate::cx::{AttributeCx, NodeCx, SparseCx, TensorCx, TensorHolder, TensorPlace, TypePlace, ValueCx};
use crate::declaration_cx::{Holder, MetadataList};
use crate::external::Piece;
use crate::features::Feature;
use crate::imports::Imports;
use crate::rules::{attribute, call, node, reference, sparse as sparse_rules, tensor, value};
use crate::sparse::IndexFaults;

impl<'a> Run<'a> {
    /// Everything about a node but its outputs and the graphs nested in it.
    pub(super) fn node(&mut self, id: NodeId, imports: &Imports) {
        let record = self.cx.model.node(id);
        let callee = self.cx.model.callee_in(record, &imports.versions, &self.cx.options.registry);
        let mut cx = NodeCx { cx: &mut self.cx, id, node: record, callee, imports };
        for entry in node::ENTRIES {
            (entry.check)(&mut cx);
        }
        for entry in attribute::NODE_ENTRIES {
            (entry.check)(&mut cx);
        }
        if self.has_functions {
            for entry in call::ENTRIES {
                (entry.check)(&mut cx);
            }
        }
        let signature = cx.signature();
        // The reference does not check the attributes of such a node, nor the graphs in them.
        self.cx.is_unchecked |= matches!(callee, Callee::Experimental);
        self.attributes(id, record, signature);
        self.metadata(MetadataList::Symbols(record.metadata()), Holder::Node(id));
        if !record.device_configurations().is_empty() {
            self.shardings(id, record);
        }
        if !record.overload().is_empty() {
            self.features.uses(Feature::Overload, Holder::Node(id));
        }
        if !record.domain().is_empty() {
            self.features.uses(Feature::NodeDomain, Holder::Node(id));
        }
    }

    /// The attributes of a node.
    pub(super) fn attributes(&mut self, id: NodeId, record: &'a Node, signature: Option<SchemaRef<'a>>) {
        let (schema, declared) = match signature {
            Some(SchemaRef::Standard(schema)) => (Some(schema), None),
            Some(SchemaRef::Declared(schema)) => (None, Some(schema)),
            None => (None, None),
        };
        for attribute in record.attributes() {
            let formal = schema.and_then(|schema| schema.attribute(attribute.name()));
            let mut cx = AttributeCx { cx: &mut self.cx, node: id, attribute, schema, formal, declared };
            for entry in attribute::ENTRIES {
                (entry.check)(&mut cx);
            }
            if let AttrValue::Ref(_) = attribute.value() {
                for entry in reference::ENTRIES {
                    (entry.check)(&mut cx);
                }
            }
            self.contents_of(TensorHolder::Attribute(id, attribute.name()), attribute);
        }
    }

    pub(super) fn outputs(&mut self, node: NodeId) {
        for &output in self.cx.model.node(node).outputs().iter().flatten() {
            self.value(output);
        }
    }

    #[inline]
    pub(super) fn value(&mut self, id: ValueId) {
        let record = self.cx.model.value(id);
        let earlier = self.names.bind(record.name(), id);
        let mut cx = ValueCx { cx: &mut self.cx, id, value: record, earlier };
        for entry in value::ENTRIES {
            (entry.check)(&mut cx);
        }
        self.metadata(MetadataList::Symbols(record.metadata()), Holder::Value(id));
    }

    /// The tensors and types in an attribute.
    pub(super) fn contents_of(&mut self, holder: TensorHolder, attribute: &'a Attribute) {
        let place = TensorPlace::of(holder);
        let at = |index| TensorPlace { element: Some(index), ..place };
        match attribute.value() {
            AttrValue::Tensor(tensor) => self.tensor(tensor, place),
            AttrValue::Tensors(tensors) => {
                tensors.iter().enumerate().for_each(|(index, tensor)| self.tensor(tensor, at(index)));
            }
            AttrValue::SparseTensor(sparse) => self.sparse(sparse, place),
            AttrValue::SparseTensors(tensors) => {
                tensors.iter().enumerate().for_each(|(index, sparse)| self.sparse(sparse, at(index)));
            }
            AttrValue::Type(ty) => self.ty(Some(ty), None, TypePlace::Attribute(holder, None)),
            AttrValue::Types(types) => {
                for (index, ty) in types.iter().enumerate() {
                    self.ty(Some(ty), None, TypePlace::Attribute(holder, Some(index)));
                }
            }
            _ => {}
        }
    }

    pub(super) fn sparse(&mut self, sparse: &'a SparseTensor, place: TensorPlace) {
        for (part, tensor) in [("values", &sparse.values), ("indices", &sparse.indices)] {
            if let Some(tensor) = tensor {
                self.tensor(tensor, TensorPlace { part: Some(part), ..place });
            }
        }
        self.features.uses(Feature::SparseTensor, Holder::Tensor(place));
        let indices = IndexFaults::find(sparse);
        let mut cx = SparseCx { cx: &mut self.cx, sparse, place, indices };
        for entry in sparse_rules::ENTRIES {
            (entry.check)(&mut cx);
        }
    }

    pub(super) fn tensor(&mut self, tensor: &'a Tensor, place: TensorPlace) {
        self.cx.pieces.extend(Piece::of(tensor, place, self.cx.is_unchecked));
        let faults = tensor.faults();
        let mut cx = TensorCx { cx: &mut self.cx, tensor, place, faults: &faults };
        for entry in tensor::ENTRIES {
            (entry.check)(&mut cx);
        }
        self.metadata(MetadataList::Texts(tensor.metadata()), Holder::Tensor(place));
        if let Some(feature) = Feature::of_elem(tensor.elem()) {
            self.features.uses(feature, Holder::Tensor(place));
        }
    }
}
