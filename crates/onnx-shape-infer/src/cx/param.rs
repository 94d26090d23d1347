//! Integers that older versions take as an attribute and newer ones as an input.

use onnx_types::Symbol;
use smallvec::SmallVec;

use super::{Cx, Outcome};

/// Where an operator takes a list of integers from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Param {
    /// From an attribute.
    Attr(Symbol),
    /// From an input.
    Input(usize),
}

/// The integers of a [`Param`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ints {
    /// The node does not give them.
    Absent,
    /// It gives them, but what they are is known only when the model runs.
    Unknown,
    /// They are these.
    Known(SmallVec<[i64; 6]>),
}

impl Cx<'_, '_> {
    /// The integers of a parameter.
    ///
    /// # Errors
    ///
    /// When an attribute is of another kind, or an input is not a list.
    pub fn param(&mut self, param: Param) -> Outcome<Ints> {
        Ok(match param {
            Param::Attr(name) => {
                self.ints(name)?.map_or(Ints::Absent, |values| Ints::Known(SmallVec::from_slice(values)))
            }
            Param::Input(index) if !self.has_input(index) => Ints::Absent,
            Param::Input(index) => {
                self.is_list(index)?;
                self.numbers(index).map_or(Ints::Unknown, Ints::Known)
            }
        })
    }
}
