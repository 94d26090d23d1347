//! The context of a kernel: operands, parameters, outputs and budget of one node.

mod attrs;
pub(crate) mod axes;
mod inputs;
mod outputs;
mod reuse;

use std::fmt;

use onnx_ir::{Attribute, Model, Node};
use onnx_schema::SchemaRef;
use onnx_types::Stopped;
use onnx_types::tensor::{DataError, DataErrorReason, DataSource, TensorError, TensorFault};
use onnx_types::{ElemType, Interner, Symbol};
use smallvec::SmallVec;

pub use inputs::Operand;
pub(crate) use reuse::{Buffer, REUSED_INPUTS};

use crate::budget::Budget;
use crate::engine::is_narrow;
use crate::interrupt_poll::InterruptPoll;
use crate::threads::Threads;
use crate::value::Value;

/// Sizes of a tensor in memory.
pub type Dims = SmallVec<[usize; 6]>;

/// The result of a step of a kernel.
pub type Outcome<T = ()> = Result<T, Stop>;

/// Why a kernel ends without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The operator is not defined for the operands.
    Failed(String),
    /// The kernel does not support this form of the operator.
    Unsupported(String),
    /// The limit of this name is exceeded.
    Limit(&'static str),
    /// There is not enough memory, whatever the limits allow; the reason.
    Memory(String),
    /// The caller stopped the run.
    Interrupted(Stopped),
    /// Elements cannot be read.
    Data(TensorError),
    /// A value is used that nothing has computed.
    Undefined(String),
}

impl Stop {
    /// A failure of the operator, with the reason.
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// An operand, or a list, with other sizes than those that the operator expects.
    pub(crate) fn wrong_sizes(what: &str, found: &[usize], expected: &[usize]) -> Self {
        Self::failed(format_args!("{what} has the sizes {found:?} instead of {expected:?}"))
    }

    /// A form of the operator that the kernel does not support.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::Unsupported(what.to_string())
    }

    /// The system does not provide memory for elements of a size in bytes.
    pub(crate) fn out_of_memory(count: usize, size: usize) -> Self {
        let bytes = (count as u64).saturating_mul(size as u64);
        Self::Memory(format!("the system has no memory for {bytes} bytes"))
    }

    pub(crate) fn unsupported_type(elem: ElemType) -> Self {
        Self::Failed(format!("the operator is not defined for elements of type {elem}"))
    }
}

impl From<TensorError> for Stop {
    fn from(error: TensorError) -> Self {
        match error {
            // A bound of the reader, which no limit of a run changes.
            TensorError::TooLarge { .. } | TensorError::Memory { .. } => Self::Memory(error.to_string()),
            TensorError::Data(DataError { reason: DataErrorReason::Memory, .. }) => {
                Self::Memory(error.to_string())
            }
            error => Self::Data(error),
        }
    }
}

impl From<TensorFault> for Stop {
    fn from(fault: TensorFault) -> Self {
        Self::Data(fault.into())
    }
}

/// The context of a kernel: operands, parameters, outputs and budget of one node.
///
/// A kernel reads operands ([`Cx::tensor`], [`Cx::read`]) and attributes ([`Cx::int`], by symbol or text), and sets every
/// output ([`Cx::put`]). Each method that allocates counts the memory and the work, so a kernel calls [`Cx::work`] only if it does more than a constant number
/// of operations for each element that it reads or writes.
pub struct Cx<'r, 'm> {
    pub(crate) model: &'m Model,
    pub(crate) node: &'m Node,
    pub(crate) schema: Option<SchemaRef<'m>>,
    /// Attributes of the call of the function around the node, its defaults at the end.
    pub(crate) arguments: &'r [Attribute],
    pub(crate) inputs: &'r mut [Option<Value>],
    /// The memory of the first inputs, if no other node uses them.
    pub(crate) spare: [Option<Buffer>; REUSED_INPUTS],
    pub(crate) outputs: SmallVec<[Option<Value>; 2]>,
    /// The memory of the outputs, if it can be reused.
    pub(crate) buffers: SmallVec<[Option<Buffer>; 2]>,
    pub(crate) budget: &'r mut Budget,
    pub(crate) data: &'m dyn DataSource,
    pub(crate) seed: u64,
    /// Whether floats are computed in 64 bits.
    pub(crate) is_double: bool,
    pub(crate) threads: Threads,
}

impl<'m> Cx<'_, 'm> {
    /// The node.
    #[must_use]
    pub const fn node(&self) -> &'m Node {
        self.node
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &'m Model {
        self.model
    }

    /// The names of the model.
    #[must_use]
    pub const fn names(&self) -> &'m Interner {
        self.model.names()
    }

    /// The schema in force, standard or declared; `None` for an operator without a schema.
    #[must_use]
    pub const fn schema(&self) -> Option<SchemaRef<'m>> {
        self.schema
    }

    /// The operator set version that introduced the schema in force; 0 for an operator without a schema.
    #[must_use]
    pub fn since(&self) -> i64 {
        self.schema.map_or(0, SchemaRef::since_version)
    }

    /// The version of the operator's domain that is in force; 0 if the domain is not imported.
    #[must_use]
    pub fn opset(&self) -> i64 {
        self.model.versions_in(self.node.graph()).get(self.node.domain()).unwrap_or(0)
    }

    /// The operator.
    #[must_use]
    pub const fn op(&self) -> Symbol {
        self.node.op()
    }

    /// The seed of the run, for random operators without one.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The element type that stands for one that the model names: with [`Precision::Double`](crate::Precision::Double), `double`
    /// for `float`, `float16` and `bfloat16` if a result of the operator can be `double`.
    pub(crate) fn in_force(&self, elem: ElemType) -> ElemType {
        let takes_double = || {
            let Some(SchemaRef::Standard(schema)) = self.schema else { return true };
            schema.outputs().iter().any(|formal| schema.types_of(formal).contains_tensor(ElemType::Double))
        };
        if self.is_double && is_narrow(elem) && takes_double() { ElemType::Double } else { elem }
    }

    /// The threads that pay for some work, in element operations.
    pub(crate) fn threads_for(&self, steps: usize) -> Threads {
        self.threads.for_work(steps)
    }

    /// Counts work, in element operations.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit on work is exceeded or the run was cancelled.
    pub fn work(&mut self, steps: usize) -> Outcome {
        self.budget.work(steps as u64)
    }

    /// The checks of the interrupt in loops whose work is counted before.
    pub(crate) const fn poll(&mut self) -> &mut InterruptPoll {
        self.budget.poll()
    }
}
