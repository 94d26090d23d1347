//! How a row is written. The compiler evaluates it.

use onnx_types::Symbol;

use super::attribute::AttributeTraits;
use super::exclusion::Exclusion;
use super::kinds::{Broadcast, Combines, CostWeight, Elements, Operations, Rounding, Window};
#[cfg(test)]
use crate::facts::Schema;
use crate::generated::names::domain;

/// What kind of operator an operator is, in one version.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    elements: Elements,
    rounding: Rounding,
    broadcast: Broadcast,
    combines: Combines,
    operations: Operations,
    weight: CostWeight,
    window: Option<Window>,
    flags: u16,
    pub(super) scalars: &'static [usize],
    pub(super) shaping: &'static [usize],
    pub(super) counted: &'static [usize],
    pub(super) attributes: &'static [AttributeTraits],
    pub(super) exclusions: &'static [Exclusion],
    pub(super) parallel: &'static [&'static [Symbol]],
}

const COMMUTES: u16 = 1;
const CONTRACTS: u16 = 1 << 1;
const CANNOT_FAIL: u16 = 1 << 2;
const MAY_BE_UNDEFINED: u16 = 1 << 3;
const MAKES_POSITIONS: u16 = 1 << 4;
const JUMPS: u16 = 1 << 5;
const CHOOSES: u16 = 1 << 6;
const IS_PIECEWISE: u16 = 1 << 7;
const ORDERS_ZEROS: u16 = 1 << 8;

/// An operator of none of the kinds: its results are computed, and no formula for its operations is known.
pub(super) const fn computed() -> Traits {
    Traits {
        elements: Elements::Computed,
        rounding: Rounding::Open,
        broadcast: Broadcast::No,
        combines: Combines::Unstated,
        operations: Operations::Unknown,
        weight: CostWeight::Other,
        window: None,
        flags: 0,
        scalars: &[],
        shaping: &[],
        counted: &[],
        attributes: &[],
        exclusions: &[],
        parallel: &[],
    }
}

const fn of(elements: Elements, rounding: Rounding, operations: Operations) -> Traits {
    Traits { elements, rounding, operations, ..computed() }
}

/// A function of the elements of all operands at the same index: one operation each, unless the row says otherwise.
pub(super) const fn elementwise() -> Traits {
    of(Elements::Elementwise, Rounding::Open, Operations::Each(1))
}

/// A function of the elements of the first operand: one operation each, unless the row says otherwise.
pub(super) const fn elementwise_first() -> Traits {
    of(Elements::ElementwiseFirst, Rounding::Open, Operations::Each(1))
}

/// It returns its operand.
pub(super) const fn same() -> Traits {
    of(Elements::Same, Rounding::Exact, Operations::None)
}

/// Results have the sizes of the first operand and depend on the elements along some axes.
pub(super) const fn normalized() -> Traits {
    of(Elements::Normalized, Rounding::Open, Operations::Unknown)
}

/// Only the sizes change.
pub(super) const fn reshaped() -> Traits {
    of(Elements::Reshaped, Rounding::Exact, Operations::None)
}

/// The elements of the first operand in another order.
pub(super) const fn reordered() -> Traits {
    of(Elements::Reordered, Rounding::Exact, Operations::None)
}

/// Elements of the first operand.
pub(super) const fn selected() -> Traits {
    of(Elements::Selected, Rounding::Exact, Operations::None)
}

/// The elements of all operands.
pub(super) const fn joined() -> Traits {
    of(Elements::Joined, Rounding::Exact, Operations::None)
}

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
impl Traits {
    /// Elements are moved, counted or compared.
    pub(super) const fn exact(self) -> Self {
        self.rounds(Rounding::Exact)
    }

    pub(super) const fn rounds(mut self, rounding: Rounding) -> Self {
        if !matches!(self.rounding, Rounding::Open) {
            panic!("an operator rounds in two ways");
        }
        self.rounding = rounding;
        self
    }

    pub(super) const fn broadcasts_all(self) -> Self {
        self.broadcast_as(Broadcast::All)
    }

    pub(super) const fn broadcast_as(mut self, broadcast: Broadcast) -> Self {
        if !matches!(self.elements, Elements::Elementwise) || !matches!(self.broadcast, Broadcast::No) {
            panic!("only operands of an elementwise operator are broadcast, in one way");
        }
        self.broadcast = broadcast;
        self
    }

    /// The two operands may be exchanged without changing a bit of the result, up to payloads of NaNs, in every admissible
    /// implementation. `Max` and `Min` do not: which zero they return for -0.0 and 0.0 may depend on the order.
    pub(super) const fn commuting(mut self) -> Self {
        if !matches!(self.broadcast, Broadcast::All) {
            panic!("only operands that are treated alike commute");
        }
        self.flags |= COMMUTES;
        self
    }

    pub(super) const fn along(mut self, combines: Combines) -> Self {
        let is_elementwise = self.is_elementwise();
        if is_elementwise || !matches!(self.combines, Combines::Unstated) {
            panic!("an elementwise operator combines no elements, and no operator does in two ways");
        }
        self.combines = combines;
        self
    }

    /// Elements are combined along the axis that the attribute `axis` names.
    pub(super) const fn along_axis(self) -> Self {
        self.along(Combines::Axis(crate::generated::names::attr::AXIS))
    }

    pub(super) const fn needs(mut self, operations: Operations) -> Self {
        if self.keeps_elements() {
            panic!("an operator that moves elements needs no operations");
        }
        self.operations = operations;
        self
    }

    pub(super) const fn weighs(mut self, weight: CostWeight) -> Self {
        self.weight = weight;
        self
    }

    pub(super) const fn moves_window(mut self, window: Window) -> Self {
        if !matches!(self.elements, Elements::Computed) {
            panic!("only a computed element is that of a window");
        }
        self.window = Some(window);
        self
    }

    /// It computes as much for each element as there are elements of another axis.
    pub(super) const fn contracting(mut self) -> Self {
        if !matches!(self.elements, Elements::Computed) {
            panic!("elements of sums of products are computed");
        }
        self.flags |= CONTRACTS;
        self
    }

    /// No operand of its types makes it fail, and no result is larger than what is there already.
    pub(super) const fn infallible(mut self) -> Self {
        self.flags |= CANNOT_FAIL;
        self
    }

    /// The text leaves results open for some operands, or implementations follow it in different ways.
    pub(super) const fn undefined_for_some(mut self) -> Self {
        self.flags |= MAY_BE_UNDEFINED;
        self
    }

    /// A float of the result is the least or the greatest one of several, of which two may be zeros of different signs.
    pub(super) const fn ordering_zeros(mut self) -> Self {
        self.flags |= ORDERS_ZEROS;
        self
    }

    /// A result is sizes or positions of elements.
    pub(super) const fn positions(mut self) -> Self {
        if self.keeps_elements() || self.is_elementwise() {
            panic!("positions are not elements of an operand");
        }
        self.flags |= MAKES_POSITIONS;
        self
    }

    /// Results jump where operands pass a number.
    pub(super) const fn jumping(mut self) -> Self {
        self.flags |= JUMPS;
        self
    }

    /// Operands are indices, bounds or keys, which choose the elements that a result is made of.
    pub(super) const fn choosing(mut self) -> Self {
        self.flags |= CHOOSES;
        self
    }

    /// A result is not a polynomial of operands that are integers, as sizes are.
    pub(super) const fn piecewise(mut self) -> Self {
        self.flags |= IS_PIECEWISE;
        self
    }

    /// These operands are one number each: a scalar, or a vector of one element.
    pub(super) const fn numbers(mut self, operands: &'static [usize]) -> Self {
        self.scalars = operands;
        self
    }

    /// The types of results depend on the elements of these operands: on sizes, axes or positions that they are.
    pub(super) const fn sized_by(mut self, operands: &'static [usize]) -> Self {
        self.shaping = operands;
        self
    }

    /// Results have as many elements as these operands have elements of a kind.
    pub(super) const fn counts(mut self, operands: &'static [usize]) -> Self {
        self.counted = operands;
        self
    }

    pub(super) const fn attributes_are(mut self, attributes: &'static [AttributeTraits]) -> Self {
        if !self.attributes.is_empty() {
            panic!("the attributes are stated twice");
        }
        self.attributes = attributes;
        self
    }

    pub(super) const fn excludes(mut self, exclusions: &'static [Exclusion]) -> Self {
        self.exclusions = exclusions;
        self
    }

    pub(super) const fn with_parallel(mut self, lists: &'static [&'static [Symbol]]) -> Self {
        self.parallel = lists;
        self
    }
}

impl Traits {
    /// Where the elements of the results come from.
    #[must_use]
    pub const fn elements(&self) -> Elements {
        self.elements
    }

    /// Whether each element of a result depends on the elements of operands at its index only.
    #[must_use]
    pub const fn is_elementwise(&self) -> bool {
        matches!(self.elements, Elements::Same | Elements::Elementwise | Elements::ElementwiseFirst)
    }

    /// Whether each element of a result is at the index of the one of the first operand that it is made of, and may also depend
    /// on elements along the axes that the operator [combines](Self::combines).
    #[must_use]
    pub const fn keeps_indices(&self) -> bool {
        self.is_elementwise() || matches!(self.elements, Elements::Normalized)
    }

    /// Whether the elements of the first result are elements of the first operand, unchanged.
    #[must_use]
    pub const fn keeps_elements(&self) -> bool {
        use Elements::{Reordered, Reshaped, Same, Selected};
        matches!(self.elements, Same | Reshaped | Reordered | Selected)
    }

    /// How results are rounded.
    #[must_use]
    pub const fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Whether operands are broadcast.
    #[must_use]
    pub const fn broadcast(&self) -> Broadcast {
        self.broadcast
    }

    /// Whether all operands are broadcast to the sizes of the result.
    #[must_use]
    pub const fn broadcasts(&self) -> bool {
        matches!(self.broadcast, Broadcast::All)
    }

    /// Whether the two operands may be exchanged without changing a bit of the result, up to payloads of NaNs.
    #[must_use]
    pub const fn commutes(&self) -> bool {
        self.flags & COMMUTES != 0
    }

    /// The axes along which elements are combined.
    #[must_use]
    pub const fn combines(&self) -> Combines {
        self.combines
    }

    /// The operations of a node.
    #[must_use]
    pub const fn operations(&self) -> Operations {
        self.operations
    }

    /// The work of a node.
    #[must_use]
    pub const fn weight(&self) -> CostWeight {
        self.weight
    }

    /// The window that is moved over the first operand.
    #[must_use]
    pub const fn window(&self) -> Option<Window> {
        self.window
    }

    /// The index of the operand that has the weights of a window.
    #[must_use]
    pub const fn window_weights(&self) -> Option<usize> {
        match self.window {
            Some(Window::Weights(index)) => Some(index),
            _ => None,
        }
    }

    /// Whether it computes as much for each element as there are elements of another axis.
    #[must_use]
    pub const fn contracts(&self) -> bool {
        self.flags & CONTRACTS != 0
    }

    /// Whether no operand of its types makes it fail, and no result is larger than what is there already.
    #[must_use]
    pub const fn cannot_fail(&self) -> bool {
        self.flags & CANNOT_FAIL != 0
    }

    /// Whether the text leaves results open for some operands, or implementations follow it in different ways.
    #[must_use]
    pub const fn may_be_undefined(&self) -> bool {
        self.flags & MAY_BE_UNDEFINED != 0
    }

    /// Whether floats of the result are the least or the greatest ones of several, so that the text does not say which zero they are if
    /// there are zeros of both signs: `-0.0` and `0.0` are equal.
    #[must_use]
    pub const fn orders_zeros(&self) -> bool {
        self.flags & ORDERS_ZEROS != 0
    }

    /// Whether a result is sizes or positions of elements.
    #[must_use]
    pub const fn makes_positions(&self) -> bool {
        self.flags & MAKES_POSITIONS != 0
    }

    /// Whether results jump where operands pass a number.
    #[must_use]
    pub const fn jumps(&self) -> bool {
        self.flags & JUMPS != 0
    }

    /// Whether operands are indices, bounds or keys, which choose the elements that a result is made of.
    #[must_use]
    pub const fn chooses(&self) -> bool {
        self.flags & CHOOSES != 0
    }

    /// Whether a result is not a polynomial of operands that are integers, as sizes are: one below a number and another one above it,
    /// or a quotient.
    #[must_use]
    pub const fn is_piecewise(&self) -> bool {
        self.flags & IS_PIECEWISE != 0
    }

    /// Whether a result depends on several elements of an operand along an axis, and not as a sum of products does.
    #[must_use]
    pub const fn compares_along_axes(&self) -> bool {
        !matches!(self.combines, Combines::Unstated) && !self.contracts() && !self.keeps_elements()
    }

    /// The indices of the operands that are one number each.
    #[must_use]
    pub const fn scalars(&self) -> &'static [usize] {
        self.scalars
    }

    /// The indices of the operands whose elements are sizes, axes or positions that decide the types of results, as the second
    /// operand of `Reshape` does. A model in which they are constants has results of known sizes.
    #[must_use]
    pub const fn shaping_operands(&self) -> &'static [usize] {
        self.shaping
    }

    /// The indices of the operands of which some elements are counted, as those of `NonZero` that are not zero: how many elements
    /// results have is known when the model runs.
    #[must_use]
    pub const fn counted_operands(&self) -> &'static [usize] {
        self.counted
    }

    /// What is known of attributes, oldest first.
    #[must_use]
    pub const fn attributes(&self) -> &'static [AttributeTraits] {
        self.attributes
    }
}

/// The traits of an operator, version by version.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) domain: Symbol,
    pub(super) op: Symbol,
    pub(super) first: Traits,
    pub(super) later: &'static [(u16, Traits)],
    pub(super) same_since: u16,
    pub(super) replaced_by: Option<Symbol>,
}

/// The traits of an operator of the default domain.
pub(super) const fn row(op: Symbol, traits: Traits) -> Row {
    Row { domain: domain::ONNX, op, first: traits, later: &[], same_since: 0, replaced_by: None }
}

impl Row {
    /// The same for an operator of another domain.
    pub(super) const fn of(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }

    /// Other traits from these versions on.
    pub(super) const fn then(mut self, later: &'static [(u16, Traits)]) -> Self {
        self.later = later;
        self
    }

    /// From this version on, the operator means what it means in its newest version, apart from types and the form of operands.
    pub(super) const fn same_since(mut self, version: u16) -> Self {
        self.same_since = version;
        self
    }

    /// The operator was withdrawn, and this one takes its place.
    pub(super) const fn replaced_by(mut self, op: Symbol) -> Self {
        self.replaced_by = Some(op);
        self
    }

    /// The traits at a position: the first ones, or later ones.
    pub(super) const fn traits(&self, version: usize) -> &Traits {
        match version.checked_sub(1) {
            None => &self.first,
            Some(later) => &self.later[later].1,
        }
    }

    /// Whether it is about the operator of a schema.
    #[cfg(test)]
    pub(super) fn is_of(&self, schema: &Schema) -> bool {
        (self.domain, self.op) == (schema.domain(), schema.op())
    }

    /// The position of the traits that hold for a version.
    pub(super) const fn position(&self, since: i64) -> u8 {
        let mut found = 0;
        while found < self.later.len() && self.later[found].0 as i64 <= since {
            found += 1;
        }
        found as u8
    }
}
