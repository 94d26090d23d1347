//! What the attributes of an operator can be.

use std::ops::RangeInclusive;

use onnx_types::Symbol;

/// The axes that an operator takes for a first input of rank r.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AxisDomain {
    /// Those of the input: -r to r - 1.
    Own,
    /// One more, as it says where to cut: -r to r.
    Cuts,
    /// The same without counting from the back: 0 to r.
    CutsFromFront,
    /// Those of an output that has one axis more: -r - 1 to r.
    OneMore,
    /// Those of an output that has an axis more for each one in the list.
    Inserted,
}

/// Facts about an attribute of an operator from a version on, until a further row for the attribute states the same kind of fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttributeTraits {
    name: Symbol,
    since: u16,
    range: Option<(i64, i64)>,
    axes: Option<AxisDomain>,
    choices: Option<&'static [&'static str]>,
    is_element_type: bool,
    is_neutral: bool,
}

/// A row about an attribute.
pub(super) const fn attribute(name: Symbol) -> AttributeTraits {
    AttributeTraits {
        name,
        since: 1,
        range: None,
        axes: None,
        choices: None,
        is_element_type: false,
        is_neutral: false,
    }
}

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
impl AttributeTraits {
    /// From this version of the operator on.
    pub(super) const fn from(mut self, version: u16) -> Self {
        self.since = version;
        self
    }

    /// A number, or numbers, not less than this one.
    pub(super) const fn least(self, least: i64) -> Self {
        self.between(least, i64::MAX)
    }

    /// A number, or numbers, in this range.
    pub(super) const fn between(mut self, least: i64, most: i64) -> Self {
        if self.range.is_some() || self.axes.is_some() || least > most {
            panic!("an attribute has two ranges, or an empty one");
        }
        self.range = Some((least, most));
        self
    }

    /// An axis, or axes.
    pub(super) const fn axis(mut self, domain: AxisDomain) -> Self {
        if self.range.is_some() || self.axes.is_some() {
            panic!("an attribute has two ranges");
        }
        self.axes = Some(domain);
        self
    }

    /// One of these strings, or a list of such.
    pub(super) const fn one_of(mut self, choices: &'static [&'static str]) -> Self {
        if self.choices.is_some() || choices.is_empty() {
            panic!("an attribute has no choices, or two sets of them");
        }
        self.choices = Some(choices);
        self
    }

    /// Any string again, as the documentation leaves it open from here on.
    pub(super) const fn any_string(mut self) -> Self {
        self.choices = Some(&[]);
        self
    }

    /// The number of the element type of the first output.
    pub(super) const fn element_type(mut self) -> Self {
        self.is_element_type = true;
        self
    }

    /// A later version added it, and its default keeps the meaning that nodes had before. Schemas do not tell this.
    pub(super) const fn neutral(mut self) -> Self {
        self.is_neutral = true;
        self
    }

    pub(super) const fn name(&self) -> Symbol {
        self.name
    }

    pub(super) const fn first_version(&self) -> i64 {
        self.since as i64
    }

    pub(super) fn range(&self) -> Option<RangeInclusive<i64>> {
        self.range.map(|(least, most)| least..=most)
    }

    pub(super) fn axis_domain(&self) -> Option<AxisDomain> {
        self.axes
    }

    pub(super) fn choices(&self) -> Option<&'static [&'static str]> {
        self.choices
    }

    pub(super) fn is_element_type(&self) -> Option<()> {
        self.is_element_type.then_some(())
    }

    pub(super) fn is_neutral(&self) -> Option<()> {
        self.is_neutral.then_some(())
    }
}
