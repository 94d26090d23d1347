//! Details of a file's encoding: unknown fields, explicitly encoded defaults, and packed lists.

use bytes::Bytes;

/// The form in which the fields of one message are encoded, where their values do not determine it.
///
/// An encoder omits a singular field that holds its default, and does not pack a repeated field of numbers unless the
/// specification says so. A file may do otherwise: it may have an *explicitly encoded default*, or a *packed* list. Neither
/// means anything to a reader of models, but decoding and encoding a model must not change the file, so the records of the
/// IR keep this.
///
/// One bit for each field number holds both, because a field is either singular or repeated. ONNX uses numbers below 32;
/// [`field`](mod@crate::field) has them as constants.
///
/// ```
/// use onnx_types::{FieldForms, field};
///
/// let mut forms = FieldForms::CANONICAL;
/// forms.set_explicit(field::function::DOMAIN, true);
/// assert!(forms.is_explicit(field::function::DOMAIN) && !forms.is_explicit(field::function::OVERLOAD));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct FieldForms(u32);

impl FieldForms {
    /// No explicitly encoded defaults and no packed lists.
    pub const CANONICAL: Self = Self(0);

    /// Returns `true` if the singular field `number` is encoded although it holds its default.
    #[must_use]
    pub const fn is_explicit(self, number: u32) -> bool {
        self.contains(number)
    }

    /// Sets whether the singular field `number` is encoded although it holds its default.
    pub const fn set_explicit(&mut self, number: u32, is_explicit: bool) {
        self.set(number, is_explicit);
    }

    /// Returns `true` if the repeated field `number` is packed.
    #[must_use]
    pub const fn is_packed(self, number: u32) -> bool {
        self.contains(number)
    }

    /// Sets whether the repeated field `number` is packed.
    pub const fn set_packed(&mut self, number: u32, is_packed: bool) {
        self.set(number, is_packed);
    }

    /// The numbers of the explicitly encoded defaults and of the packed lists, in ascending order.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..32).filter(move |&number| self.contains(number))
    }

    const fn contains(self, number: u32) -> bool {
        number < 32 && self.0 & (1 << number) != 0
    }

    /// Sets one bit; numbers from 32 on are ignored.
    const fn set(&mut self, number: u32, is_set: bool) {
        if number < 32 {
            self.0 = self.0 & !(1 << number) | (is_set as u32) << number;
        }
    }
}

/// Both sets of fields, for a message whose fields are in two lists.
impl std::ops::BitOr for FieldForms {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The numbers of fields that are packed lists or explicitly encoded defaults; which, follows from the field.
impl FromIterator<u32> for FieldForms {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut forms = Self::CANONICAL;
        numbers.into_iter().for_each(|number| forms.set(number, true));
        forms
    }
}

/// An unknown field, or one that the IR cannot represent: its encoding is kept unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownField {
    /// The field number.
    pub number: u32,
    /// The complete record: tag and contents.
    pub bytes: Bytes,
}

/// The unknown fields of one message, in file order.
pub type UnknownFields = Vec<UnknownField>;
