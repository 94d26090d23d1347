//! The cost of a model: operations, parameters, bytes of weights and of activations, and the peak of live activations.
//!
//! Of the weights, only types and dimensions are read. Amounts that depend on dimension variables are expressions of
//! them. `docs/cost.md` defines what is counted, for each family of operators.
//!
//! ```
//! use onnx_cost::{Amount, CostOptions, cost};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 4] x, float[4, 8] w) => (float[N, 8] y) { y = MatMul (x, w) }"#;
//! let counted = cost(&parse_model(text, &ParseOptions::default())?, &CostOptions::default())?;
//! // Each of the 8 sums of a row has 4 products.
//! assert_eq!(counted.macs, Amount::Expression("32*N".to_owned()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod formulas;
mod graphs;
mod measure;
mod report;
mod trips;
mod weights;

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_diag::{Diagnostic, Locus, Severity};
use onnx_functions::{InlineError, InlineOptions, inline};
use onnx_ir::{Model, NodeId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Stopped, Symbol};

use self::graphs::Totals;
use self::weights::Weights;

/// Options of [`cost`].
#[derive(Clone)]
#[non_exhaustive]
pub struct CostOptions<'a> {
    /// The operators that are known to inference.
    pub registry: &'a Registry,
    /// The external data, of which inference reads small tensors such as shapes.
    pub data: &'a dyn DataSource,
    /// Sizes of dimension variables of the main graph.
    pub sizes: &'a [(Symbol, i64)],
    /// Limits, interrupt and progress.
    pub execution: Execution,
}

impl Default for CostOptions<'_> {
    fn default() -> Self {
        Self { registry: Registry::STANDARD, data: &NoData, sizes: &[], execution: Execution::DEFAULT }
    }
}

onnx_types::option_setters! {
    CostOptions<'a> {
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_sizes => sizes: &'a [(Symbol, i64)],
        with_execution => execution: into Execution,
    }
}

impl std::fmt::Debug for CostOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CostOptions").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

/// A number of operations or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Amount {
    /// The number.
    Known(u64),
    /// An expression of dimension variables, in the syntax of dimensions.
    Expression(String),
    /// It is not known.
    Unknown,
}

impl Amount {
    /// The number, if it is one.
    #[must_use]
    pub const fn known(&self) -> Option<u64> {
        match self {
            Self::Known(number) => Some(*number),
            _ => None,
        }
    }
}

/// The cost of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cost {
    /// Multiplications whose result is added to a sum. Nodes whose operations are not known are left out.
    pub macs: Amount,
    /// Arithmetic operations on elements; a multiply-accumulate is two. Nodes whose operations are not known are left out.
    pub operations: Amount,
    /// Elements of all initializers and tensor attributes, each counted once.
    pub parameters: u64,
    /// Bytes of these.
    pub weight_bytes: u64,
    /// Bytes of the outputs of all nodes. Values whose size is not known are left out.
    pub activation_bytes: Amount,
    /// The most bytes of inputs and outputs of nodes that are live at the same time, if the nodes run in the order of the file.
    /// Values whose size is not known are left out.
    pub peak_bytes: Amount,
    /// The node at which the peak is reached, if the peak is a number.
    pub peak_node: Option<String>,
    /// Nodes whose operations are not known.
    pub unknown_nodes: u64,
    /// Values whose size is not known.
    pub unknown_values: u64,
    /// Loops of which one iteration is counted, because the number of iterations is not known.
    pub loops_counted_once: u64,
    /// Why the model does not run with the sizes that were set: the first contradiction that inference finds with them and not
    /// without them, with its locus. What follows from it is not known.
    pub contradiction: Option<String>,
    /// The nodes, in the order in which they run; calls of functions are replaced by the nodes of the body.
    pub nodes: Vec<NodeCost>,
    /// Sums over the nodes with the same operator, the most operations first.
    pub operators: Vec<OperatorCost>,
}

/// The cost of a node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeCost {
    /// The node; `None` if it is of a function, whose body is counted in the place of a call.
    pub node: Option<NodeId>,
    /// The name of the node, or of its first output if it has none.
    pub name: String,
    /// The nodes around it, from the outermost to the innermost, each with the attribute that has the graph.
    pub path: String,
    /// The domain of the operator.
    pub domain: String,
    /// The operator.
    pub op: String,
    /// Whether the amounts are those of nested graphs: of the more expensive branch, or of all iterations.
    pub has_graphs: bool,
    /// Number of times that the node runs when the model runs: iterations of the loops around it.
    pub times: Amount,
    /// Like [`Cost::macs`], for one run of the node.
    pub macs: Amount,
    /// Like [`Cost::operations`], for one run of the node.
    pub operations: Amount,
    /// Why operations are not known.
    pub why_unknown: Option<String>,
    /// Elements of the weights that the node reads, of which other nodes may read some, too.
    pub parameters: u64,
    /// Bytes of these.
    pub weight_bytes: u64,
    /// Bytes of the outputs.
    pub activation_bytes: Amount,
    /// Operations of all its runs, with 64 for each dimension variable: an order for lists.
    pub rank: u64,
}

/// The nodes with the same operator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OperatorCost {
    /// The domain of the operator.
    pub domain: String,
    /// The operator.
    pub op: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Nodes whose operations are not known.
    pub unknown_nodes: u64,
    /// Like [`Cost::macs`]; both branches of a condition count.
    pub macs: Amount,
    /// Like [`Cost::operations`]; both branches of a condition count.
    pub operations: Amount,
    /// Like [`Cost::activation_bytes`]; both branches of a condition count.
    pub activation_bytes: Amount,
    /// Operations, with 64 for each dimension variable: an order for lists.
    pub rank: u64,
}

/// The cost cannot be computed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// The calls of functions cannot be replaced by bodies.
    #[error("calls of functions cannot be counted: {0}")]
    Calls(#[from] InlineError),
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl CostError {
    /// The limit that was exceeded, if that is the reason.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Calls(error) => error.limit(),
            Self::Stopped(_) => None,
        }
    }
}

/// Computes the cost of a model.
///
/// # Errors
///
/// Returns an error if functions call each other in a cycle, if replacing calls by bodies exceeds a limit, or if the work is
/// interrupted.
pub fn cost(model: &Model, options: &CostOptions<'_>) -> Result<Cost, CostError> {
    // A weight in the body of a function is there once, however often the function is called.
    let weights = Weights::of(model).total;
    let (flat, given) = (flat(model, options)?, model);
    let model = flat.as_ref().unwrap_or(model);
    let inference = inferred(model, options, options.sizes)?;
    let totals = Totals::of(model, &inference, options)?;
    let contradiction = contradiction(model, &inference, options)?;
    let mut cost = report::report(model, &inference, totals, weights, &options.execution.interrupt)?;
    for counted in &mut cost.nodes {
        counted.node = counted.node.filter(|&node| given.get_node(node).is_some());
    }
    Ok(Cost { contradiction, ..cost })
}

/// The first contradiction of the sizes that are set.
fn contradiction(
    model: &Model,
    inference: &Inference,
    options: &CostOptions<'_>,
) -> Result<Option<String>, Stopped> {
    let is_problem = |found: &&Diagnostic| found.severity != Severity::Note;
    let mut found = inference.findings().diagnostics().iter().filter(is_problem).peekable();
    if options.sizes.is_empty() || found.peek().is_none() {
        return Ok(None);
    }
    let without = inferred(model, options, &[])?;
    let known: HashSet<(u16, &Locus), RandomState> =
        without.findings().diagnostics().iter().map(|found| (found.rule.code, &found.locus)).collect();
    let new = found.find(|found| !known.contains(&(found.rule.code, &found.locus)));
    Ok(new.map(|found| format!("{} ({})", found.message, found.locus)))
}

/// The model with the bodies of its functions in place of their calls, if it has functions. Weights are shared.
fn flat(model: &Model, options: &CostOptions<'_>) -> Result<Option<Model>, CostError> {
    if model.functions().is_empty() {
        return Ok(None);
    }
    let mut flat = model.clone();
    let inlining =
        InlineOptions::default().with_registry(options.registry).with_execution(options.execution.clone());
    inline(&mut flat, &inlining, |_, _, _| true)?;
    Ok(Some(flat))
}

fn inferred(model: &Model, options: &CostOptions<'_>, sizes: &[(Symbol, i64)]) -> Result<Inference, Stopped> {
    let inferring = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_sizes(sizes)
        .with_execution(options.execution.clone());
    let inference = infer(model, &inferring);
    match inference.stopped() {
        Some(stopped) => Err(stopped),
        None => Ok(inference),
    }
}
