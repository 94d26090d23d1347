//! What kind of operator an operator is: facts that the reference does not state, one row for each operator.
//!
//! A [`Schema`] states what an operator takes and gives, and is generated. [`Traits`] state what passes, rules, costs
//! and checks ask about it otherwise: whether it is elementwise or moves elements, along which axes it combines elements, how
//! it rounds, how many operations it needs, and what values its attributes can have. They are written by hand, from the text of
//! the specification; a reason is at the row where the text is not enough.
//!
//! A row holds for all versions of its operator, or has further rows `since` the versions that change it. The compiler
//! evaluates the tables: an operator without a row, one with two, a version or an attribute that the operator does not have,
//! and traits that contradict each other do not compile.
//!
//! Nothing here is behavior: what an operator does to shapes is in `onnx-shape-infer`, what it computes in `onnx-eval`.
//!
//! ```
//! use onnx_schema::traits::{Elements, Rounding};
//! use onnx_schema::{domain, lookup, op};
//!
//! let add = lookup(domain::ONNX, op::ADD, 18).unwrap().traits();
//! assert_eq!((add.elements(), add.rounding()), (Elements::Elementwise, Rounding::Once));
//! assert!(add.broadcasts() && add.commutes());
//! // Before version 7, an attribute says how the second operand is aligned.
//! assert!(!lookup(domain::ONNX, op::ADD, 6).unwrap().traits().broadcasts());
//! ```

mod absence;
mod attribute;
mod control;
mod exclusion;
mod generator;
mod kinds;
mod linear;
mod logical;
mod math;
mod ml;
mod nn;
mod quant;
mod reduction;
mod rnn;
mod row;
mod sequence;
mod signal;
mod table;
mod tensor;
#[cfg(test)]
mod tests;
mod training;

pub use absence::{Absence, DerivedDefault, absence_of};
pub use attribute::{AttributeTraits, AxisDomain};
pub use exclusion::{CONSTANT_VALUES, Exclusion, ExclusivePart};
pub use kinds::{Broadcast, Combines, CostWeight, Elements, Operations, Rounding, Window};
pub use row::Traits;

use std::ops::RangeInclusive;

use onnx_types::Symbol;

use crate::facts::Schema;
use crate::generated::names::{attr, domain};
use crate::lookup;
use row::Row;
use table::PLACES;

/// The rows of all operators, by group: the groups of the rules of inference.
const GROUPS: &[&[Row]] = &[
    control::ROWS,
    generator::ROWS,
    linear::ROWS,
    logical::ROWS,
    math::ROWS,
    ml::ROWS,
    nn::ROWS,
    quant::ROWS,
    reduction::ROWS,
    rnn::ROWS,
    sequence::ROWS,
    signal::ROWS,
    tensor::ROWS,
    training::ROWS,
];

/// The traits of the newest version of an operator of the default domain; `None` if it has no such operator.
#[must_use]
pub const fn newest(op: Symbol) -> Option<&'static Traits> {
    match lookup::versions(domain::ONNX, op).last() {
        Some(schema) => Some(schema.traits()),
        None => None,
    }
}

impl Schema {
    /// The traits of the operator in this version.
    #[must_use]
    pub const fn traits(&self) -> &'static Traits {
        let place = &PLACES[self.id().index()];
        GROUPS[place.group as usize][place.row as usize].traits(place.version as usize)
    }

    /// Whether a node of this version means the same as one of the newest version, apart from types and from the form of
    /// operands, so that what holds for the one holds for the other.
    #[must_use]
    pub const fn means_as_newest(&self) -> bool {
        let place = &PLACES[self.id().index()];
        self.since_version() >= GROUPS[place.group as usize][place.row as usize].same_since as i64
    }

    /// The operator that takes the place of one that was withdrawn for good.
    #[must_use]
    pub const fn replacement(&self) -> Option<Symbol> {
        let place = &PLACES[self.id().index()];
        GROUPS[place.group as usize][place.row as usize].replaced_by
    }

    /// The last row about an attribute, up to this version, that states a fact.
    fn stated<T>(&self, name: Symbol, fact: impl Fn(&AttributeTraits) -> Option<T>) -> Option<T> {
        let rows = self.traits().attributes().iter().rev();
        let mut rows = rows.filter(|row| row.name() == name && row.first_version() <= self.since_version());
        rows.find_map(fact)
    }

    /// What an integer attribute, or every entry of a list, can be; `None` where nothing is fixed.
    #[must_use]
    pub fn attribute_range(&self, name: Symbol) -> Option<RangeInclusive<i64>> {
        self.stated(name, AttributeTraits::range)
    }

    /// The axes that an attribute can name; `None` where the documentation of this version states no range.
    #[must_use]
    pub fn axis_domain(&self, name: Symbol) -> Option<AxisDomain> {
        self.stated(name, AttributeTraits::axis_domain)
    }

    /// What a string attribute can be; `None` where the documentation fixes nothing.
    #[must_use]
    pub fn choices(&self, name: Symbol) -> Option<&'static [&'static str]> {
        self.stated(name, AttributeTraits::choices).filter(|choices| !choices.is_empty())
    }

    /// Returns `true` if a string attribute can be this string. Runtimes read the names of activation functions in any case.
    #[must_use]
    pub fn allows_string(&self, name: Symbol, string: &[u8]) -> bool {
        let is_choice = |choice: &&str| match name {
            attr::ACTIVATIONS => string.eq_ignore_ascii_case(choice.as_bytes()),
            _ => string == choice.as_bytes(),
        };
        self.choices(name).is_none_or(|choices| choices.iter().any(is_choice))
    }

    /// Whether an attribute is the number of the element type of the first output.
    #[must_use]
    pub fn names_element_type(&self, name: Symbol) -> bool {
        self.stated(name, AttributeTraits::is_element_type).is_some()
    }

    /// Whether a later version added the attribute with a default that keeps the meaning that nodes had before.
    #[must_use]
    pub fn is_neutral_addition(&self, name: Symbol) -> bool {
        self.stated(name, AttributeTraits::is_neutral).is_some()
    }

    /// Sets of attributes and inputs of which the operator's documentation wants at most one, or exactly one. The schemas
    /// themselves declare each of them as optional.
    ///
    /// ```
    /// use onnx_schema::{ExclusivePart, attr, domain, lookup, op};
    ///
    /// let constant = lookup(domain::ONNX, op::CONSTANT, 11).unwrap();
    /// let set = constant.exclusions().next().unwrap();
    /// assert_eq!(set.parts, [ExclusivePart::Attribute(attr::VALUE), ExclusivePart::Attribute(attr::SPARSE_VALUE)]);
    /// assert!(set.is_needed);
    /// ```
    pub fn exclusions(&self) -> impl Iterator<Item = &'static Exclusion> {
        self.traits().exclusions.iter()
    }

    /// Sets of list attributes whose entries at one index belong together, so that the lists have one length. A list without
    /// entries counts as left out.
    ///
    /// ```
    /// use onnx_schema::{attr, domain, lookup, op};
    ///
    /// let scaler = lookup(domain::ML, op::SCALER, 1).unwrap();
    /// assert_eq!(scaler.parallel_lists(), [[attr::OFFSET, attr::SCALE]]);
    /// ```
    #[must_use]
    pub const fn parallel_lists(&self) -> &'static [&'static [Symbol]] {
        self.traits().parallel
    }
}
