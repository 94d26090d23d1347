//! Selectors: text that denotes graphs, nodes and values of a model.
//!
//! [`Selectors`] resolves what the graphs of a model suffice for, and returns the selector of an element; [`Selection`] resolves
//! all selectors, with the facts of inference, of the checker and of the matcher of rewrite rules ([`ModelFacts`]).
//! [`Selector`] has the grammar.
//!
//! ```
//! use onnx_select::{Element, ModelFacts, Selection, Selectors};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 4] x) => (float[N, 4] y) {
//!    a = Relu (x)
//!    b = Shape (a)
//!    y = Exp (a)
//! }"#;
//! let model = parse_model(text, &ParseOptions::default())?;
//! let facts = ModelFacts::new(&model);
//! let selection = Selection::new(&facts);
//! let relu = selection.node("Relu() & up(y)")?;
//! assert_eq!(selection.values("type(int64)")?.len(), 1);
//! assert_eq!(Selectors::new(&model).text(Element::Node(relu)).as_deref(), Some("node(0)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod selection;
mod selector;

pub use selection::{ModelFacts, SelectError, Selection};
pub use selector::{
    Direction, Element, ElementSet, NumberRange, NumberRelation, Refinement, Selector, SelectorError,
    SelectorFacts, SelectorScope, Selectors, TextPattern, ValueFact,
};
