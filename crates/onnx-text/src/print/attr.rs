//! Attributes.

use std::fmt::Write as _;
use std::sync::Arc;

use onnx_ir::{AttrKind, AttrValue, Attribute};

use super::meta::Entries;
use super::{Printer, Result, Step};

impl Printer<'_> {
    /// Writes a list of attributes in angle brackets, unless none is left.
    pub(super) fn attributes(&mut self, attributes: &[Attribute]) -> Result {
        self.attributes_after(" <", attributes).map(drop)
    }

    /// Writes `open`, the attributes and `>`; an empty list is not written. `open` is the bracket, or the comma after what
    /// the caller has written into the list. Returns `true` if an attribute was written.
    pub(super) fn attributes_after(&mut self, open: &str, attributes: &[Attribute]) -> Result<bool> {
        let nested = attributes.iter().any(|attribute| !attribute.value().graphs().is_empty());
        self.indent = self.indent.saturating_add(usize::from(nested));
        let mut any = false;
        for attribute in attributes {
            self.steps.push(Step::Attribute(attribute.name()));
            if !self.compat() || self.has_plain_value(attribute) {
                self.out.push_str(if any { "," } else { open });
                if nested {
                    self.line();
                } else if any {
                    self.out.push(' ');
                }
                any = true;
                self.attribute(attribute)?;
            }
            self.steps.pop();
        }
        self.indent = self.indent.saturating_sub(usize::from(nested));
        if any {
            if nested {
                self.line();
            }
            self.out.push('>');
        }
        Ok(any)
    }

    /// Writes one attribute.
    pub(super) fn attribute(&mut self, attribute: &Attribute) -> Result {
        self.bare_name(attribute.name(), "the name of an attribute");
        let value = attribute.value();
        let declared = attribute.declared_kind();
        let mut entries = Entries::annotation();
        match value.kind() {
            Some(kind) => {
                if needs_kind(value) {
                    self.kind(kind);
                }
                if declared != Some(kind.code()) {
                    self.declared(&mut entries, declared);
                }
            }
            None => match declared.map(AttrKind::from_code) {
                None => {}
                Some(Some(kind)) if kind != AttrKind::Undefined => self.kind(kind),
                Some(_) => self.declared(&mut entries, declared),
            },
        }
        if self.compat() && !attribute.doc().is_empty() {
            self.lost("the documentation of an attribute");
        } else {
            self.doc(&mut entries, attribute.doc());
        }
        self.present(&mut entries, attribute.forms());
        self.unknown(&mut entries, attribute.unknown());
        self.end(&entries);
        self.out.push_str(" = ");
        self.value(value)
    }

    fn kind(&mut self, kind: AttrKind) {
        self.out.push_str(": ");
        self.out.push_str(kind.text_name());
    }

    /// Writes a declared kind that the value does not have.
    fn declared(&mut self, entries: &mut Entries, declared: Option<i32>) {
        if self.compat() {
            self.lost("a declared kind that is not the kind of the value");
            return;
        }
        self.key(entries, "type");
        match declared {
            Some(code) => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, "{code}");
            }
            None => self.out.push('?'),
        }
    }

    fn value(&mut self, value: &AttrValue) -> Result {
        match value {
            AttrValue::None => self.out.push_str("none"),
            AttrValue::Ref(target) => {
                self.out.push('@');
                self.name(self.str(*target));
            }
            AttrValue::Float(value) => self.f32(*value, false),
            AttrValue::Int(value) => self.int(*value),
            AttrValue::String(text) => self.byte_string(text),
            AttrValue::Value(value) => self.value_text(*value),
            AttrValue::Values(values) => {
                self.list('[', ']', values, |printer, &value| printer.value_text(value))
            }
            AttrValue::Tensor(tensor) => self.tensor(tensor),
            AttrValue::Graph(graph) => self.nested(*graph)?,
            AttrValue::Floats(values) => {
                self.list('[', ']', values, |printer, &value| printer.f32(value, false))
            }
            AttrValue::Ints(values) => self.ints(values),
            AttrValue::Strings(texts) => {
                self.list('[', ']', texts, |printer, text| printer.byte_string(text))
            }
            AttrValue::Tensors(tensors) => {
                self.list('[', ']', tensors, |printer, tensor| printer.tensor(tensor))
            }
            AttrValue::Graphs(graphs) => {
                self.out.push('[');
                for (index, &graph) in graphs.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.nested(graph)?;
                }
                self.out.push(']');
            }
            AttrValue::SparseTensor(sparse) => self.sparse(sparse, None)?,
            AttrValue::SparseTensors(list) => {
                self.out.push('[');
                for (index, sparse) in list.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.sparse(sparse, None)?;
                }
                self.out.push(']');
            }
            AttrValue::Type(ty) => self.ty(ty)?,
            AttrValue::Types(types) => {
                self.out.push('[');
                for (index, ty) in types.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.ty(ty)?;
                }
                self.out.push(']');
            }
        }
        Ok(())
    }

    /// Returns `true` if the reference's syntax can express the value of an attribute; otherwise reports it.
    fn has_plain_value(&mut self, attribute: &Attribute) -> bool {
        let plain = match attribute.value() {
            AttrValue::Tensors(_)
            | AttrValue::Graphs(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_)
            | AttrValue::Types(_)
            | AttrValue::None => false,
            AttrValue::Tensor(tensor) => {
                let tensor = Arc::clone(tensor);
                return self.has_plain_head(&tensor);
            }
            AttrValue::Type(ty) => self.is_plain_type(ty),
            _ => true,
        };
        if !plain {
            self.lost("an attribute whose value has no spelling");
        }
        plain
    }
}

/// Returns `true` if the notation of a value does not determine its kind.
fn needs_kind(value: &AttrValue) -> bool {
    match value {
        AttrValue::Floats(list) => list.is_empty(),
        AttrValue::Ints(list) => list.is_empty(),
        AttrValue::Strings(list) => list.is_empty(),
        AttrValue::Tensors(list) => list.is_empty(),
        AttrValue::Graphs(list) => list.is_empty(),
        AttrValue::SparseTensors(list) => list.is_empty(),
        AttrValue::Types(list) => list.is_empty(),
        _ => false,
    }
}
