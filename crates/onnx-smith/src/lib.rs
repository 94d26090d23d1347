//! A generator of valid ONNX models, deterministic from bytes.
//!
//! # What it makes
//!
//! [`generate`] makes a model from bytes, and [`from_seed`] from a number. The same bytes make the same model. It may have
//! any operator at any version, bodies of `If`, `Loop`, `Scan` and `SequenceMap` that use values from outside, functions
//! with overloads and defaults of attributes, dimension variables, every element type, sequences, optionals and maps,
//! constants in each field that can hold them, documentation and metadata.
//!
//! ```
//! use onnx_check::{CheckOptions, check};
//! use onnx_smith::{SmithOptions, from_seed};
//!
//! let made = from_seed(7, &SmithOptions::default().with_nodes(12));
//! assert!(!check(&made.model, &CheckOptions::default()).has_errors());
//! assert_eq!(made.model.listing(made.model.main_graph()).to_string(), {
//!     let again = from_seed(7, &SmithOptions::default().with_nodes(12)).model;
//!     again.listing(again.main_graph()).to_string()
//! });
//! ```
//!
//! # How
//!
//! Node by node. A **scope** is a graph that nodes are added to: the main graph, a body, a function. It has a pool of values
//! with what inference knows of them. To add a node, an operator is chosen among those of the imported operator sets, and a
//! **draft** of it is filled in: operands come from the pool where their types and sizes fit, or are new inputs and
//! constants. Then the node is made, inferred and checked; if there is anything to say against it, it goes again. [`Stats`]
//! tell how often that happened to each operator.
//!
//! What an operator takes is in its schema. How operands fit together, such as the channels of `Conv`, is said by
//! **recipes**, at the paths of their inference rules; most operators need none.
//!
//! Operators of a [`Pack`](onnx_schema::Pack) need a declaration and an inference rule, so that it is known what their
//! outputs are; [`SmithPack::with_recipe`] adds a recipe.
//!
//! # What it is not for
//!
//! Models that are wrong: mutations of bytes and texts make those. It runs nothing, reads and writes no files, and its
//! models compute nothing of interest.
#![forbid(unsafe_code)]

/// The code on the page about operators is compiled and run with the other doc tests: this crate can use all parts of a pack.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/add-an-operator.md")]
struct AddAnOperator;

mod attributes;
mod choices;
mod custom_operators;
mod draft;
mod elements;
mod family;
mod finish;
mod functions;
mod ops;
mod smith;
mod stats;

use onnx_ir::Model;
use onnx_schema::{Registry, SchemaId};

pub use choices::noise;
pub use custom_operators::{CustomRecipe, Proposal, SmithPack};
pub use stats::Stats;

/// What to make.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SmithOptions<'a> {
    /// Number of nodes of the main graph, not counting those of constants. 8 by default. The model has fewer if the
    /// bytes are used up or too many proposals are refused.
    pub nodes: usize,
    /// The version of the ONNX operators; by default the bytes choose one.
    pub opset: Option<i64>,
    /// An operator of one version that the model should contain: it is tried first, and several times. `None` by
    /// default: the bytes choose.
    pub schema: Option<SchemaId>,
    /// Whether inputs may have dimension variables. True by default.
    pub symbolic: bool,
    /// Whether there may be functions. True by default.
    pub functions: bool,
    /// Whether there may be documentation, metadata and the like. True by default.
    pub decorations: bool,
    /// The operators that are known. Those of ONNX by default; of others, nodes are made that inference and the checker
    /// accept.
    pub registry: &'a Registry,
}

impl Default for SmithOptions<'_> {
    fn default() -> Self {
        Self {
            nodes: 8,
            opset: None,
            schema: None,
            symbolic: true,
            functions: true,
            decorations: true,
            registry: Registry::STANDARD,
        }
    }
}

onnx_types::option_setters! {
    SmithOptions<'a> {
        with_nodes => nodes: usize,
        with_opset => opset: into Option<i64>,
        with_schema => schema: into Option<SchemaId>,
        with_symbolic => symbolic: bool,
        with_functions => functions: bool,
        with_decorations => decorations: bool,
        with_registry => registry: &'a Registry,
    }
}

/// A generated model.
#[derive(Clone, Debug)]
pub struct Made {
    /// The model.
    pub model: Model,
    /// Which operators were tried for it.
    pub stats: Stats,
}

/// How often an operator that was asked for is tried.
const TRIES: usize = 12;

/// How many bytes of noise a node needs at most, all in all.
const BYTES_FOR_NODE: usize = 256;

/// Makes a model from bytes: the same bytes and options make the same model.
#[must_use]
pub fn generate(bytes: &[u8], options: &SmithOptions<'_>) -> Made {
    let mut smith = smith::Smith::new(bytes, options.clone());
    let mut nodes = options.nodes;
    if options.functions {
        smith.make_functions();
    }
    if let Some(schema) = options.schema {
        // Something to work with comes first.
        smith.fill(nodes / 3);
        let is_made = (0..TRIES).any(|_| smith.operator(schema.schema()).is_some());
        nodes = nodes.saturating_sub(nodes / 3 + usize::from(is_made));
    }
    smith.fill(nodes);
    smith.finish();
    smith.model.settle_names();
    Made { model: smith.model, stats: smith.stats }
}

/// Makes a model from a number: from as many bytes as its nodes need.
#[must_use]
pub fn from_seed(seed: u64, options: &SmithOptions<'_>) -> Made {
    let len = options.nodes.saturating_add(12).saturating_mul(BYTES_FOR_NODE);
    generate(&noise(seed, len), options)
}
