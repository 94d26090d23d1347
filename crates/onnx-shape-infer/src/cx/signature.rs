//! What a schema declares about inputs, outputs and types, whether ONNX or onnxruntime defines the operator.

use std::fmt;

use onnx_schema::onnxruntime::RuntimeSchema;
use onnx_schema::{AttrDefault, DeclaredDefault, Formal, Schema, TypeConstraint, TypeSet};
use onnx_types::NameRef;

use super::Cx;

/// The schema of a node.
#[derive(Clone, Copy)]
pub(crate) enum Signature {
    Standard(&'static Schema),
    Runtime(&'static RuntimeSchema),
}

impl Signature {
    pub(crate) fn input_for(self, index: usize) -> Option<&'static Formal> {
        match self {
            Self::Standard(schema) => schema.input_for(index),
            Self::Runtime(schema) => schema.input_for(index),
        }
    }

    pub(crate) fn output_for(self, index: usize) -> Option<&'static Formal> {
        match self {
            Self::Standard(schema) => schema.output_for(index),
            Self::Runtime(schema) => schema.output_for(index),
        }
    }

    pub(crate) fn types_of(self, formal: &Formal) -> TypeSet {
        match self {
            Self::Standard(schema) => schema.types_of(formal),
            Self::Runtime(schema) => schema.types_of(formal),
        }
    }

    pub(crate) const fn constraints(self) -> &'static [TypeConstraint] {
        match self {
            Self::Standard(schema) => schema.constraints(),
            Self::Runtime(schema) => schema.constraints(),
        }
    }

    pub(crate) fn allows_inputs(self, count: usize) -> bool {
        match self {
            Self::Standard(schema) => schema.allows_inputs(count),
            Self::Runtime(schema) => schema.allows_inputs(count),
        }
    }

    pub(crate) const fn min_inputs(self) -> usize {
        match self {
            Self::Standard(schema) => schema.min_inputs(),
            Self::Runtime(schema) => schema.min_inputs(),
        }
    }

    pub(crate) const fn has_inference(self) -> bool {
        match self {
            Self::Standard(schema) => schema.has_inference(),
            Self::Runtime(schema) => schema.has_inference(),
        }
    }
}

/// The operator and the version.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(schema) => schema.fmt(f),
            Self::Runtime(schema) => write!(f, "{schema} (the signature of onnxruntime)"),
        }
    }
}

/// The default of an attribute, in the schema of ONNX, of onnxruntime or of a declared operator.
pub(super) enum DefaultValue<'m> {
    Float(f32),
    Int(i64),
    Text(&'m str),
    Floats(&'m [f32]),
    Ints(&'m [i64]),
    /// The number of strings.
    Texts(usize),
    /// A kind that no rule reads.
    Other,
}

impl From<AttrDefault> for DefaultValue<'_> {
    fn from(default: AttrDefault) -> Self {
        match default {
            AttrDefault::Float(value) => Self::Float(value),
            AttrDefault::Int(value) => Self::Int(value),
            AttrDefault::String(value) => Self::Text(value),
            AttrDefault::Floats(values) => Self::Floats(values),
            AttrDefault::Ints(values) => Self::Ints(values),
            AttrDefault::Strings(values) => Self::Texts(values.len()),
            _ => Self::Other,
        }
    }
}

impl<'m> From<&'m DeclaredDefault> for DefaultValue<'m> {
    fn from(default: &'m DeclaredDefault) -> Self {
        match default {
            DeclaredDefault::Float(value) => Self::Float(*value),
            DeclaredDefault::Int(value) => Self::Int(*value),
            DeclaredDefault::String(value) => Self::Text(value),
            DeclaredDefault::Floats(values) => Self::Floats(values),
            DeclaredDefault::Ints(values) => Self::Ints(values),
            DeclaredDefault::Strings(values) => Self::Texts(values.len()),
        }
    }
}

impl<'m> Cx<'_, 'm> {
    /// The schema of the node, if ONNX defines the operator, or onnxruntime does and its operators are known.
    pub(crate) fn signature(&self) -> Option<Signature> {
        self.schema.map(Signature::Standard).or_else(|| self.runtime.map(Signature::Runtime))
    }

    /// The default of an attribute.
    pub(super) fn default(&self, name: NameRef<'_>) -> Option<DefaultValue<'m>> {
        if let Some(schema) = self.schema {
            return schema.default_of(name.symbol(self.names())?).map(DefaultValue::from);
        }
        let name = name.text(self.names());
        if let Some(schema) = self.declared {
            return schema.attribute(name)?.default.as_ref().map(DefaultValue::from);
        }
        self.runtime?.attribute(name)?.default.map(DefaultValue::from)
    }
}
