//! How the generated table of onnxruntime's operators spells a schema. The functions run at compile time.

use super::RuntimeSchema;
use crate::attribute::{AttrDefault, AttrKind};
use crate::facts::row::slice;
use crate::generated::onnxruntime::{ATTRIBUTES, CONSTRAINTS, FORMALS};

/// The Boolean facts of a schema.
pub(crate) mod flag {
    pub(crate) const INFERS: u8 = 1;
    pub(crate) const DEPRECATED: u8 = 1 << 1;
    pub(crate) const EXPERIMENTAL: u8 = 1 << 2;
}

/// An attribute that an operator of onnxruntime declares; the counterpart of
/// [`FormalAttribute`](crate::FormalAttribute), with the name as text.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct RuntimeAttribute {
    /// Its name.
    pub name: &'static str,
    /// The kind its value must have.
    pub kind: AttrKind,
    /// Whether every node must give it.
    pub is_required: bool,
    /// Its value where a node does not give it.
    pub default: Option<AttrDefault>,
}

pub(crate) const fn attribute(name: &'static str, kind: AttrKind) -> RuntimeAttribute {
    RuntimeAttribute { name, kind, is_required: false, default: None }
}

pub(crate) const fn required(name: &'static str, kind: AttrKind) -> RuntimeAttribute {
    RuntimeAttribute { name, kind, is_required: true, default: None }
}

pub(crate) const fn defaulted(name: &'static str, default: AttrDefault) -> RuntimeAttribute {
    RuntimeAttribute { name, kind: default.kind(), is_required: false, default: Some(default) }
}

/// First row and number of rows in one of the tables that schemas share.
type Range = (usize, usize);

/// A schema without inputs, outputs and attributes.
pub(crate) const fn row(id: u16, domain: &'static str, name: &'static str, since: u16) -> RuntimeSchema {
    RuntimeSchema {
        id,
        domain,
        name,
        since,
        flags: 0,
        min_inputs: 0,
        max_inputs: 0,
        min_outputs: 0,
        max_outputs: 0,
        inputs: &[],
        outputs: &[],
        constraints: &[],
        attributes: &[],
    }
}

impl RuntimeSchema {
    pub(crate) const fn inputs_at(mut self, range: Range, min: u16, max: u16) -> Self {
        self.inputs = slice(&FORMALS, range);
        (self.min_inputs, self.max_inputs) = (min, max);
        self
    }

    pub(crate) const fn outputs_at(mut self, range: Range, min: u16, max: u16) -> Self {
        self.outputs = slice(&FORMALS, range);
        (self.min_outputs, self.max_outputs) = (min, max);
        self
    }

    pub(crate) const fn constraints_at(mut self, range: Range) -> Self {
        self.constraints = slice(&CONSTRAINTS, range);
        self
    }

    pub(crate) const fn attributes_at(mut self, range: Range) -> Self {
        self.attributes = slice(&ATTRIBUTES, range);
        self
    }

    pub(crate) const fn with_flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }
}
