//! How the generated table spells a schema. Everything here runs at compile time.

use onnx_types::Symbol;

use super::{Schema, SchemaId};
use crate::generated::functions::BODIES;
use crate::generated::signatures::{ATTRIBUTES, CONSTRAINTS, FORMALS};

/// The yes-or-no facts of a schema.
pub(crate) mod flag {
    pub(crate) const INFERS: u8 = 1;
    pub(crate) const PROPAGATES: u8 = 1 << 1;
    pub(crate) const DEPRECATED: u8 = 1 << 2;
    pub(crate) const EXPERIMENTAL: u8 = 1 << 3;
    pub(crate) const UNCHECKED_ATTRIBUTES: u8 = 1 << 4;
    pub(crate) const DETERMINISTIC: u8 = 1 << 5;
    pub(crate) const NON_DETERMINISTIC: u8 = 1 << 6;
}

/// First row and number of rows in one of the tables that schemas share.
type Range = (usize, usize);

/// A schema that takes and gives nothing yet.
pub(crate) const fn row(id: u16, domain: Symbol, op: Symbol, since: u16) -> Schema {
    Schema {
        id: SchemaId(id),
        domain,
        op,
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
        input_counts: &[],
        output_counts: &[],
        bodies: &[],
        context_bodies: &[],
    }
}

impl Schema {
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

    pub(crate) const fn only_counts(mut self, inputs: &'static [u16], outputs: &'static [u16]) -> Self {
        (self.input_counts, self.output_counts) = (inputs, outputs);
        self
    }

    pub(crate) const fn bodies_at(mut self, range: Range) -> Self {
        self.bodies = slice(&BODIES, range);
        self
    }

    pub(crate) const fn context_bodies_for(mut self, versions: &'static [u16]) -> Self {
        self.context_bodies = versions;
        self
    }
}

/// The rows of a range; `&table[first..first + count]` where that is not possible at compile time.
pub(crate) const fn slice<T>(table: &'static [T], (first, count): Range) -> &'static [T] {
    table.split_at(first).1.split_at(count).0
}
