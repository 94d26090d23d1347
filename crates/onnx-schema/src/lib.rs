//! Facts about every ONNX operator at every version, as constant tables.
//!
//! # Concepts
//!
//! An **operator** is named by a domain and an operator type: `""` and `Relu`, `"ai.onnx.ml"` and `Binarizer`. The empty
//! domain is that of the ONNX operators; `"ai.onnx"` is an alias of it, and every function here takes either
//! ([`normalize_domain`]).
//!
//! An **operator set** is all operators of one domain at one version. A model imports operator sets: "the ONNX
//! operators, version 18". Each version of a domain adds operators, changes some, deprecates a few and leaves the rest
//! unchanged. [`opset_versions`], [`releases`] and [`ir_version_for`] describe versions, releases and the corresponding
//! IR versions.
//!
//! A **schema** ([`Schema`]) says what one operator takes, gives and accepts from one operator set version on, until the
//! operator's next schema. `Relu` has four, `Relu-1`, `Relu-6`, `Relu-13` and `Relu-14`. **Version selection** therefore
//! picks the schema with the greatest version that is not above the imported one: in a model that imports version 18,
//! `Relu` means `Relu-14`. That is [`lookup`].
//!
//! A schema's **signature** lists formal inputs and outputs ([`Formal`]): single, optional, or variadic as the last
//! one. Each has a type variable such as `T` or one type such as `tensor(int64)`. A [`TypeConstraint`] lists the types
//! that a variable may stand for as a [`TypeSet`], in which membership is one test of a bit. **Attributes**
//! ([`FormalAttribute`]) have a kind, and are required, have a default, or have a separate meaning when absent.
//!
//! Some operators are **functions**: their meaning is given by a body of simpler operators. Fixed bodies are here as
//! serialized messages ([`Schema::function_body`]); others depend on the node, and only their versions are known here.
//!
//! [`Traits`] say what kind of operator an operator is: elementwise, movement of elements, reduction, how it rounds, what values
//! its attributes can have. They are written by hand, one row for each operator ([`traits`]).
//!
//! Names are [`Symbol`](onnx_types::Symbol)s. Those that ONNX knows are constants in [`op`], [`attr`] and [`domain`], and
//! every interner that [`interner`] makes begins with them, so that code compares and looks up names without reading text.
//!
//! # Example
//!
//! ```
//! use onnx_schema::{AttrDefault, attr, domain, latest_opset, lookup, lookup_by_name, op, suggest_op};
//! use onnx_types::ElemType;
//!
//! // The model imports version 18 of the ONNX operators and has a node `Softmax`.
//! let softmax = lookup(domain::ONNX, op::SOFTMAX, 18).expect("Softmax is older than version 18");
//! assert_eq!(softmax.to_string(), "Softmax-13");
//! assert_eq!(softmax.until_version(), None);
//! assert_eq!(softmax.default_of(attr::AXIS), Some(AttrDefault::Int(-1)));
//!
//! // Its only input may be a tensor of one of four element types.
//! let input = softmax.input_for(0).expect("Softmax has an input");
//! let types = softmax.types_of(input);
//! assert!(types.contains_tensor(ElemType::Float));
//! assert!(!types.contains_tensor(ElemType::Int64));
//! assert!(!softmax.allows_inputs(2));
//!
//! // Before version 13 the default was another one.
//! let old = lookup(domain::AI_ONNX, op::SOFTMAX, 12).expect("Softmax is older than version 12");
//! assert_eq!(old.default_of(attr::AXIS), Some(AttrDefault::Int(1)));
//!
//! // Names from outside.
//! assert!(lookup_by_name("ai.onnx.ml", "Binarizer", 3).is_some());
//! assert!(lookup_by_name("", "SoftMax", 18).is_none());
//! assert_eq!(suggest_op("SoftMax"), Some("Softmax"));
//! assert_eq!(latest_opset(domain::ONNX), Some(28));
//! ```
//!
//! # What it is not
//!
//! The crate contains no operator behavior. Inference and checking are separate crates with tables indexed by
//! [`SchemaId`]. The built-in schemas cover the operators that ONNX defines, without their documentation.
//!
//! # Custom operators
//!
//! Operators of other domains are **declared**, in code with [`declare`] or by operator set documents, which other crates
//! read. A declared schema ([`DeclaredSchema`]) owns its texts and has no [`SchemaId`]. An [`OperatorSet`] is all of a
//! domain at a version, a [`Pack`] has such sets and what other crates know about their operators, and a [`Registry`] is
//! the standard sets with packs laid over them. It is a value that is passed on; nothing is registered globally.
//!
//! The tables are generated from facts that the `onnx` package ([`ONNX_VERSION`]) declares about itself; they are
//! constants, so the crate requires neither allocation nor initialization at program start.
#![forbid(unsafe_code)]

/// The code on the page about operator sets is compiled and run with the other doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/operator-sets.md")]
struct OperatorSets;

mod attribute;
mod changes;
mod declared_schemas;
mod facts;
mod generated;
mod lookup;
pub mod onnxruntime;
mod opset;
mod pack;
mod registry;
mod signature;
mod suggest;
pub mod traits;
mod typeset;

pub use attribute::{AttrDefault, AttrKind, FormalAttribute};
pub use changes::{SchemaChange, changes};
pub use declared_schemas::{
    Declaration, DeclareError, DeclaredAttribute, DeclaredConstraint, DeclaredDefault, DeclaredFormal,
    DeclaredSchema, DeclaredType, OperatorSet, declare,
};
pub use facts::{Determinism, Schema, SchemaId, SupportLevel};
pub use generated::names::{attr, domain, op};
pub use lookup::{
    all, domain_symbol, domains_of, known_name, lookup, lookup_by_name, normalize_domain, op_symbol,
    operators, schema_since, versions,
};
pub use opset::{
    LATEST_IR_VERSION, LATEST_OPSET, ONNX_VERSION, Release, domains, ir_version_for, latest_opset,
    opset_for_ir_version, opset_versions, releases,
};
pub use pack::{ByVersion, Extension, Pack, PerOperator};
pub use registry::{Arity, Registry, SchemaRef};
pub use signature::{Differentiation, Formal, FormalOption, FormalType, TypeConstraint};
pub use suggest::{nearest, suggest_attribute, suggest_op, suggest_type};
pub use traits::{CONSTANT_VALUES, Exclusion, ExclusivePart, Traits};
pub use typeset::{TypeForm, TypeId, TypeSet};

use std::sync::LazyLock;

use onnx_types::Interner;

/// An interner that starts with the names ONNX knows, so that the constants of [`op`], [`attr`] and [`domain`] are its
/// symbols.
///
/// ```
/// let names = onnx_schema::interner();
/// assert_eq!(names.get("Relu"), Some(onnx_schema::op::RELU));
/// assert_eq!(names.resolve(onnx_schema::attr::AXIS), "axis");
/// ```
#[must_use]
pub fn interner() -> Interner {
    NAMED.clone()
}

/// Like [`interner`], with room for `more` further names of `bytes` bytes in total, so that the table does not grow
/// while a file of known size is read.
#[must_use]
pub fn interner_with_capacity(more: usize, bytes: usize) -> Interner {
    // Few names fit or are soon moved; a copy of the table is made faster than the table.
    if more <= FEW_NAMES {
        return interner();
    }
    Interner::with_names_and_capacity(&generated::names::NAMES, more, bytes)
}

/// The names that ONNX knows: the nodes of a rule file are hundreds of texts, each read with a new interner.
static NAMED: LazyLock<Interner> = LazyLock::new(|| Interner::with_names(&generated::names::NAMES));

/// Number of names that need no extra room.
const FEW_NAMES: usize = 256;
