//! Texts for symbols without a name.

use std::borrow::Cow;
use std::fmt;

use crate::symbol::{Interner, Symbol};

/// The texts of the symbols in dimensions.
///
/// An [`Interner`] makes a text for an [unnamed](Symbol::unnamed) symbol from its number: `unk__7`. It avoids all names of
/// the interner, so it changes if a name is added that is equal to it. Different symbols have different texts.
///
/// ```
/// use onnx_types::{Interner, Symbol, SymbolNames};
///
/// let mut names = Interner::new();
/// let unnamed = Symbol::unnamed(7);
/// assert_eq!(names.name(unnamed), "unk__7");
/// let named = names.intern("unk__7");
/// assert_eq!(names.name(named), "unk__7");
/// assert_eq!(names.name(unnamed), "unk__7_");
/// ```
pub trait SymbolNames: fmt::Debug {
    /// The text of a symbol.
    fn name(&self, symbol: Symbol) -> Cow<'_, str>;
}

impl SymbolNames for Interner {
    fn name(&self, symbol: Symbol) -> Cow<'_, str> {
        let Some(number) = symbol.number() else { return Cow::Borrowed(self.resolve(symbol)) };
        let mut text = format!("unk__{number}");
        // Each attempt doubles the number of underscores, so names that are all taken cost no more than they are long.
        let mut more = 1_usize;
        while self.get(&text).is_some() {
            text.extend(std::iter::repeat_n('_', more));
            more = more.saturating_mul(2);
        }
        Cow::Owned(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_unnamed_symbols_avoid_names_and_each_other() {
        let mut names = Interner::new();
        for taken in ["unk__1", "unk__1_", "unk__1___", "unk__2"] {
            names.intern(taken);
        }
        let texts: Vec<_> = (0..4).map(|number| names.name(Symbol::unnamed(number)).into_owned()).collect();
        assert_eq!(texts, ["unk__0", "unk__1_______", "unk__2_", "unk__3"]);
    }
}
