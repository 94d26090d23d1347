//! Nodes.

use onnx_ir::{Node, NodeId, ValueId};

use super::meta::Entries;
use super::ty::is_dotted;
use super::{Printer, Result};
use crate::lexer::{is_identifier, is_type_word};

impl Printer<'_> {
    /// Writes a node without indentation.
    pub(super) fn node(&mut self, id: NodeId) -> Result {
        let model = self.model;
        let node = model.node(id);
        if !node.name().is_empty() {
            self.out.push('[');
            self.name(self.str(node.name()));
            self.out.push_str("] ");
        }
        for (index, output) in node.outputs().iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.operand(*output);
        }
        self.out.push_str(" = ");
        self.operator(node);
        let nested = node.nested_graphs().next().is_some();
        if !nested {
            self.attributes(node.attributes())?;
        }
        self.out.push_str(" (");
        for (index, input) in node.inputs().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.operand(input);
        }
        self.out.push(')');
        if nested {
            self.attributes(node.attributes())?;
        }
        self.node_meta(node);
        Ok(())
    }

    #[inline]
    fn operand(&mut self, value: Option<ValueId>) {
        match value {
            None => self.out.push_str("\"\""),
            Some(value) => self.value_name(value),
        }
    }

    /// Writes the name that a value is written with.
    #[inline]
    pub(super) fn value_name(&mut self, value: ValueId) {
        let model = self.model;
        if self.plan.is_trivial() {
            self.name(model.str(model.value(value).name()));
        } else {
            let name = self.plan.name(value, model).to_owned();
            self.name(&name);
        }
    }

    /// Writes the name of a value as a string: the content of an attribute that names it.
    pub(super) fn value_text(&mut self, value: ValueId) {
        let name = self.plan.name(value, self.model).to_owned();
        self.byte_string(&onnx_types::raw_text::to_bytes(&name));
    }

    /// Writes the name of a value in a context that also allows a type.
    pub(super) fn value_name_not_type(&mut self, value: ValueId) {
        let name = self.plan.name(value, self.model);
        if is_type_word(name.as_bytes()) {
            let name = name.to_owned();
            self.string(&name);
        } else {
            self.value_name(value);
        }
    }

    /// Writes domain, operator and overload.
    fn operator(&mut self, node: &Node) {
        let (domain, op) = (self.str(node.written_domain()), self.str(node.op()));
        let plain = |name: &str| is_identifier(name.as_bytes());
        if domain.is_empty() && (op.is_empty() || plain(op)) {
            self.out.push_str(op);
        } else if is_dotted(domain) && plain(op) {
            self.out.push_str(domain);
            self.out.push('.');
            self.out.push_str(op);
        } else if self.compat() {
            self.lost("the name of an operator or of its domain");
            self.out.push('_');
        } else {
            if !domain.is_empty() {
                self.string(domain);
                self.out.push('.');
            }
            self.string(op);
        }
        if !node.overload().is_empty() {
            self.out.push(':');
            self.bare_name(node.overload(), "the overload of an operator");
        }
    }

    fn node_meta(&mut self, node: &Node) {
        if self.compat() {
            self.node_losses(node);
            return;
        }
        let mut entries = Entries::annotation();
        if let Some(extras) = node.extras() {
            self.doc(&mut entries, extras.doc);
            self.metadata(&mut entries, &extras.metadata);
            self.node_devices(&mut entries, &extras.device_configurations);
        }
        self.present(&mut entries, node.forms());
        self.unknown(&mut entries, node.unknown());
        self.end(&entries);
    }

    fn node_losses(&mut self, node: &Node) {
        let Some(extras) = node.extras() else { return };
        let parts = [
            (!extras.doc.is_empty(), "the documentation of a node"),
            (!extras.metadata.is_empty(), "the metadata of a node"),
            (!extras.device_configurations.is_empty(), "the device configurations of a node"),
            (!extras.unknown.is_empty(), "fields of a node that are unknown"),
        ];
        for (_, what) in parts.into_iter().filter(|(any, _)| *any) {
            self.lost(what);
        }
    }
}
