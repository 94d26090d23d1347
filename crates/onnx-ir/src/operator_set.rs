//! Operator set documents: which operators a domain has at a version.

use onnx_types::{FieldForms, Symbol, UnknownFields};

use crate::model::Model;

/// An operator set document (`OperatorSetProto`; specification, "Operator Sets").
///
/// Its functions live in a [`Model`] that holds nothing else, together with the names that the document uses. The message
/// has no place for signatures: `docs/operator-sets.md` says where they come from.
#[derive(Clone)]
pub struct OperatorSetDocument {
    /// The magic string of the file: `ONNXOPSET`.
    pub magic: Symbol,
    /// The IR version that the operators are for; 0 where the file does not say.
    pub ir_version: i64,
    /// The pre-release part of the IR version.
    pub ir_version_prerelease: Symbol,
    /// The build metadata of this version of the operator set.
    pub ir_build_metadata: Symbol,
    /// The domain as it is written; empty for the ONNX operators.
    pub domain: Symbol,
    /// The version of the operator set; 0 where the file does not say.
    pub opset_version: i64,
    /// Text for people.
    pub doc: Symbol,
    /// The operators, functions included.
    pub operators: Vec<OperatorEntry>,
    /// The names of the document, and the operators that are functions.
    pub functions: Model,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// An operator in an operator set document (`OperatorProto`; specification, "Operators").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorEntry {
    /// The name: what nodes write as `op_type`.
    pub name: Symbol,
    /// The version of the operator set in which the operator took this form; 0 where the file does not say.
    pub since_version: i64,
    /// Whether it may still change; 0 stands for experimental and 1 for stable.
    pub status: i64,
    /// Text for people.
    pub doc: Symbol,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

impl OperatorEntry {
    /// The status of an operator that may still change.
    pub const EXPERIMENTAL: i64 = 0;
    /// The status of an operator that is settled.
    pub const STABLE: i64 = 1;
}

impl OperatorSetDocument {
    /// The magic string of operator set files.
    pub const MAGIC: &'static str = "ONNXOPSET";

    /// A document of a domain at a version without operators, for the newest IR version.
    #[must_use]
    pub fn new(domain: &str, opset_version: i64) -> Self {
        let mut functions = Model::new();
        Self {
            magic: functions.intern(Self::MAGIC),
            ir_version: onnx_schema::LATEST_IR_VERSION,
            domain: functions.intern(domain),
            opset_version,
            ..Self::with_functions(functions)
        }
    }

    /// A document that says nothing yet, around a model that holds its functions and names; for decoders.
    #[must_use]
    pub const fn with_functions(functions: Model) -> Self {
        Self {
            magic: Symbol::EMPTY,
            ir_version: 0,
            ir_version_prerelease: Symbol::EMPTY,
            ir_build_metadata: Symbol::EMPTY,
            domain: Symbol::EMPTY,
            opset_version: 0,
            doc: Symbol::EMPTY,
            operators: Vec::new(),
            functions,
            forms: FieldForms::CANONICAL,
            unknown: Vec::new(),
        }
    }

    /// The text of a name of the document.
    #[must_use]
    pub fn str(&self, symbol: Symbol) -> &str {
        self.functions.str(symbol)
    }
}
