//! A model is cut into parts that run one after the other.

mod cuts;
mod flow;

use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_types::Execution;
use slotmap::SecondaryMap;

use self::flow::Flow;
use crate::error::ComposeError;
use crate::extract::{ExtractOptions, extract};

/// The number or the size of the parts of [`split`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parts {
    /// This number of parts, with about the same bytes of weights.
    Count(usize),
    /// This number of parts, with about the same number of nodes.
    CountByNodes(usize),
    /// Parts with at most these bytes of weights each, unless one node needs more.
    Bytes(u64),
}

/// Options of [`split`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SplitOptions<'a> {
    /// The operators that are known to inference.
    pub registry: Option<&'a Registry>,
    /// Limits, interrupt and progress.
    pub execution: Execution,
}

onnx_types::option_setters! {
    SplitOptions<'a> {
        with_registry => registry: into Option<&'a Registry>,
        with_execution => execution: into Execution,
    }
}

/// A part of a model that was split.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SplitPart {
    /// The part.
    pub model: Model,
    /// Bytes of the weights that the part uses.
    pub weight_bytes: u64,
    /// Whether training information of the model was removed, which refers to the whole graph.
    pub removed_training: bool,
}

/// Cuts a model into parts that compute the same one after the other.
///
/// The inputs and outputs of the parts are values of the model and have their names. Each part takes inputs of the model and
/// outputs of parts before it, so it can be run as soon as these have. An input of the model that several parts need is an input
/// of each. Weights go to the parts that use them, and `Constant` nodes, too; other nodes that depend on no input of the model go
/// to the first part that uses them. Nodes that no output needs are omitted. Of several points that balance the parts, the one
/// that the fewest values cross is cut.
///
/// [`merge`](crate::merge) with [`connections_by_name`](crate::connections_by_name) joins the parts again.
///
/// # Errors
///
/// Returns an error if the model cannot be cut into this number of parts, because types of values are not known or there are not
/// enough nodes.
pub fn split(
    model: &Model,
    parts: Parts,
    options: &SplitOptions<'_>,
) -> Result<Vec<SplitPart>, ComposeError> {
    let splitting = Splitting::new(model, parts, options)?;
    splitting.parts().collect()
}

/// The cuts of a model, from which its parts are made one at a time: all of them together take as much memory as the model for each
/// part. [`split`] says what the parts are.
#[derive(Clone, Debug)]
pub struct Splitting<'a> {
    base: Model,
    interfaces: Vec<Interface>,
    options: SplitOptions<'a>,
}

impl<'a> Splitting<'a> {
    /// Decides where a model is cut.
    ///
    /// # Errors
    ///
    /// See [`split`].
    pub fn new(model: &Model, parts: Parts, options: &SplitOptions<'a>) -> Result<Self, ComposeError> {
        options.execution.interrupt.check()?;
        let standard = Registry::default();
        let registry = options.registry.unwrap_or(&standard);
        let mut base = model.clone();
        let mut flow = Flow::new(model, registry, &options.execution)?;
        let interrupt = &options.execution.interrupt;
        interrupt.check()?;
        let cuts = cuts::choose(&flow, parts, interrupt)?;
        interrupt.check()?;
        flow.declare(&mut base, &cuts);
        let interfaces = flow.interfaces(model, &cuts, interrupt)?;
        Ok(Self { base, interfaces, options: options.clone() })
    }

    /// Number of parts.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.interfaces.len()
    }

    /// Returns `true` if the list of parts is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.interfaces.is_empty()
    }

    /// Makes the parts, in the order in which they run.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Result<SplitPart, ComposeError>> + '_ {
        self.interfaces.iter().map(|interface| self.part(interface))
    }

    fn part(&self, (inputs, outputs): &Interface) -> Result<SplitPart, ComposeError> {
        self.options.execution.interrupt.check()?;
        let standard = Registry::default();
        let options = ExtractOptions::default()
            .with_registry(self.options.registry.unwrap_or(&standard))
            .with_execution(self.options.execution.clone());
        let mut part = self.base.clone();
        let extracted = extract(&mut part, Some(inputs), outputs, &options)?;
        let weights = part.initializers(part.main_graph()).map(|value| flow::bytes_of(&part, value));
        let weight_bytes = weights.fold(0, u64::saturating_add);
        Ok(SplitPart { model: part, weight_bytes, removed_training: extracted.removed_training })
    }
}

/// Nodes or values between two checks of the interrupt.
const WATCHED: u64 = 1 << 10;

/// Inputs and outputs of a part.
type Interface = (Vec<ValueId>, Vec<ValueId>);

/// A set of values.
type Values = SecondaryMap<ValueId, ()>;
