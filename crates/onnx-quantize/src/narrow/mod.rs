//! Models in half precision.

mod apply;
mod between;
mod change;
mod control_flow;
mod counts;
mod cut;
mod functions;
mod index;
mod large;
mod mask;
mod not_taken;
mod precision;
mod range;
mod rounding;
mod runtime;
mod slots;
mod solve;
mod want;

use std::collections::{HashMap, HashSet};
use std::fmt;

use foldhash::fast::RandomState;
use onnx_check::{CheckOptions, check};
use onnx_diag::{Diagnostic, Quoted, Severity};
use onnx_eval::Value;
use onnx_ir::{Model, NodeId, Use, ValueId};
use onnx_schema::{Registry, attr, op};
use onnx_select::{Element, Selectors};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{DataSource, NoData, TensorError};
use onnx_types::{Execution, Stopped, Watch};

pub(crate) use self::apply::cast_code;
use self::apply::{ApplyError, Choice, apply};
use self::change::Change;
use self::functions::{Typed, specialize};
pub(crate) use self::functions::{Types, collect as collect_types};
pub(crate) use self::index::keep as keep_indices;
pub use self::not_taken::NotTaken;
use self::not_taken::{find_versions, has_type};
pub use self::rounding::{Half, RoundingLosses};
pub(crate) use self::slots::Kept;
use self::slots::Slots;
pub(crate) use self::slots::is_weight;
use self::want::TypeAttribute;
pub use self::want::WideReason;
use crate::edits::raise_ir_version;
use crate::samples::Samples;
use crate::types::is_dense;
use crate::weights::Reading;

/// Settings of [`narrow`].
#[derive(Clone)]
#[non_exhaustive]
pub struct NarrowOptions<'a> {
    /// Whether inputs and outputs of the model keep their types, with casts behind and before them. Off by default.
    pub keep_io: bool,
    /// The only nodes that may become narrow; their nested graphs are not included. Default: all.
    pub only: Option<&'a HashSet<NodeId>>,
    /// Nodes that stay as they are, with their nested graphs. Default: none.
    pub except: &'a [NodeId],
    /// Whether the model runs on inputs, to find numbers that are out of range. On by default.
    pub run: bool,
    /// Values of inputs by name for the run; others are generated.
    pub given: &'a [(&'a str, Value)],
    /// The inputs of the runs. Default: one that is generated, with the values that are given.
    pub samples: Option<&'a dyn Samples>,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// The seed of generated inputs, limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for NarrowOptions<'_> {
    fn default() -> Self {
        Self {
            keep_io: false,
            only: None,
            except: &[],
            run: true,
            given: &[],
            samples: None,
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    NarrowOptions<'a> {
        with_keep_io => keep_io: bool,
        with_only => only: Option<&'a HashSet<NodeId>>,
        with_except => except: &'a [NodeId],
        with_run => run: bool,
        with_given => given: &'a [(&'a str, Value)],
        with_samples => samples: Option<&'a dyn Samples>,
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for NarrowOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NarrowOptions")
            .field("keep_io", &self.keep_io)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Why a model cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NarrowError {
    /// The model has training information, or a `Gradient`.
    #[error("the model has training information, whose results depend on the types of the nodes between")]
    Training,
    /// No node of the model gets the type in the versions that are imported, and one would in a newer version.
    #[error("{0}")]
    NotTaken(Box<NotTaken>),
    /// A weight cannot be read.
    #[error("the elements of {} cannot be read: {reason}", Quoted(tensor))]
    Weight {
        /// Its name.
        tensor: String,
        /// The reason.
        reason: TensorError,
    },
    /// The result is not valid, whatever stays `float`. This is a defect of this crate.
    #[error("the result would not be valid: {0}")]
    Invalid(String),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A node that keeps the type that is replaced, at least in part.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WideNode {
    /// The node.
    pub node: NodeId,
    /// Its operator.
    pub op: String,
    /// The name of its first output.
    pub name: String,
    /// Why it does.
    pub reason: WideReason,
    /// The first newer version of the ONNX operators in which its operator takes the type, if the [reason](Self::reason) is that the imported
    /// one does not.
    pub version: Option<i64>,
}

/// A constant that is rounded with notable losses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RoundedTensor {
    /// The name of its value.
    pub name: String,
    /// What is lost.
    pub losses: RoundingLosses,
}

/// What a conversion did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Narrowed {
    /// Number of nodes that compute or move elements of the new type.
    pub nodes: usize,
    /// The nodes that keep the old one, in order.
    pub wide: Vec<WideNode>,
    /// Number of casts that were added.
    pub casts: usize,
    /// Number of casts of the model that had no effect afterwards, and were removed.
    pub removed_casts: usize,
    /// Number of constants in the new type.
    pub constants: usize,
    /// Those with notable losses.
    pub tensors: Vec<RoundedTensor>,
    /// Why the range of the numbers is not known: the model does not run.
    pub not_run: Option<String>,
    /// The worst numbers out of range, by the name of the first output of their nodes.
    pub out_of_range: Vec<(String, f64)>,
    /// The scales and factors that are too small for the type, each with the relative error that it would have. Their nodes stay.
    pub imprecise: Vec<(String, f64)>,
    /// Why the model is unchanged, if it is: nothing in it can get the type.
    pub unchanged: Option<Box<NotTaken>>,
}

impl Narrowed {
    /// Nothing was done, for a reason.
    fn nothing(reason: NotTaken, done: Self) -> Self {
        Self {
            nodes: 0,
            casts: 0,
            removed_casts: 0,
            constants: 0,
            tensors: Vec::new(),
            unchanged: Some(Box::new(reason)),
            ..done
        }
    }
}

/// Most attempts to get a valid result by leaving more nodes as they are.
const MOST_ATTEMPTS: usize = 8;

/// Changes `float` to a narrow type wherever the operators of the model take it in the versions that the model imports, in nested
/// graphs and functions, too, with as few casts as possible. The root page of the crate describes the choice.
///
/// The result is inferred and checked; nodes that could not be typed stay as they are. The model is unchanged after an error, and if
/// nothing in it can get the type: the result has the [reason](Narrowed::unchanged).
///
/// # Errors
///
/// Returns an error if the model cannot be converted, or has to be converted to newer versions of the operators first.
pub fn narrow(model: &mut Model, half: Half, options: &NarrowOptions<'_>) -> Result<Narrowed, NarrowError> {
    change(model, Change::Narrow(half), options)
}

/// Changes `float16` and `bfloat16` back to `float`, by the same rules: the numbers of constants stay, and nodes compute with more bits.
/// Casts that have no effect afterwards are removed, so that a model that [`narrow`] made has the types that it had.
///
/// The model does not run for it: `float` has every number of the narrow types. A node that computes with both types counts twice.
///
/// # Errors
///
/// Returns an error if the model cannot be converted. It is unchanged then, and also if it has none of these types.
pub fn widen(model: &mut Model, options: &NarrowOptions<'_>) -> Result<Narrowed, NarrowError> {
    let mut result = model.clone();
    let mut all: Option<Narrowed> = None;
    for half in [Half::Float16, Half::Bfloat16] {
        // The first type may have needed casts that are gone.
        let except: Vec<NodeId> =
            options.except.iter().copied().filter(|&node| result.get_node(node).is_some()).collect();
        let options = NarrowOptions { except: &except, ..options.clone() };
        let done = change(&mut result, Change::Widen(half), &options)?;
        all = Some(match all {
            Some(all) if done.unchanged.is_some() => all,
            Some(all) if all.unchanged.is_some() => Narrowed { wide: [all.wide, done.wide].concat(), ..done },
            None => done,
            Some(mut all) => {
                all.nodes += done.nodes;
                all.casts += done.casts;
                all.removed_casts += done.removed_casts;
                all.constants += done.constants;
                all.wide.extend(done.wide);
                all
            }
        });
    }
    let done = all.ok_or_else(|| NarrowError::Invalid("a narrow type is missing".to_owned()))?;
    if done.unchanged.is_none() {
        *model = result;
    }
    Ok(done)
}

fn change(model: &mut Model, change: Change, options: &NarrowOptions<'_>) -> Result<Narrowed, NarrowError> {
    let refers = model.all_graphs().flat_map(|graph| model.nodes(graph));
    let names_values = |node: NodeId| model.node(node).named_values().next().is_some();
    if !model.info().training.is_empty() || refers.into_iter().any(names_values) {
        return Err(NarrowError::Training);
    }
    let errors = errors_of(model, options)?;
    let mut forced = Kept::default();
    for count in 1..=MOST_ATTEMPTS {
        options.execution.interrupt.check()?;
        let mut result = model.clone();
        options.execution.interrupt.check()?;
        let mut done = attempt(&mut result, change, options, &forced)?;
        raise_ir_version(&mut result);
        // A copy of a function has the errors of the function, at another place.
        let is_new = |error: &Diagnostic| {
            !errors.iter().any(|old| old.rule == error.rule && old.message == error.message)
        };
        let new: Vec<Diagnostic> = errors_of(&result, options)?.into_iter().filter(is_new).collect();
        let Some(first) = new.first() else {
            if done.nodes == 0 {
                let reason = NotTaken::new(model, change, &done, options);
                // What has the type already was converted: the rest stays as it did then.
                return match reason.versions.is_empty() || has_type(model, change, options) {
                    true => Ok(Narrowed::nothing(reason, done)),
                    false => Err(NarrowError::NotTaken(Box::new(reason))),
                };
            }
            find_versions(model, change, &mut done, options);
            *model = result;
            return Ok(done);
        };
        let selectors = Selectors::new(&result);
        let before = forced.len();
        for error in &new {
            let node = match selectors.element(&error.locus) {
                Some(Element::Node(node)) => Some(node),
                Some(Element::Value(value)) => result.value(value).producer(),
                _ => None,
            };
            if let Some(node) = node {
                force(model, &result, node, &mut forced);
            }
        }
        if forced.len() == before || count == MOST_ATTEMPTS {
            return Err(NarrowError::Invalid(first.message.clone()));
        }
    }
    Err(NarrowError::Invalid("too many attempts".to_owned()))
}

/// Keeps a node that is not valid; for one that the conversion added, the nodes next to it.
fn force(model: &Model, result: &Model, node: NodeId, forced: &mut Kept) {
    if model.get_node(node).is_some() {
        forced.insert(node, WideReason::Validity);
        return;
    }
    let record = result.node(node);
    let makers = record.inputs().flatten().filter_map(|value| result.value(value).producer());
    let users = record.outputs().iter().copied().flatten().flat_map(|value| result.consumers(value));
    let next: Vec<NodeId> = makers.chain(users).filter(|&node| model.get_node(node).is_some()).collect();
    next.into_iter().for_each(|node| _ = forced.insert(node, WideReason::Validity));
}

/// The errors of a model, those of types and shapes included.
fn errors_of(model: &Model, options: &NarrowOptions<'_>) -> Result<Vec<Diagnostic>, Stopped> {
    let known = infer_options(options).with_check_types(true);
    let inferred = infer(model, &known).findings().diagnostics().to_vec();
    let execution = options.execution.clone();
    let checked =
        check(model, &CheckOptions::default().with_registry(options.registry).with_execution(execution));
    // Work that is stopped has findings, too.
    options.execution.interrupt.check()?;
    let all = inferred.into_iter().chain(checked.into_diagnostics());
    Ok(all.filter(|found| found.severity == Severity::Error).collect())
}

fn infer_options<'a>(options: &NarrowOptions<'a>) -> InferOptions<'a> {
    InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone())
}

fn attempt(
    model: &mut Model,
    change: Change,
    options: &NarrowOptions<'_>,
    forced: &Kept,
) -> Result<Narrowed, NarrowError> {
    let mut kept = kept(model, options);
    kept.extend(forced.iter().map(|(&node, &reason)| (node, reason)));
    let invalid = |error: onnx_ir::EditError| match error {
        onnx_ir::EditError::Stopped => Stopped.into(),
        error => NarrowError::Invalid(error.to_string()),
    };
    let interrupt = &options.execution.interrupt;
    let Typed { types, functions } =
        specialize(model, &infer_options(options), &mut kept).map_err(invalid)?;
    let (mut counters, mut imprecise) = (Vec::new(), Vec::new());
    // `float` has every number of the narrow types.
    let (losses, ranges) = match change {
        Change::Narrow(half) => {
            interrupt.check()?;
            counters = index::keep(model, &types, &functions, &mut kept);
            interrupt.check()?;
            let mut losses = constants(model, &types, half, options)?;
            mask::confirm(model, &mut losses);
            imprecise = precision::keep(model, half, &losses, &mut kept);
            interrupt.check()?;
            let ranges = range::keep(model, &types, half, options, &losses, &mut kept);
            interrupt.check()?;
            runtime::keep(model, &mut kept);
            between::keep(model, &types, half, options.registry, &mut kept);
            (losses, ranges)
        }
        Change::Widen(_) => Default::default(),
    };
    interrupt.check()?;
    let wide = (&counters[..], &ranges.wide[..]);
    let (choice, mut done) = choose(model, change, options, (&types, wide), &functions, &kept, &losses)?;
    interrupt.check()?;
    done.not_run = ranges.not_run;
    done.out_of_range = ranges.worst;
    done.imprecise = imprecise;
    let reading = Reading { data: options.data, interrupt };
    (done.casts, done.removed_casts) =
        apply(model, &choice, &types, change, reading).map_err(|error| match error {
            ApplyError::Stopped(stopped) => stopped.into(),
            ApplyError::Edit(error) => invalid(error),
            ApplyError::Tensor(tensor, reason) => NarrowError::Weight { tensor, reason },
        })?;
    interrupt.check()?;
    // What is not needed any more takes time to free, too.
    drop((choice, types, functions));
    interrupt.check()?;
    model.verify_until(interrupt)?.map_err(|faults| {
        NarrowError::Invalid(faults.first().map(ToString::to_string).unwrap_or_default())
    })?;
    interrupt.check()?;
    Ok(done)
}

/// The nodes that are not selected.
fn kept(model: &Model, options: &NarrowOptions<'_>) -> Kept {
    let mut kept = Kept::default();
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    for node in nodes {
        if options.only.is_some_and(|only| !only.contains(&node)) {
            kept.insert(node, WideReason::Selection);
        }
    }
    for &node in options.except {
        kept.insert(node, WideReason::Selection);
        for graph in model.node(node).nested_graphs() {
            model.nodes_in(graph).for_each(|node| _ = kept.insert(node, WideReason::Selection));
        }
    }
    kept
}

/// Values and slots between two checks of the interrupt.
const WATCHED_VALUES: u64 = 1 << 10;

/// What is lost in each constant of `float`.
type ConstantLosses = HashMap<ValueId, RoundingLosses, RandomState>;

fn constants(
    model: &Model,
    types: &Types,
    half: Half,
    options: &NarrowOptions<'_>,
) -> Result<ConstantLosses, NarrowError> {
    let mut found = ConstantLosses::default();
    for graph in model.all_graphs() {
        let of_nodes = model.nodes(graph).filter_map(|node| {
            let record = model.node(node);
            Some((record.output(0)?, record.constant_tensor().or_else(|| repeated(record))?))
        });
        let of_graph = model
            .initializers(graph)
            .filter_map(|value| Some((value, model.value(value).initializer()?.dense()?.clone())));
        for (value, tensor) in of_graph.chain(of_nodes) {
            options.execution.interrupt.check()?;
            if tensor.elem() != onnx_types::ElemType::Float || !types.contains_key(&value) {
                continue;
            }
            let failed = |reason| NarrowError::Weight {
                tensor: model.str(model.value(value).name()).to_owned(),
                reason,
            };
            found.insert(
                value,
                rounding::losses(&tensor, half, options.data, &options.execution.interrupt)
                    .map_err(failed)?,
            );
        }
    }
    options.execution.interrupt.check()?;
    Ok(found)
}

/// The element that a `ConstantOfShape` repeats.
fn repeated(node: &onnx_ir::Node) -> Option<onnx_types::tensor::Tensor> {
    let value = node.attribute(attr::VALUE).filter(|_| node.is(op::CONSTANT_OF_SHAPE))?;
    value.as_tensor().map(|tensor| tensor.as_ref().clone())
}

/// Keeps the node that makes a constant: a `ConstantOfShape`, which has one type for all users, unlike what is stored.
fn keep_maker(model: &Model, value: ValueId, reason: WideReason, kept: &mut Kept) {
    if let Some(node) = model.value(value).producer().filter(|&node| !model.node(node).is(op::CONSTANT)) {
        kept.entry(node).or_insert(reason);
    }
}

/// Chooses the types of all slots.
fn choose(
    model: &Model,
    change: Change,
    options: &NarrowOptions<'_>,
    (types, (counters, large)): (&Types, (&[ValueId], &[ValueId])),
    called: &[onnx_ir::FunctionId],
    kept: &Kept,
    losses: &ConstantLosses,
) -> Result<(Choice, Narrowed), Stopped> {
    let interrupt = &options.execution.interrupt;
    let mut slots = Slots::new(model, options.registry, change, kept, types);
    interrupt.check()?;
    slots.fill(options.keep_io, called, interrupt)?;
    interrupt.check()?;
    for &value in counters {
        if let Some(slot) = slots.maker(value) {
            slots.widen(slot, WideReason::Count);
        }
    }
    for &value in large {
        let uses = model.value(value).uses().iter().filter_map(|at| slots.used_in.get(at));
        let all: Vec<usize> = slots.maker(value).into_iter().chain(uses.copied()).collect();
        all.into_iter().for_each(|slot| slots.widen(slot, WideReason::Range));
    }
    // Values that no operator casts connect their slots.
    for (value, slot) in slots.made.clone() {
        if types.get(&value).is_some_and(|ty| !is_dense(ty)) {
            for at in model.value(value).uses() {
                if let Some(&other) = slots.used_in.get(at) {
                    slots.join(slot, other);
                }
            }
        }
    }
    let is_narrow = solve::solve(&slots, interrupt)?;
    interrupt.check()?;
    let narrow_at = |at: &Use| slots.used_in.get(at).is_some_and(|&slot| is_narrow[slots.root(slot)]);
    let mut watch = Watch::silent(interrupt, WATCHED_VALUES);
    let values = slots.made.iter().map(|&(value, slot)| {
        watch.work(1)?;
        let own = is_narrow[slots.root(slot)];
        let uses = model.value(value).uses().iter().copied();
        Ok((value, own, uses.filter(|at| slots.used_in.contains_key(at) && narrow_at(at) != own).collect()))
    });
    let values = values.collect::<Result<_, Stopped>>()?;
    let constants: Vec<(ValueId, Vec<Use>, bool)> = slots
        .constants
        .iter()
        .filter_map(|&value| {
            let uses = model.value(value).uses();
            let narrow: Vec<Use> = uses.iter().copied().filter(narrow_at).collect();
            let is_all = narrow.len() == uses.len();
            (!narrow.is_empty()).then_some((value, narrow, is_all))
        })
        .collect();
    let attributes = slots.attributes.iter();
    let attributes = attributes.filter(|(.., slot)| is_narrow[slots.root(*slot)]);
    let choice = Choice {
        values,
        attributes: attributes.map(|&(node, attribute, _)| (node, attribute)).collect(),
        constants,
    };
    interrupt.check()?;
    let done = summary(&slots, &is_narrow, &choice, losses);
    interrupt.check()?;
    Ok((choice, done))
}

/// The name of the first output of a node.
fn first_output(model: &Model, node: NodeId) -> String {
    let output = model.node(node).outputs().iter().copied().flatten().next();
    output.map(|output| model.str(model.value(output).name()).to_owned()).unwrap_or_default()
}

fn summary(slots: &Slots<'_>, is_narrow: &[bool], choice: &Choice, losses: &ConstantLosses) -> Narrowed {
    let model = slots.model;
    let (mut nodes, mut wide) = (0, Vec::new());
    for (node, own) in &slots.of_nodes {
        nodes += usize::from(own.iter().any(|&slot| is_narrow[slots.root(slot)]));
        let reasons = own.iter().filter(|&&slot| !is_narrow[slots.root(slot)]);
        let reason =
            reasons.filter_map(|&slot| slots.want(slot).1).find(|&reason| reason != WideReason::Interface);
        if let Some(reason) = reason {
            let record = model.node(*node);
            let op = model.str(record.op()).to_owned();
            wide.push(WideNode { node: *node, op, name: first_output(model, *node), reason, version: None });
        }
    }
    let is_repeated = |&&(_, attribute, slot): &&(NodeId, TypeAttribute, usize)| {
        matches!(attribute, TypeAttribute::Tensor(_)) && is_narrow[slots.root(slot)]
    };
    let repeated = slots.attributes.iter().filter(is_repeated);
    let repeated = repeated.filter_map(|&(node, ..)| model.node(node).output(0));
    let tensors = choice.constants.iter().map(|&(value, ..)| value).chain(repeated).filter_map(|value| {
        let losses = *losses.get(&value)?;
        let name = model.str(model.value(value).name()).to_owned();
        losses.is_notable().then_some(RoundedTensor { name, losses })
    });
    Narrowed {
        nodes,
        wide,
        casts: 0,
        removed_casts: 0,
        constants: choice.constants.len(),
        tensors: tensors.collect(),
        not_run: None,
        out_of_range: Vec::new(),
        imprecise: Vec::new(),
        unchanged: None,
    }
}
