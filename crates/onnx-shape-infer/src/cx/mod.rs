//! What a rule sees: one node, what is known about its inputs, and the outputs to fill.
//!
//! A rule asks with `?` and leaves when what it needs is not known: [`Cx::shape`] gives the dimensions of an input or
//! ends the rule with [`Stop::Unknown`], and what was set before stays. A contradiction is reported by [`Cx::fail`].
//! The two are never confused: unknown information is not a defect of the model.

mod attrs;
mod dims;
mod inputs;
mod outputs;
pub(crate) mod param;
pub(crate) mod signature;

use std::fmt;

use onnx_diag::Rule;
use onnx_ir::{Attribute, Model, Node, NodeId};
use onnx_schema::onnxruntime::RuntimeSchema;
use onnx_schema::{DeclaredSchema, Schema, SchemaRef};
use onnx_types::expr::ExprTable;
use onnx_types::{Interner, Symbol};

pub use param::{Ints, Param};

use crate::engine::state::{Basis, State};
use crate::options::Runtime;
pub(crate) use outputs::Out;

/// Why a rule ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Something that it needs is not known. The outputs keep what was set.
    Unknown,
    /// The model contradicts itself, and the finding was reported.
    Failed,
}

/// What a rule returns.
pub type Outcome<T = ()> = Result<T, Stop>;

/// One node while its rule runs.
pub struct Cx<'s, 'm> {
    pub(crate) state: &'s mut State<'m>,
    pub(crate) id: NodeId,
    pub(crate) node: &'m Node,
    pub(crate) schema: Option<&'static Schema>,
    /// The declaration of an operator that ONNX does not define.
    pub(crate) declared: Option<&'m DeclaredSchema>,
    /// The schema of an operator that onnxruntime adds; `None` if `schema` is present.
    pub(crate) runtime: Option<&'static RuntimeSchema>,
    pub(crate) opset: i64,
    /// The attributes that references refer to; `None` in the body of a function of which no call is known.
    pub(crate) args: Option<&'s [(Symbol, &'m Attribute)]>,
    pub(crate) outs: Vec<Out>,
}

impl<'m> Cx<'_, 'm> {
    /// The node.
    #[must_use]
    pub const fn node(&self) -> &'m Node {
        self.node
    }

    /// The key of the node.
    #[must_use]
    pub const fn node_id(&self) -> NodeId {
        self.id
    }

    /// The model. Expressions in its types are in [`Model::exprs`], not in [`Cx::dims`].
    #[must_use]
    pub const fn model(&self) -> &'m Model {
        self.state.model
    }

    /// The names of the model.
    #[must_use]
    pub const fn names(&self) -> &'m Interner {
        self.state.model.names()
    }

    /// The schema in force, standard or declared; `None` for an operator without a schema.
    #[must_use]
    pub fn schema(&self) -> Option<SchemaRef<'m>> {
        self.schema.map(SchemaRef::Standard).or_else(|| self.declared.map(SchemaRef::Declared))
    }

    /// The operator set version that introduced the schema in force; 0 for an operator without a schema.
    #[must_use]
    pub fn since(&self) -> i64 {
        let runtime = || self.runtime.map(RuntimeSchema::since_version);
        self.schema().map(SchemaRef::since_version).or_else(runtime).unwrap_or(0)
    }

    /// The operator.
    #[must_use]
    pub const fn op(&self) -> Symbol {
        self.node.op()
    }

    /// The version of the operator's domain that is in force; 0 if the domain is not imported. Rules choose by row, not by this; it is for custom operators.
    #[must_use]
    pub const fn opset(&self) -> i64 {
        self.opset
    }

    /// Returns `true` if results must hold in onnxruntime, too: rules leave unknown in which it deviates.
    #[must_use]
    pub fn for_onnxruntime(&self) -> bool {
        self.state.options.runtime == Runtime::Onnxruntime
    }

    /// The arithmetic of dimensions: the expressions of the results, which are not those of the model.
    pub const fn dims(&mut self) -> &mut ExprTable {
        &mut self.state.exprs
    }

    /// Reports a contradiction. The message is one terse sentence without the place, in lower case.
    ///
    /// ```text
    /// return Err(cx.fail(&AXIS_OUT_OF_RANGE, format_args!("axis {axis} is outside -{rank}..={}", rank - 1)));
    /// ```
    pub fn fail(&mut self, rule: &'static Rule, message: impl fmt::Display) -> Stop {
        self.state.fail(rule, self.id, message);
        Stop::Failed
    }

    /// Like [`fail`](Self::fail), for a contradiction of attributes with the numbers of inputs and outputs: it is an error
    /// also in a graph that need not be executed.
    pub(crate) fn fail_structure(&mut self, rule: &'static Rule, message: impl fmt::Display) -> Stop {
        self.state.contradiction(rule, Basis::Structure, (Some(self.id), None), message);
        Stop::Failed
    }
}
