//! Functions of ONNX models: calls and operators are replaced by bodies, and nodes by calls.
//!
//! # Calls
//!
//! A node *calls* a function of the model if [`Model::callee`](onnx_ir::Model::callee) says so: an operator that ONNX defines in
//! the version in scope takes precedence over a function of its name. *Inlining* replaces the call by the body:
//!
//! ```
//! use onnx_functions::{InlineOptions, inline, inline_all};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
//! g (float[N] x) => (float[N] y) {
//!    h = my.Scale <by: float = 2.0> (x)
//!    y = my.Twice (h)
//! }
//! <domain: "my", opset_import: ["": 20]> Scale <by: float = 1.0> (p) => (q) {
//!    factor = Constant <value_float: float = @by> ()
//!    q = Mul (p, factor)
//! }
//! <domain: "my", opset_import: ["": 20, "my": 1]> Twice (p) => (q) {
//!    h = my.Scale (p)
//!    q = my.Scale (h)
//! }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//!
//! // Some calls, as a closure selects them: those of one function.
//! let mut partly = model.clone();
//! let done = inline(&mut partly, &InlineOptions::default(), |model, _, function| {
//!     model.str(model.function(function).name()) == "Twice"
//! })?;
//! assert_eq!((done.inlined(), partly.functions().len()), (1, 1));
//!
//! // All calls.
//! let done = inline_all(&mut model, &InlineOptions::default())?;
//! assert_eq!((done.inlined(), done.removed_functions), (4, 2));
//! assert_eq!(done.path(&done.calls[2], &model), "`my.Twice` / `my.Scale`");
//! let nodes = model.nodes(model.main_graph());
//! let outputs = nodes.filter_map(|node| model.node(node).output(0));
//! let names: Vec<&str> = outputs.map(|output| model.str(model.value(output).name())).collect();
//! assert_eq!(names, ["factor", "h", "Twice/Scale/factor", "Twice/h", "Twice/Scale/factor_1", "y"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`inline`] handles what distinguishes inlining from copying:
//!
//! * *Attributes.* A reference to an attribute of the function becomes the attribute of the call, or else the default
//!   of the function. If there is neither, it is omitted, and the default of the inner operator applies. A call that
//!   gives no value for an attribute that the inner operator requires is not inlined.
//! * *Operands.* An input that the call omits is omitted wherever the body uses it. An output that is an input of the function
//!   becomes that operand, through an `Identity` at an output of a graph.
//! * *Graphs.* Graphs that the call passes as attributes see the names around the call, and the body does not. Calls in nested
//!   graphs are calls like others.
//! * *Versions.* A function has separate imports. A call is not inlined if an operator of the body has another meaning
//!   in the version at the call, unless [`InlineOptions::convert`] converts it. Operator sets that only the function
//!   imports are imported.
//! * *Names.* The output of a call keeps its name. A name of the body that is taken gets the path of the call as a prefix; with
//!   [`Naming::Always`] every name does.
//! * *Types.* Declared types of the body are kept without their dimension variables, which are local to the function.
//! * *Provenance.* The [derivation](onnx_ir::Model::derivation) of each new node names the call and the node of the body.
//!
//! # Cost
//!
//! A file of one kilobyte can describe 2⁶³ nodes, by functions that call each other twice. The cost of inlining is
//! therefore computed over the call graph before anything is copied, and compared with the limits `nodes` and `values`.
//! Functions that call themselves are refused.
//!
//! # Bodies of operators
//!
//! ONNX defines many operators by functions of other operators. [`body_of`] makes the function for a node, and [`expand`] puts
//! these functions into the place of nodes, until only operators without a body remain. Some bodies depend on the types of the
//! operands, which the caller supplies through [`ValueTypes`](onnx_ir::ValueTypes); the results of `onnx-shape-infer`
//! implement it.
//!
//! # Outlining
//!
//! [`outline`] is the inverse: nodes of one graph become a function, and they are replaced by a call of it.
//!
//! # What this crate is not for
//!
//! It proves nothing: `onnx-pass` has both edits as patches with a proof.
#![forbid(unsafe_code)]

mod bodies;
mod call;
mod convert;
mod cost;
mod expand;
mod generated;
mod housekeeping;
mod inline;
mod link;
mod names;
mod outline;
mod reason;
mod references;
mod repeated;
mod report;
pub mod rules;
mod select;
mod sizes;
mod versions;

pub use bodies::{body_as, body_of, expand, has_body, has_current_body};
pub use call::FunctionCall;
pub use housekeeping::{Identity, Separated, deduplicate, separate_functions, sort_functions};
pub use inline::{InlineError, InlineOptions, Inlined, InlinedCall, inline, inline_all};
pub use link::{
    LinkError, LinkedFunction, MissingFunction, import_functions, link, missing_functions, rename_functions,
};
pub use names::Naming;
pub use outline::{Region, outline};
pub use reason::FunctionReason;
pub use repeated::{OutlineError, OutlineOptions, OutlinedBlock, outline_repeated, repeated_blocks};
pub use report::InlinedFunction;
pub use select::{FunctionPattern, FunctionSelector};
pub use sizes::{FunctionSize, function_sizes};
pub use versions::{Convert, missing_imports};
