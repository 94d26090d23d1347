//! The ONNX model checker. [`check`] reports every defect in a model, each with its locus, the reason and a suggested
//! fix.
//!
//! # Concepts
//!
//! [`check`] takes a [`Model`] and gives a [`Sink`] of findings. It never stops at the first one, and the same model gives
//! the same findings in the same order every time. It takes time linear in the model and reads no weights unless
//! [`CheckOptions::elements`] asks for it, except what every reader has to: the indices of sparse tensors, and 6-bit floats.
//!
//! A **rule** is one defect that a model can have. [`RULES`] lists them; each says how severe it is, which section of the
//! specification it follows, whether the reference checker enforces it, and explains itself with an example of a wrong
//! and of a right model. A rule is an *error* where the model is invalid for the reference or cannot mean anything, a
//! *warning* where the specification says MUST but files in the wild and the reference disagree, and a *note* where it
//! says SHOULD. Findings that the reference would not have are marked
//! [`beyond_reference`](onnx_diag::Diagnostic::beyond_reference); without those, "any error" is the verdict of the
//! reference. That includes all findings in training graphs, and in functions before IR version 8: the reference does not
//! look there.
//!
//! # Example
//!
//! ```
//! use onnx_check::{CheckOptions, check};
//! use onnx_ir::{Model, NewNode, OpsetImport, Position};
//! use onnx_schema::domain;
//! use onnx_types::{ElemType, Shape, Type};
//!
//! // A model of one node, `y = Rellu (x)`.
//! let mut model = Model::new();
//! let [graph_name, op, x, y] = ["g", "Rellu", "x", "y"].map(|name| model.intern(name));
//! model.info_mut().ir_version = 10;
//! model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 18));
//! let graph = model.main_graph();
//! model.set_graph_name(graph, graph_name);
//! let (x, y) = (model.new_value(x), model.new_value(y));
//! model.push_graph_input(graph, x)?;
//! model.add_node(Position::End(graph), NewNode::new(op).inputs([x]).outputs([y]))?;
//! model.push_graph_output(graph, y);
//! for value in [x, y] {
//!     model.set_type(value, Some(Type::tensor(ElemType::Float, Some(Shape::unknown(1)))));
//! }
//!
//! let findings = check(&model, &CheckOptions::default());
//! let [found] = findings.diagnostics() else { panic!("one thing is wrong") };
//! assert_eq!(found.rule.slug, "unknown-operator");
//! assert_eq!(found.message, "ONNX has no operator `Rellu`");
//! assert_eq!(found.locus.to_string(), r#"graph "g" / node #0 Rellu"#);
//! assert_eq!(found.help.as_deref(), Some("did you mean `Relu`, which exists since version 1?"));
//! # Ok::<(), onnx_ir::EditError>(())
//! ```
//!
//! # What it is not
//!
//! It infers no types and shapes and opens no file: of external data it sees what [`CheckOptions::external`] shows it. Whether bytes can be read at all is for the decoder to say, and
//! whether an edited model's arenas fit together for [`Model::verify`]: `check` relies on it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod conflict;
mod custom_rules;
mod cx;
mod declaration_cx;
mod external;
mod features;
mod fix;
mod functions;
mod identifier;
mod imports;
mod names;
mod operator_set;
mod options;
mod places;
mod rules;
mod run;
mod seen;
mod sparse;

use onnx_diag::{Diagnostic, Sink};
use onnx_ir::{Model, NodeId};
use onnx_types::Stopped;

pub use custom_rules::{CustomRule, RuleCx};
pub use external::ExternalFiles;
pub use fix::{Fix, fix, fix_until, is_fixable};
pub use operator_set::check_operator_set;
pub use options::{CheckOptions, CustomOperators, Part, Profile};
pub use rules::{ON_REQUEST, RULES};

/// Raises the IR version of a model to the first one that has the element types that it uses. Edits that add types do so.
///
/// ```
/// use onnx_check::raise_ir_version;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 8, opset_import: ["": 21]>
/// g (int4[N] x) => (float[N] y) { y = Cast <to = 1> (x) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// raise_ir_version(&mut model);
/// assert_eq!(model.info().ir_version, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn raise_ir_version(model: &mut Model) {
    let _ = rules::raise_ir_version(model, features::Feature::is_elem);
}

/// Finds everything that is wrong with a model. Work that is [stopped](onnx_types::Interrupt) reports that with the rule
/// [`STOPPED`](onnx_diag::STOPPED), and nothing else.
///
/// # Panics
///
/// When the arenas of the model do not fit together: see [`Model::verify`]. No file makes such a model.
#[must_use]
pub fn check(model: &Model, options: &CheckOptions) -> Sink {
    check_part(model, Part::Model, options)
}

/// Finds everything that is wrong with a part of a model, without what is around it. [`check`] is this for the whole model.
///
/// ```
/// use onnx_check::{CheckOptions, Part, check_part};
/// use onnx_ir::{Model, NewNode, OpsetImport, Position};
/// use onnx_schema::domain;
///
/// let mut model = Model::new();
/// model.info_mut().ir_version = 10;
/// model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 18));
/// let [op, x] = ["Relu", "x"].map(|name| model.intern(name));
/// let x = model.new_value(x);
/// let node = model.add_node(Position::End(model.main_graph()), NewNode::new(op).inputs([x]))?;
///
/// let findings = check_part(&model, Part::Node(node), &CheckOptions::default());
/// let [found] = findings.diagnostics() else { panic!("one thing is wrong") };
/// assert_eq!(found.rule.slug, "wrong-output-count");
/// assert_eq!(found.locus.to_string(), "node #0 Relu");
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
///
/// # Panics
///
/// When a key is not of this model, or the arenas of the model do not fit together: see [`Model::verify`].
#[must_use]
pub fn check_part(model: &Model, part: Part, options: &CheckOptions) -> Sink {
    run::run(model, part, options)
}

/// A node that does not follow the signature of its operator in the version that is imported, so that it has no meaning.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvalidNode {
    /// The node.
    pub node: NodeId,
    /// What is wrong with it: the first finding of severity error.
    pub finding: Diagnostic,
}

/// Finds the nodes without a meaning, in the order of the graphs, up to [`Limits::findings`](onnx_types::Limits::findings) of
/// them: the operands, outputs and attributes of such a node are not those of its operator in the version that is imported, or
/// only another version has the operator. Often the import is wrong, not the node.
///
/// This is the precondition of what depends on the meaning of nodes, such as conversions and rewriting. Operators that no
/// version has are opaque, not invalid. Severities that the user changed do not count.
///
/// ```
/// use onnx_check::{CheckOptions, invalid_nodes};
/// use onnx_ir::{Model, NewNode, OpsetImport, Position};
/// use onnx_schema::domain;
///
/// // The bounds of `Clip` are attributes before version 11.
/// let mut model = Model::new();
/// model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 10));
/// let [op, x, low, y] = ["Clip", "x", "low", "y"].map(|name| model.intern(name));
/// let [x, low, y] = [x, low, y].map(|name| model.new_value(name));
/// let clip = NewNode::new(op).inputs([x, low]).outputs([y]);
/// let clip = model.add_node(Position::End(model.main_graph()), clip)?;
///
/// let found = invalid_nodes(&model, &CheckOptions::default())?;
/// assert_eq!(found[0].node, clip);
/// assert_eq!(found[0].finding.message, "`Clip` takes 1 input, but the node has 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn invalid_nodes(model: &Model, options: &CheckOptions) -> Result<Vec<InvalidNode>, Stopped> {
    run::invalid_nodes(model, options)
}
