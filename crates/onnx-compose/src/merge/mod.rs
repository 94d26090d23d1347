//! Several models become one.

mod assemble;
mod conditions;
mod declared;
mod dims;
mod error;
mod info;
mod names;
mod seam;
mod versions;

use std::borrow::Cow;

use onnx_ir::{Def, GraphId, GraphOutput, Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::Execution;
use slotmap::SecondaryMap;

use self::declared::Declared;
pub use self::error::MergeError;

/// Options of [`merge`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MergeOptions<'a> {
    /// The operators that are known to inference and to the conversion of operator set versions.
    pub registry: Option<&'a Registry>,
    /// Limits, interrupt and progress.
    pub execution: Execution,
    /// The prefixes of all names of values and nodes, one for each model; a model without one has none.
    pub prefixes: Vec<String>,
    /// Names of dimension variables that mean the same size in all models.
    pub same_dimensions: Vec<String>,
    /// The outputs of the result, in order: models by index, and values of their main graphs. Without it, the outputs of all
    /// models that are not connected.
    pub outputs: Option<Vec<(usize, ValueId)>>,
    /// Whether training information is removed, which refers to a whole model. Without it, models that have it are refused.
    pub drop_training: bool,
}

onnx_types::option_setters! {
    MergeOptions<'a> {
        with_registry => registry: into Option<&'a Registry>,
        with_execution => execution: into Execution,
        with_drop_training => drop_training: bool,
    }
}

impl MergeOptions<'_> {
    /// The same with these [`outputs`](Self::outputs).
    #[must_use]
    pub fn with_outputs(mut self, outputs: Vec<(usize, ValueId)>) -> Self {
        self.outputs = Some(outputs);
        self
    }

    /// The same with these [`prefixes`](Self::prefixes).
    #[must_use]
    pub fn with_prefixes(mut self, prefixes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.prefixes = prefixes.into_iter().map(Into::into).collect();
        self
    }

    /// The same with these [`same_dimensions`](Self::same_dimensions).
    #[must_use]
    pub fn with_same_dimensions(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.same_dimensions = names.into_iter().map(Into::into).collect();
        self
    }
}

/// A value of one model that replaces an input of another one, or of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// The index of a model, and a value of its main graph: an output, an input that both share, or an inner value.
    pub from: (usize, ValueId),
    /// The index of a model, and an input of its main graph.
    pub to: (usize, ValueId),
}

impl Connection {
    /// Connects a value of a model to an input of a model.
    #[must_use]
    pub const fn new(from: (usize, ValueId), to: (usize, ValueId)) -> Self {
        Self { from, to }
    }
}

/// The kind of an element that has another name in the merged model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenamedKind {
    /// An input or output of the result.
    Interface,
    /// A value inside.
    Value,
    /// A node.
    Node,
    /// A dimension variable.
    Dimension,
    /// A function: `domain.name:overload`.
    Function,
    /// A key of the metadata of the model.
    Metadata,
}

/// An element of a model that has another name in the merged model, because the name is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// The index of the model.
    pub model: usize,
    /// The kind of the element.
    pub kind: RenamedKind,
    /// The name in the model, with the prefix.
    pub from: String,
    /// The name in the merged model.
    pub to: String,
}

/// An operator set that was raised to the version of another model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Raised {
    /// The index of the model.
    pub model: usize,
    /// The domain.
    pub domain: String,
    /// The version that the model imported.
    pub from: i64,
    /// The version of the merged model.
    pub to: i64,
}

/// The merged model, and what merging changed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Merged {
    /// The model.
    pub model: Model,
    /// The elements that have another name.
    pub renamed: Vec<Renamed>,
    /// Operator sets that were raised.
    pub raised: Vec<Raised>,
    /// Number of initializers and `Constant` nodes that are shared with an equal one of the same name.
    pub shared_initializers: usize,
    /// Number of functions that are shared with an equal one of the same identity.
    pub shared_functions: usize,
    /// Dimension variables that a connection binds: the index of the model, the variable and the size.
    pub bound: Vec<(usize, String, i64)>,
    /// Whether training information was removed.
    pub removed_training: bool,
}

/// A model that is merged, as it is changed before that.
#[derive(Clone)]
struct Part<'a> {
    model: Cow<'a, Model>,
}

impl Part<'_> {
    fn main(&self) -> GraphId {
        self.model.main_graph()
    }
}

/// Merges models into one: connected inputs are replaced by the values that they are connected to, everything else is side by
/// side. Inputs, and outputs that are not connected, are those of the models, in order.
///
/// Names are kept unless they collide; on a collision the earlier model keeps the name, and inputs and outputs keep it
/// before inner values. Functions that mean the same are shared, and so are initializers and `Constant` nodes of one
/// name that are equal. Older operator sets are raised to the newest version of any model. A dimension variable of one
/// model is not that of another one unless a connection or [`same_dimensions`](MergeOptions::same_dimensions) says so;
/// expressions get the names and sizes of their variables. Locations of external data must be relative to one
/// directory.
///
/// # Errors
///
/// Returns the reason why the models cannot be merged. They are never changed.
pub fn merge(
    models: &[&Model],
    connections: &[Connection],
    options: &MergeOptions<'_>,
) -> Result<Merged, MergeError> {
    let standard = Registry::default();
    let registry = options.registry.unwrap_or(&standard);
    if models.is_empty() {
        return Err(MergeError::NoModels);
    }
    error::check_limits(models, &options.execution)?;
    let mut connections = connections.to_vec();
    check(models, &connections, options)?;
    let mut outputs = options.outputs.clone().unwrap_or_else(|| default_outputs(models, &connections));
    let mut parts: Vec<Part<'_>> = models.iter().map(|&model| Part { model: Cow::Borrowed(model) }).collect();
    let mut merged = Merged {
        removed_training: models.iter().any(|model| !model.info().training.is_empty()),
        ..Merged::default()
    };
    let mut places: Vec<(usize, ValueId)> = outputs.clone();
    places.extend(connections.iter().flat_map(|connection| [connection.from, connection.to]));
    versions::unify(&mut parts, registry, &mut places, &mut merged)?;
    replace_endpoints(&mut outputs, &mut connections, places);
    let interrupt = &options.execution.interrupt;
    interrupt.check()?;
    let mut declared = Declared::new(&parts, options)?;
    interrupt.check()?;
    let mut classes = seam::unify(&parts, &connections, &declared, (options, registry))?;
    let begin = (parts.clone(), merged.clone());
    let assemble = |parts: &mut [Part<'_>], merged: &mut Merged, sizes: (&mut Declared, &dims::Classes)| {
        let (dims, of_names) = dims::targets(parts, sizes, &mut merged.renamed, &mut merged.bound);
        let done = assemble::assemble(parts, &connections, &outputs, (&dims, options, registry), merged);
        done.map(|done| (done, of_names, dims))
    };
    let (mut assembled, of_names, mut targets) =
        assemble(&mut parts, &mut merged, (&mut declared, &classes))?;
    interrupt.check()?;
    let has_variables = merged.renamed.iter().any(|renamed| renamed.kind == RenamedKind::Dimension);
    let (model, sources) = (&merged.model, assembled.sources.as_slice());
    let (of_parts, context) = ((parts.as_slice(), connections.as_slice()), (options, registry));
    let sizes = (&declared, &of_names, &mut classes);
    if has_variables && seam::unify_merged(of_parts, (model, sources), sizes, context)? {
        (parts, merged) = begin;
        (assembled, _, targets) = assemble(&mut parts, &mut merged, (&mut declared, &classes))?;
    }
    let of_parts = (parts.as_slice(), connections.as_slice());
    seam::keep_proved(
        &mut merged.model,
        &assembled.bound,
        of_parts,
        (&assembled.sources, &targets),
        (options, registry),
    )?;
    let merging = conditions::Merging {
        parts: &parts,
        connections: &connections,
        sources: &assembled.sources,
        origins: &assembled.origins,
        declared: &declared,
        targets: &targets,
    };
    interrupt.check()?;
    conditions::keep(&mut merged.model, &merging, options, registry)?;
    check_types(models, &merged.model, options, registry)?;
    Ok(merged)
}

/// Replaces outputs and endpoints of connections by the corresponding values of converted models: `values` has those of the outputs,
/// then two for each connection.
fn replace_endpoints(
    outputs: &mut [(usize, ValueId)],
    connections: &mut [Connection],
    values: Vec<(usize, ValueId)>,
) {
    let mut values = values.into_iter();
    for slot in outputs {
        *slot = values.next().unwrap_or(*slot);
    }
    for connection in connections {
        connection.from = values.next().unwrap_or(connection.from);
        connection.to = values.next().unwrap_or(connection.to);
    }
}

/// The connections of every input to the last earlier output of its name, or else to the first earlier input of its name.
#[must_use]
pub fn connections_by_name(models: &[&Model]) -> Vec<Connection> {
    let mut outputs: std::collections::HashMap<&str, (usize, ValueId), foldhash::fast::RandomState> =
        Default::default();
    let mut inputs = outputs.clone();
    let mut connections = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let graph = model.graph(model.main_graph());
        for &input in graph.inputs() {
            let name = model.str(model.value(input).name());
            let from = outputs.get(name).or_else(|| inputs.get(name)).copied();
            match from.filter(|&(other, _)| other != index && !name.is_empty()) {
                Some(from) => connections.push(Connection::new(from, (index, input))),
                None => {
                    inputs.entry(name).or_insert((index, input));
                }
            }
        }
        for output in graph.outputs() {
            let value = output.value();
            outputs.insert(model.str(model.value(value).name()), (index, value));
        }
    }
    connections
}

/// The outputs of all models that are not connected.
fn default_outputs(models: &[&Model], connections: &[Connection]) -> Vec<(usize, ValueId)> {
    let mut connected: Vec<SecondaryMap<ValueId, ()>> = models.iter().map(|_| SecondaryMap::new()).collect();
    for connection in connections {
        let (model, value) = connection.from;
        // An input that is shared stays an output of its model.
        let is_input = |model: &&Model| {
            model.get_value(value).is_some_and(|record| matches!(record.def(), Def::Input { .. }))
        };
        if let Some(of_model) = connected.get_mut(model).filter(|_| !models.get(model).is_some_and(is_input))
        {
            of_model.insert(value, ());
        }
    }
    let of_model = |(index, model): (usize, &&Model)| {
        let values =
            model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect::<Vec<_>>();
        let connected = connected.get(index);
        values
            .into_iter()
            .filter(|&value| !connected.is_some_and(|connected| connected.contains_key(value)))
            .map(|value| (index, value))
            .collect::<Vec<_>>()
    };
    models.iter().enumerate().flat_map(of_model).collect()
}

/// Refuses requests and models that do not fit.
fn check(
    models: &[&Model],
    connections: &[Connection],
    options: &MergeOptions<'_>,
) -> Result<(), MergeError> {
    let is_of_main = |(index, value): (usize, ValueId)| {
        let model = models.get(index)?;
        let home = model.get_value(value).map(|_| model.graph_of(value))?;
        (home == model.main_graph()).then_some(())
    };
    let mut taken: Vec<SecondaryMap<ValueId, ()>> = models.iter().map(|_| SecondaryMap::new()).collect();
    for (index, connection) in connections.iter().enumerate() {
        let refuse = |reason: String| Err(MergeError::Connection { index, reason });
        if is_of_main(connection.from).is_none() || is_of_main(connection.to).is_none() {
            return refuse("a value is not of the main graph of its model".to_owned());
        }
        let (of, input) = connection.to;
        let Some(model) = models.get(of) else { continue };
        let name = crate::interface::name(model, input);
        if !matches!(model.value(input).def(), Def::Input { .. }) {
            return refuse(format!("`{name}` is not an input of model {}", of.saturating_add(1)));
        }
        if taken.get_mut(of).is_some_and(|taken| taken.insert(input, ()).is_some()) {
            return refuse(format!(
                "the input `{name}` of model {} is connected twice",
                of.saturating_add(1)
            ));
        }
    }
    if let Some(&(model, _)) = options.outputs.iter().flatten().find(|&&output| is_of_main(output).is_none())
    {
        return Err(MergeError::Model {
            model,
            reason: "an output is not of the main graph of the model".to_owned(),
        });
    }
    for (index, model) in models.iter().enumerate() {
        let refuse = |reason: &str| Err(MergeError::Model { model: index, reason: reason.to_owned() });
        if !options.drop_training && !model.info().training.is_empty() {
            return refuse("it has training information, which refers to the whole model");
        }
        if model.info().opset_imports.is_empty() && model.node_count() > 0 {
            return refuse("it imports no operator set");
        }
    }
    Ok(())
}

/// Refuses a merged model in which inference finds contradictions that no model had.
fn check_types(
    models: &[&Model],
    merged: &Model,
    options: &MergeOptions<'_>,
    registry: &Registry,
) -> Result<(), MergeError> {
    let found = |model: &Model| {
        let infer_options =
            InferOptions::default().with_registry(registry).with_execution(options.execution.clone());
        let inference = infer(model, &infer_options);
        match inference.stopped() {
            Some(stopped) => Err(MergeError::Stopped(stopped)),
            None => Ok(inference.findings().clone()),
        }
    };
    let after = found(merged)?;
    if !after.has_errors() {
        return Ok(());
    }
    let mut before = 0;
    for model in models {
        before += found(model)?.counts().errors;
    }
    if after.counts().errors <= before {
        return Ok(());
    }
    let first = after.diagnostics().iter().find(|found| found.severity == onnx_diag::Severity::Error);
    let reason = first.map(|found| found.message.to_string()).unwrap_or_default();
    Err(MergeError::Contradiction { reason })
}
