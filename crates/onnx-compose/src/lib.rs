//! Extraction, merging, splitting, editing and reduction of models.
//!
//! Weights are shared and never read, so the size of a model does not matter. Every operation keeps functions, metadata,
//! declared types and the names of the interface, and either leaves a valid model or refuses and leaves the model unchanged.
//!
//! # Extract
//!
//! [`extract`] makes a model of the part between values, [`extract_nodes`] of some nodes. If the given inputs do not suffice
//! to compute the outputs, every path that bypasses them is reported:
//!
//! ```
//! use onnx_compose::{ComposeError, ExtractOptions, extract};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 4] x, float[N, 4] bias) => (float[N, 4] y) {
//!    a = Relu (x)
//!    b = Exp (a)
//!    y = Add (b, bias)
//! }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let graph = model.main_graph();
//! let [a, y] = ["a", "y"].map(|name| model.find_value(graph, name).expect("it is in the text"));
//!
//! let refused = extract(&mut model, Some(&[a]), &[y], &ExtractOptions::default());
//! assert_eq!(refused.unwrap_err().to_string(), "an output depends on `bias`, which is not cut off: bias -> y");
//!
//! let bias = model.find_value(graph, "bias").expect("it is an input");
//! extract(&mut model, Some(&[a, bias]), &[y], &ExtractOptions::default())?;
//! assert_eq!(model.node_count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The type of a value that becomes an input or output is the declared one, or that of inference.
//!
//! # Merge and split
//!
//! [`merge`] makes one model of several: values of one take the place of inputs of another. [`split`] cuts a model into parts that
//! run one after the other; merged by the names of their inputs and outputs, they are the model again:
//!
//! ```
//! use onnx_compose::{MergeOptions, Parts, SplitOptions, connections_by_name, merge, split};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
//!    a = MatMul (x, w)
//!    b = Relu (a)
//!    y = MatMul (b, w)
//! }"#;
//! let model = parse_model(text, &ParseOptions::default())?;
//! let parts = split(&model, Parts::CountByNodes(2), &SplitOptions::default())?;
//!
//! let parts: Vec<_> = parts.iter().map(|part| &part.model).collect();
//! let merged = merge(&parts, &connections_by_name(&parts), &MergeOptions::default())?;
//! assert_eq!(merged.model.node_count(), 3);
//! // Both parts have the weight, and the merged model has it once.
//! assert_eq!(merged.shared_initializers, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Names are kept unless they collide, and a dimension variable of one model is that of another only if a connection
//! proves it.
//!
//! # Rename
//!
//! [`rename`] changes names by rules: single names, patterns, prefixes. Everything that refers to an element follows, and new
//! names that other elements have are refused, all of them at once:
//!
//! ```
//! use onnx_compose::{RenameKinds, RenameRule, rename};
//! use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N] x) => (float[N] y) { a = Relu (x)  y = Exp (a) }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let rules = [RenameRule::exact("x", "y"), RenameRule::exact("y", "x"), RenameRule::pattern("?", r"inner.\1")?];
//! let done = rename(&mut model, &rules, RenameKinds::default())?;
//! assert_eq!(done.values.len(), 3);
//! let printed = print_model(&model, &PrintOptions::default())?.text;
//! assert!(printed.contains("(float[N] y) => (float[N] x)") && printed.contains("Exp (\"inner.a\")"));
//!
//! let refused = rename(&mut model, &[RenameRule::exact("x", "y")], RenameKinds::default());
//! assert_eq!(refused.unwrap_err().to_string(), "the value `x` cannot be called `y`: another value has this name");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reduce
//!
//! [`reduce`] returns the smallest model that has a property, such as that another program fails on it.
//!
//! # Targets
//!
//! [`unsupported`] returns everything that a model needs and a runtime lacks, from a [`Target`] that describes the runtime.

#![forbid(unsafe_code)]

mod boundary;
mod error;
mod extract;
mod interface;
mod merge;
mod metadata;
mod reduce;
mod rename;
pub mod rules;
mod sizes;
mod split;
mod target;

pub use boundary::{add_input, initializer_to_input, is_output, remove_input, set_inputs, set_outputs};
pub use error::{ComposeError, Uncovered};
pub use extract::{ExtractOptions, Extracted, extract, extract_nodes};
pub use merge::{
    Connection, MergeError, MergeOptions, Merged, Raised, Renamed, RenamedKind, connections_by_name, merge,
};
pub use metadata::{MetadataEdit, edit_metadata};
pub use reduce::{ReduceError, ReduceOptions, Reduction, reduce};
pub use rename::{
    FunctionName, NameChanges, NameCollision, NewNames, RenameKinds, RenameRule, rename, rename_until,
    set_names,
};
pub use sizes::{EditOptions, FixedSize, NewSize, Resized, SizeChange, SizeTarget, resize};
pub use split::{Parts, SplitOptions, SplitPart, Splitting, split};
pub use target::{
    BiasFormat, Combination, Operands, QUANTIZATIONS, Quantization, QuantizedOperator, Requirements,
    RulePlace, ScaleForm, ScaleForms, Scales, Setting, TARGETS, Target, TargetError, TargetKernel,
    TargetOperator, ToleratedRule, unsupported, unsupported_in_bodies,
};
