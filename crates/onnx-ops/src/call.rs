//! Views: a node as a call of an operator, read by the version in scope.

use std::fmt;
use std::marker::PhantomData;

use onnx_ir::{Attribute, Callee, FunctionId, Model, Node, NodeId, ValueId};
use onnx_schema::{Registry, Schema, SchemaRef};
use onnx_types::Symbol;

use crate::param::{Kind, Param, read_attribute};

/// An operator of a standard domain, as a type; generated, one for each operator name.
pub trait Operator: Sized {
    /// The domain.
    const DOMAIN: Symbol;
    /// The operator name.
    const OP: Symbol;

    /// A view of a node that calls the operator; `None` for every other node. See [`Operator::try_of`].
    #[must_use]
    #[inline]
    fn of(model: &Model, node: NodeId) -> Option<View<'_, Self>> {
        let record = model.get_node(node)?;
        if record.op() != Self::OP {
            return None;
        }
        Self::try_of(model, node).ok()
    }

    /// A view of a node that calls the operator.
    ///
    /// # Errors
    ///
    /// Returns the reason if the node does not call the operator at a version that is known: see [`Mismatch`].
    fn try_of(model: &Model, node: NodeId) -> Result<View<'_, Self>, Mismatch> {
        let record = model.get_node(node).ok_or(Mismatch::Gone)?;
        if record.op() != Self::OP || record.domain() != Self::DOMAIN {
            return Err(Mismatch::OtherOperator);
        }
        Call::of_record(model, node, record).map(View::new)
    }
}

/// Why a node has no view as a call of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// The node was erased.
    Gone,
    /// The node calls another operator.
    OtherOperator,
    /// The operator set of the domain is not imported, so no version is in scope.
    NotImported,
    /// The version in scope does not have the operator.
    NotInVersion {
        /// The version in scope.
        version: i64,
    },
    /// The model defines a function with the identity of the operator. Runtimes differ in which of the two they run.
    Shadowed(FunctionId),
    /// The operator belongs to a custom operator set, or nothing defines it.
    NotStandard,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the node was erased"),
            Self::OtherOperator => f.write_str("the node calls another operator"),
            Self::NotImported => f.write_str("the operator set of the domain is not imported"),
            Self::NotInVersion { version } => {
                write!(f, "version {version} of the operator set does not have the operator")
            }
            Self::Shadowed(_) => f.write_str("a function of the model has the name of the operator"),
            Self::NotStandard => f.write_str("the operator is not a standard operator"),
        }
    }
}

impl std::error::Error for Mismatch {}

/// The location of a parameter in a version of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// An attribute of this name.
    Attr(Symbol),
    /// The input at this index.
    Input(u8),
    /// The version does not have it.
    None,
}

/// Where the versions of an operator have a parameter: each entry holds from its version until the next entry. Versions
/// before the first entry do not have it.
pub type Places = &'static [(u16, Place)];

/// Where the versions of an operator have an output that not all of them have: as [`Places`], with `None` for absence.
pub type Outputs = &'static [(u16, Option<u8>)];

/// A node as a call of a standard operator: the untyped core of every [`View`], for code that handles several operators.
#[derive(Clone, Copy)]
pub struct Call<'m> {
    model: &'m Model,
    id: NodeId,
    node: &'m Node,
    schema: &'static Schema,
    arguments: Option<&'m [Attribute]>,
}

impl<'m> Call<'m> {
    /// The call that a node makes, whatever the operator.
    ///
    /// # Errors
    ///
    /// Returns the reason if the node does not call a standard operator at a version that is known.
    pub fn of(model: &'m Model, node: NodeId) -> Result<Self, Mismatch> {
        let record = model.get_node(node).ok_or(Mismatch::Gone)?;
        Self::of_record(model, node, record)
    }

    fn of_record(model: &'m Model, id: NodeId, node: &'m Node) -> Result<Self, Mismatch> {
        let versions = model.versions_in(node.graph());
        let version = versions.get(node.domain()).ok_or(Mismatch::NotImported)?;
        let schema = match onnx_schema::lookup(node.domain(), node.op(), version) {
            Some(schema) => schema,
            None if onnx_schema::versions(node.domain(), node.op()).is_empty() => {
                return Err(Mismatch::NotStandard);
            }
            None => return Err(Mismatch::NotInVersion { version }),
        };
        if let Some(function) = model.function_called(node) {
            return Err(Mismatch::Shadowed(function));
        }
        Ok(Self { model, id, node, schema, arguments: None })
    }

    /// The same call within a call of the function around it: references to attributes of the function are read as these
    /// attributes, or as omitted if the list does not have them. The function's defaults belong at the end of the list.
    #[must_use]
    pub const fn within(mut self, arguments: &'m [Attribute]) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &'m Model {
        self.model
    }

    /// The node.
    #[must_use]
    pub const fn id(&self) -> NodeId {
        self.id
    }

    /// The record of the node.
    #[must_use]
    pub const fn node(&self) -> &'m Node {
        self.node
    }

    /// The schema in force: signature, defaults, types, determinism.
    #[must_use]
    pub const fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// The version of the operator: the operator set version that introduced the schema in force.
    #[must_use]
    pub const fn since(&self) -> i64 {
        self.schema.since_version()
    }

    /// The input at an index; `None` if it is omitted.
    #[must_use]
    #[inline]
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.node.input(index)
    }

    /// The inputs from an index on: those of a variadic formal input.
    pub fn inputs_from(
        &self,
        index: usize,
    ) -> impl ExactSizeIterator<Item = Option<ValueId>> + DoubleEndedIterator + use<'m> {
        let node = self.node;
        let count = node.input_count();
        (index.min(count)..count).map(move |index| node.input(index))
    }

    /// The output at an index; `None` if it is omitted.
    #[must_use]
    #[inline]
    pub fn output(&self, index: usize) -> Option<ValueId> {
        self.node.output(index)
    }

    /// The outputs from an index on: those of a variadic formal output.
    #[must_use]
    pub fn outputs_from(&self, index: usize) -> &'m [Option<ValueId>] {
        self.node.outputs().get(index..).unwrap_or_default()
    }

    /// An output that not all versions have.
    #[must_use]
    pub fn output_at(&self, outputs: Outputs) -> Option<ValueId> {
        let (_, index) = outputs.iter().rev().find(|(since, _)| i64::from(*since) <= self.since())?;
        self.output(usize::from((*index)?))
    }

    /// The location of a parameter in the version in scope.
    #[must_use]
    pub fn place(&self, places: Places) -> Place {
        place_at(places, self.since())
    }

    /// The operand of a parameter; `None` if it is omitted, or an attribute in the version in scope.
    #[must_use]
    pub fn operand(&self, places: Places) -> Option<ValueId> {
        match self.place(places) {
            Place::Input(index) => self.input(usize::from(index)),
            Place::Attr(_) | Place::None => None,
        }
    }

    /// An attribute, with the default in force.
    #[must_use]
    #[inline]
    pub fn attr<K: Kind>(&self, name: Symbol) -> Param<K::Value<'m>> {
        let Some(formal) = self.schema.attribute(name) else { return Param::Undeclared };
        let omitted = || match formal.default.and_then(K::of_default) {
            Some(value) => Param::Default(value),
            None => Param::Absent,
        };
        let Some(attribute) = self.node.attribute(name) else { return omitted() };
        match (read_attribute::<K>(attribute), self.arguments) {
            (Param::FromCall(target), Some(arguments)) => {
                match arguments.iter().find(|argument| argument.name() == target) {
                    Some(argument) => read_attribute::<K>(argument),
                    None => omitted(),
                }
            }
            (param, _) => param,
        }
    }

    /// A parameter that is an attribute in some versions and an operand in others. An operand is read if it is a constant
    /// in memory that the kind represents exactly.
    #[must_use]
    pub fn param<K: Kind>(&self, places: Places) -> Param<K::Value<'m>> {
        match self.place(places) {
            Place::Attr(name) => self.attr::<K>(name),
            Place::Input(index) => match self.input(usize::from(index)) {
                None => Param::Absent,
                Some(value) => match self.model.constant_tensor(value).and_then(K::of_tensor) {
                    Some(constant) => Param::Given(constant),
                    None => Param::Computed(value),
                },
            },
            Place::None => Param::Undeclared,
        }
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.schema)
    }
}

/// The location of a parameter in a version.
pub(crate) fn place_at(places: Places, since: i64) -> Place {
    let entry = places.iter().rev().find(|(from, _)| i64::from(*from) <= since);
    entry.map_or(Place::None, |&(_, place)| place)
}

/// A typed view of a node that calls the operator `O`: operands and outputs by name, attributes with the default in force.
///
/// A view reads; it is `Copy` and borrows the model, so copy out the keys and numbers that an edit needs.
pub struct View<'m, O> {
    call: Call<'m>,
    operator: PhantomData<fn() -> O>,
}

impl<'m, O> View<'m, O> {
    pub(crate) const fn new(call: Call<'m>) -> Self {
        Self { call, operator: PhantomData }
    }

    /// The untyped call.
    #[must_use]
    #[inline]
    pub const fn call(&self) -> Call<'m> {
        self.call
    }

    /// The same view within a call of the function around it; see [`Call::within`].
    #[must_use]
    pub const fn within(mut self, arguments: &'m [Attribute]) -> Self {
        self.call = self.call.within(arguments);
        self
    }
}

impl<O> Clone for View<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for View<'_, O> {}

impl<O> fmt::Debug for View<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// The schema of the operator or function that a node calls, standard or custom, without a typed view.
#[must_use]
pub fn schema_of<'a>(model: &'a Model, node: NodeId, registry: &'a Registry) -> Option<SchemaRef<'a>> {
    match model.callee(node, registry) {
        Callee::Standard(schema) => Some(SchemaRef::Standard(schema)),
        Callee::Custom(schema) => Some(SchemaRef::Declared(schema)),
        _ => None,
    }
}
