//! Content hashes of models: see [`hash_model`].

mod colors;
mod contents;
mod label;
mod message;
mod order;

use onnx_diag::Locus;
use onnx_ir::{FunctionId, GraphId, Model, OpsetScope, OpsetVersions, TensorHolder};
use onnx_schema::normalize_domain;
use onnx_types::tensor::{DataSource, NoData, TensorError};
use onnx_types::{Execution, Stopped};

pub(crate) use colors::{Colors, Ports, nested};
pub(crate) use contents::{Contents, shared_ranges};
pub(crate) use label::{Labels, declared, given};
pub use message::Digest;
pub(crate) use message::Message;

/// Version of the scheme of [`hash_model`]. Digests of different versions are never equal.
pub const HASH_VERSION: u32 = 1;

/// Options of [`hash_model`].
#[derive(Clone)]
#[non_exhaustive]
pub struct HashOptions<'a> {
    /// External data of the model. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, interrupt and progress, in bytes of weights.
    pub execution: Execution,
}

impl Default for HashOptions<'_> {
    fn default() -> Self {
        Self { data: &NoData, execution: Execution::DEFAULT }
    }
}

onnx_types::option_setters! {
    HashOptions<'a> {
        with_data => data: &'a dyn DataSource,
        with_execution => execution: Execution,
    }
}

/// The content hash of a model: see [`hash_model`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct ModelHash {
    /// Everything below together, with the owner of each weight.
    pub model: Digest,
    /// Operators, attributes, edges and functions, with types and dimensions of tensors instead of their elements.
    pub structure: Digest,
    /// Names, order and types of inputs and outputs.
    pub interface: Digest,
    /// Types, dimensions and elements of all tensors, independent of their owners.
    pub weights: Digest,
}

/// Why a model has no hash.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// The elements of a tensor cannot be read: its locus, and the reason.
    #[error("{}: {}", .0.0, .0.1)]
    Unreadable(Box<(Locus, TensorError)>),
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl HashError {
    /// The limit that was exceeded, if that is the reason.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        let Self::Unreadable(unreadable) = self else { return None };
        match &unreadable.1 {
            TensorError::Data(error) => error.limit(),
            TensorError::TooLarge { .. } => Some("splat_bytes"),
            _ => None,
        }
    }
}

/// Returns the content hash of a model. Models have equal hashes if they are equal up to the names of inner values and nodes,
/// the order of nodes (any valid one), initializers, attributes and functions, the encoding of tensors (typed fields, raw or
/// external data, wherever the file is), and explicitly encoded defaults of attributes. Documentation, metadata, producer,
/// IR version, `value_info`, quantization annotations and device configurations are not part of the hash.
///
/// # What counts
///
/// * Each node, also one that nothing uses: domain, operator, overload, attributes by their bits, and which operands and
///   results are omitted, except at the end. The order of operands and results counts, also of commutative operators.
/// * Each initializer, also one that nothing uses, and the graph that defines it.
/// * Nested graphs as part of their nodes, with the declared types of their inputs and outputs.
/// * Functions with domain, name, overload, attributes, defaults, operator sets and body. Functions are identified by name, not
///   only by content, because runtimes implement some of them by name.
/// * Operator sets, `ai.onnx` being the empty domain; of repeated imports the one that counts.
/// * Inputs and outputs with names, order, types and names of dimension variables.
/// * Training information.
///
/// # The scheme
///
/// Version 1 is SHA-256 over messages that begin with `onnx-hash/1` and the kind of the message. The *label* of a node or
/// initializer covers what it is by itself, the *forward color* its label and the forward colors of its operands, the *backward
/// color* its forward color and the sorted backward colors of its uses with their positions. The structure is the sorted list of
/// backward colors, so a model is hashed in linear time, up to sorting. Two models whose outputs depend on all nodes have the
/// same hash only if they are isomorphic (or SHA-256 collides). For nodes that no output depends on, colors tell apart all but
/// regular arrangements of equal nodes, which have no effect.
///
/// ```
/// use onnx_diff::{HashOptions, hash_model};
/// use onnx_text::{ParseOptions, parse_model};
///
/// let hash = |text: &str| {
///     let model = parse_model(text, &ParseOptions::default()).expect("it is a model");
///     hash_model(&model, &HashOptions::default()).expect("the weights are in the model")
/// };
/// let head = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y)"#;
/// let one = hash(&format!("{head} <float s = {{2}}> {{ a = Exp (x) b = Log (x) c = Mul (a, s) y = Sub (c, b) }}"));
/// let renamed = hash(&format!("{head} <float t = {{2}}> {{ p = Log (x) q = Exp (x) r = Mul (q, t) y = Sub (r, p) }}"));
/// let changed = hash(&format!("{head} <float s = {{3}}> {{ a = Exp (x) b = Log (x) c = Mul (a, s) y = Sub (c, b) }}"));
/// assert_eq!(one, renamed);
/// assert_ne!(one.model, changed.model);
/// assert_ne!(one.weights, changed.weights);
/// assert_eq!(one.structure, changed.structure);
/// ```
///
/// # Errors
///
/// Returns an error if the elements of a tensor cannot be read, or the work is interrupted.
pub fn hash_model(model: &Model, options: &HashOptions<'_>) -> Result<ModelHash, HashError> {
    let contents = Contents::read(model, options.data, &options.execution)?.complete(model)?;
    let structure = hash_structure(model, &options.execution)?;
    let interface = hash_interface(model);
    let with_elements = Labels { model, contents: Some(&contents) };
    let whole = of_structure(with_elements, &options.execution)?;
    let model = Message::new().begin("model").digest(interface).digest(whole).finish();
    Ok(ModelHash { model, structure, interface, weights: contents.weights() })
}

/// Returns [`ModelHash::structure`]. No weight is read.
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn hash_structure(model: &Model, execution: &Execution) -> Result<Digest, Stopped> {
    of_structure(Labels { model, contents: None }, execution)
}

/// Returns [`ModelHash::weights`].
///
/// # Errors
///
/// Returns an error if the elements of a tensor cannot be read, or the work is interrupted.
pub fn hash_weights(model: &Model, options: &HashOptions<'_>) -> Result<Digest, HashError> {
    Ok(Contents::read(model, options.data, &options.execution)?.complete(model)?.weights())
}

/// Returns [`ModelHash::interface`].
#[must_use]
pub fn hash_interface(model: &Model) -> Digest {
    let labels = Labels { model, contents: None };
    let graph = model.graph(model.main_graph());
    let mut message = Message::new();
    message.begin("interface").count(graph.inputs().len());
    for &input in graph.inputs() {
        let value = model.value(input);
        labels.name(value.name(), &mut message);
        labels.ty(value.ty(), &mut message);
        message.byte(value.initializer().is_some().into());
    }
    message.count(graph.outputs().len());
    for output in graph.outputs() {
        labels.name(model.value(output.value()).name(), &mut message);
        labels.ty(declared(model, output), &mut message);
    }
    message.finish()
}

fn of_structure(labels: Labels<'_>, execution: &Execution) -> Result<Digest, Stopped> {
    let model = labels.model;
    let colors = Colors::of(labels, &Ports::default(), execution)?;
    execution.interrupt.check()?;
    let mut message = Message::new();
    message.begin("structure");
    imports(model, model.versions_of(OpsetScope::Model), &mut message);
    message.digest(of_graph(labels, &colors, model.main_graph()));
    let functions =
        model.functions().iter().map(|&function| of_function(labels, &colors, function)).collect();
    message.multiset(functions);
    let training = &model.info().training;
    message.count(training.len());
    for step in training {
        for graph in [step.initialization, step.algorithm] {
            message.byte(graph.is_some().into());
            if let Some(graph) = graph {
                message.digest(of_graph(labels, &colors, graph));
            }
        }
        message.count(step.initialization_binding.len()).count(step.update_binding.len());
    }
    colors.bindings.iter().for_each(|&binding| _ = message.digest(binding));
    // What is not needed any more takes time to free, too.
    execution.interrupt.check()?;
    Ok(message.finish())
}

/// The digest of a graph without an owner and of everything nested in it.
fn of_graph(labels: Labels<'_>, colors: &Colors, graph: GraphId) -> Digest {
    let (model, mut scratch, mut message) = (labels.model, Message::new(), Message::new());
    message.begin("graph").count(model.graph(graph).inputs().len());
    for &input in model.graph(graph).inputs() {
        message.digest(labels.initializer(input, &mut scratch));
    }
    let outputs = colors.outputs.get(graph).map_or(&[][..], Vec::as_slice);
    message.count(outputs.len());
    outputs.iter().for_each(|&output| _ = message.digest(output));
    let (mut nodes, mut initializers) = (Vec::new(), Vec::new());
    for graph in model.graphs_in(graph) {
        nodes.extend(model.nodes(graph).filter_map(|node| colors.backward.get(node)).copied());
        initializers.extend(model.initializers(graph).filter_map(|value| colors.used.get(value)).copied());
    }
    message.multiset(nodes).multiset(initializers).finish()
}

fn of_function(labels: Labels<'_>, colors: &Colors, function: FunctionId) -> Digest {
    let (model, record) = (labels.model, labels.model.function(function));
    let mut message = Message::new();
    message.begin("function");
    for name in [record.domain(), record.name(), record.overload()] {
        labels.name(name, &mut message);
    }
    let mut attributes: Vec<&str> = record.attributes.iter().map(|&name| model.str(name)).collect();
    attributes.sort_unstable();
    message.count(attributes.len());
    attributes.iter().for_each(|name| _ = message.text(name.as_bytes()));
    let defaults = given(model, &record.defaults, None);
    message.count(defaults.len());
    for (position, default) in defaults {
        labels.attribute(TensorHolder::Default(function, position), default, &mut message);
    }
    for graph in record.defaults.iter().flat_map(|default| default.value().graphs()) {
        message.digest(of_graph(labels, colors, *graph));
    }
    imports(model, model.versions_of(OpsetScope::Function(function)), &mut message);
    message.digest(of_graph(labels, colors, record.body())).finish()
}

/// The operator sets in scope, by domain.
fn imports(model: &Model, versions: &OpsetVersions, message: &mut Message) {
    let mut imports: Vec<(&str, Option<i64>)> = versions
        .iter()
        .map(|(domain, _)| (model.str(normalize_domain(domain)), versions.get(domain)))
        .collect();
    imports.sort_unstable();
    imports.dedup();
    message.count(imports.len());
    for (domain, version) in imports {
        message.text(domain.as_bytes()).signed(version.unwrap_or_default());
    }
}
