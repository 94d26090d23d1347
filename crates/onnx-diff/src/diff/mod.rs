//! Differences between two models: see [`diff`].

mod anchors;
mod compare;
mod elements;
mod forms;
mod interface;
mod matching;
mod model;
mod node;
mod pairs;
mod side;
mod unique;

pub use forms::repeated_values;

use std::collections::HashSet;
use std::fmt;

use onnx_diag::Locus;
use onnx_eval::compare::{Difference, Tolerances};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Stopped};

use crate::hash::{Contents, shared_ranges};
use interface::Border;
use pairs::Pairs;
use side::Side;

/// Options of [`diff`].
#[derive(Clone)]
#[non_exhaustive]
pub struct DiffOptions<'a> {
    /// External data of the first model. By default there is none.
    pub data_of_a: &'a dyn DataSource,
    /// External data of the second model. By default there is none.
    pub data_of_b: &'a dyn DataSource,
    /// Whether locations of external data denote the same files in both models, so that equal ranges of them are equal without
    /// being read. False by default.
    pub same_files: bool,
    /// Whether elements of weights are compared; otherwise only their types and dimensions are. True by default.
    pub weights: bool,
    /// The tolerances within which elements of weights are equal. By default they are equal if their bits are.
    pub tolerances: Option<Tolerances>,
    /// Limits, interrupt and progress.
    pub execution: Execution,
}

impl Default for DiffOptions<'_> {
    fn default() -> Self {
        let execution = Execution::DEFAULT;
        Self {
            data_of_a: &NoData,
            data_of_b: &NoData,
            same_files: false,
            weights: true,
            tolerances: None,
            execution,
        }
    }
}

onnx_types::option_setters! {
    DiffOptions<'a> {
        with_data_of_a => data_of_a: &'a dyn DataSource,
        with_data_of_b => data_of_b: &'a dyn DataSource,
        with_same_files => same_files: bool,
        with_weights => weights: bool,
        with_tolerances => tolerances: into Option<Tolerances>,
        with_execution => execution: Execution,
    }
}

/// Result of [`diff`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diff {
    /// The changes: first of the model as a whole, of its interface and functions, then of initializers and nodes, graph by
    /// graph.
    pub changes: Vec<ModelChange>,
    /// Tensors of the first model that could not be compared, because elements cannot be read, each with the reason.
    pub unread: Vec<(Locus, String)>,
    /// Number of nodes that correspond.
    pub same_nodes: usize,
    /// Number of initializers that correspond.
    pub same_initializers: usize,
    /// Number of tensors whose elements differ within the tolerance.
    pub within_tolerance: usize,
}

impl Diff {
    /// Returns `true` if nothing differs, as far as weights could be read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns `true` if the models have the same [hash](crate::hash_model), as far as weights could be read: only notes
    /// differ, or nothing.
    #[must_use]
    pub fn is_same_model(&self) -> bool {
        self.changes.iter().all(ModelChange::is_note) && self.within_tolerance == 0
    }
}

/// A difference between two models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelChange {
    /// Whether something was added, removed or changed.
    pub kind: ChangeKind,
    /// The kind of the element.
    pub element: ChangedElement,
    /// The element in the first model; `None` if it was added.
    pub before: Option<Locus>,
    /// The element in the second model; `None` if it was removed.
    pub after: Option<Locus>,
    /// The element in one line, such as `Relu(x) -> y`.
    pub text: String,
    /// The changes of the element.
    pub aspects: Vec<Aspect>,
}

impl ModelChange {
    /// Returns `true` if the change is of documentation, metadata, versions of the format or declared types, which are not part
    /// of the [hash](crate::hash_model).
    #[must_use]
    pub fn is_note(&self) -> bool {
        self.kind == ChangeKind::Changed && self.aspects.iter().all(|aspect| aspect.kind.is_note())
    }
}

/// Whether an element was added, removed or changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the second model has the element.
    Added,
    /// Only the first model has the element.
    Removed,
    /// Both models have the element, and it is not the same.
    Changed,
}

/// The kind of an element that differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ChangedElement {
    /// The model as a whole.
    Model,
    /// A graph: the order of its inputs and outputs, its notes.
    Graph,
    /// An input of the main graph.
    Input,
    /// An output of the main graph.
    Output,
    /// An initializer.
    Initializer,
    /// A node.
    Node,
    /// A function.
    Function,
}

/// A change of one aspect of an element.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Aspect {
    /// The kind of the aspect.
    pub kind: AspectKind,
    /// Which one of several: the name of an attribute or key, the position of an operand.
    pub label: String,
    /// The state in the first model; `None` if there is none.
    pub before: Option<String>,
    /// The state in the second model; `None` if there is none.
    pub after: Option<String>,
    /// The difference of the elements of a tensor, if they were compared.
    pub difference: Option<Box<Difference>>,
}

/// The kind of an aspect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AspectKind {
    /// The operator or function that a node calls.
    Operator,
    /// An attribute, or the default of one in a function.
    Attribute,
    /// The value at an input of a node.
    Operand,
    /// The presence of a result of a node.
    Result,
    /// The value at an output of a graph.
    Output,
    /// The graph that contains a node or initializer.
    Graph,
    /// Type and dimensions.
    Type,
    /// The elements of a tensor.
    Elements,
    /// The name of an input or output.
    Name,
    /// The order of inputs or outputs.
    Order,
    /// Whether an input has a default.
    Default,
    /// The version of an imported operator set.
    OperatorSet,
    /// Number and bindings of training steps.
    Training,
    /// The declared type of an inner value. Of those that only one model declares, the number in that model, labeled `count`.
    DeclaredType,
    /// `ir_version`, producer, domain and version of the model.
    Header,
    /// An entry of `metadata_props`.
    Metadata,
    /// A documentation string.
    Documentation,
    /// Quantization annotations, devices and other content outside the data flow.
    Annotation,
}

impl AspectKind {
    /// Returns `true` if the aspect is not part of the [hash](crate::hash_model).
    #[must_use]
    pub const fn is_note(self) -> bool {
        matches!(
            self,
            Self::DeclaredType | Self::Header | Self::Metadata | Self::Documentation | Self::Annotation
        )
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Attribute => "attribute",
            Self::Operand => "operand",
            Self::Result => "result",
            Self::Output => "output",
            Self::Graph => "graph",
            Self::Type => "type",
            Self::Elements => "elements",
            Self::Name => "name",
            Self::Order => "order",
            Self::Default => "default",
            Self::OperatorSet => "operator set",
            Self::Training => "training",
            Self::DeclaredType => "declared type",
            Self::Header => "header",
            Self::Metadata => "metadata",
            Self::Documentation => "documentation",
            Self::Annotation => "annotation",
        }
    }
}

impl ChangeKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl ChangedElement {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Graph => "graph",
            Self::Input => "input",
            Self::Output => "output",
            Self::Initializer => "initializer",
            Self::Node => "node",
            Self::Function => "function",
        }
    }
}

impl fmt::Display for Aspect {
    /// The aspect in one line: `attribute axis: 1 -> 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A type that one model declares is reported as a number of values.
        let only = match (self.kind, &self.before, &self.after) {
            (AspectKind::DeclaredType, Some(count), None) => Some((count, "first")),
            (AspectKind::DeclaredType, None, Some(count)) => Some((count, "second")),
            _ => None,
        };
        if let Some((count, model)) = only {
            let (noun, verb) = if count == "1" { ("value", "has") } else { ("values", "have") };
            return write!(f, "{count} inner {noun} {verb} a declared type only in the {model} model");
        }
        f.write_str(self.kind.name())?;
        if !self.label.is_empty() {
            write!(f, " {}", self.label)?;
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, ": {before} -> {after}"),
            (Some(before), None) => write!(f, ": {before} -> none"),
            (None, Some(after)) => write!(f, ": none -> {after}"),
            (None, None) => Ok(()),
        }
    }
}

/// Compares two models as graphs: names of inner values and nodes, the order of nodes, initializers, attributes and functions,
/// and the encoding do not count. Equal are the models that have the same [hash](crate::hash_model); in addition, changes of
/// metadata, documentation and declared types are found, which are [notes](ModelChange::is_note).
///
/// Nodes correspond if they are the only ones that compute the same from the inputs, or are used in the same way for the outputs;
/// the others are aligned with neighbors that correspond. A single edit is reported as that edit: what depends on a changed node
/// still corresponds, and a node that was inserted into or removed from an edge is not a change of the node that uses the edge.
/// The time is linear in the models, up to sorting. Tensors that cannot be read are listed as unread.
///
/// ```
/// use onnx_diff::{ChangeKind, DiffOptions, diff};
/// use onnx_text::{ParseOptions, parse_model};
///
/// let parse = |body: &str| {
///     let text = format!(r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) {{ {body} }}"#);
///     parse_model(&text, &ParseOptions::default()).expect("it is a model")
/// };
/// let a = parse("a = Exp (x) b = LeakyRelu <alpha = 0.1> (a) y = Log (b)");
/// let b = parse("p = Exp (x) q = LeakyRelu <alpha = 0.2> (p) y = Log (q)");
/// let found = diff(&a, &b, &DiffOptions::default())?;
/// let [change] = &found.changes[..] else { panic!("the names do not count") };
/// assert_eq!(change.kind, ChangeKind::Changed);
/// assert_eq!(change.aspects[0].to_string(), "attribute alpha: 0.1 -> 0.2");
/// # Ok::<(), onnx_types::Stopped>(())
/// ```
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn diff(a: &Model, b: &Model, options: &DiffOptions<'_>) -> Result<Diff, Stopped> {
    with_pairs(a, b, options, |matched| {
        compare::changes(matched.a, matched.b, matched.border, matched.pairs, options)
    })
}

/// The difference of two models, and the values that correspond: [`diff`] and [`corresponding_values`] of one matching.
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn diff_with_values(
    a: &Model,
    b: &Model,
    options: &DiffOptions<'_>,
) -> Result<(Diff, CorrespondingValues), Stopped> {
    with_pairs(a, b, options, |matched| {
        let found = compare::changes(matched.a, matched.b, matched.border, matched.pairs, options)?;
        Ok((found, matched.values()))
    })
}

/// Values of the main graphs of two models that correspond, in the order of the first one: outputs of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorrespondingValues {
    /// Those of the nodes that [`diff`] pairs.
    pub by_structure: Vec<(ValueId, ValueId)>,
    /// Those of nodes that are the only ones of their models with an operator and the elements of its weights.
    pub by_weights: Vec<(ValueId, ValueId)>,
    /// Those of nodes that are the only ones of their models that compute the same from the inputs, if weights of one type and shape
    /// are taken for equal.
    pub by_form: Vec<(ValueId, ValueId)>,
}

/// The values of two models that correspond; see [`diff`].
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn corresponding_values(
    a: &Model,
    b: &Model,
    options: &DiffOptions<'_>,
) -> Result<CorrespondingValues, Stopped> {
    with_pairs(a, b, options, |matched| Ok(matched.values()))
}

/// Two models with what corresponds.
struct Matched<'a> {
    a: &'a Side<'a>,
    b: &'a Side<'a>,
    border: &'a Border,
    pairs: &'a Pairs,
}

impl Matched<'_> {
    fn values(&self) -> CorrespondingValues {
        let (a, b) = (self.a.model, self.b.model);
        let outputs = |(node, other): (NodeId, NodeId)| {
            let outputs = a.node(node).outputs().iter().zip(b.node(other).outputs());
            outputs.filter_map(|(&one, &two)| Some((one?, two?)))
        };
        let nodes = a.nodes(a.main_graph()).filter_map(|node| Some((node, *self.pairs.nodes.get(node)?)));
        let nodes = nodes.filter(|(_, other)| b.node(*other).graph() == b.main_graph());
        CorrespondingValues {
            by_structure: nodes.flat_map(outputs).collect(),
            by_weights: anchors::anchors(self.a, self.b).into_iter().flat_map(outputs).collect(),
            by_form: forms::forms(self.a, self.b, &self.border.ports).into_iter().flat_map(outputs).collect(),
        }
    }
}

/// Matches two models.
fn with_pairs<T>(
    a: &Model,
    b: &Model,
    options: &DiffOptions<'_>,
    use_them: impl FnOnce(&Matched<'_>) -> Result<T, Stopped>,
) -> Result<T, Stopped> {
    let border = Border::of(a, b);
    let (a, b) = sides(a, b, &border, options)?;
    let pairs = matching::matched(&a, &b, &border, &options.execution)?;
    use_them(&Matched { a: &a, b: &b, border: &border, pairs: &pairs })
}

/// Both models with the digests of what is compared.
fn sides<'a>(
    a: &'a Model,
    b: &'a Model,
    border: &'a Border,
    options: &DiffOptions<'a>,
) -> Result<(Side<'a>, Side<'a>), Stopped> {
    let shared = match options.same_files && options.weights {
        true => shared_ranges(a, b, options.data_of_a),
        false => HashSet::new(),
    };
    let side = |at: usize, model, source| {
        let contents = match options.weights {
            true => Some(Contents::read_except(model, source, &shared, &options.execution)?),
            false => None,
        };
        let [first, second] = &border.ports;
        let ports = if at == 0 { first } else { second };
        Side::new(model, source, ports, contents, &options.execution)
    };
    Ok((side(0, a, options.data_of_a)?, side(1, b, options.data_of_b)?))
}
