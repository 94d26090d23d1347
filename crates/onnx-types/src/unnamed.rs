//! Texts for symbols without a name.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

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
/// assert_eq!(names.name(unnamed), "unk__7_1");
/// ```
pub trait SymbolNames: fmt::Debug {
    /// The text of a symbol.
    fn name(&self, symbol: Symbol) -> Cow<'_, str>;
}

impl SymbolNames for Interner {
    fn name(&self, symbol: Symbol) -> Cow<'_, str> {
        let Some(number) = symbol.number() else { return Cow::Borrowed(self.resolve(symbol)) };
        let mut text = format!("unk__{number}");
        // The suffix doubles, so n taken names are passed after log n attempts, and a text grows by at most a digit where a
        // caller adds it to the interner and asks again.
        let (mut stem, mut suffix) = (text.len(), 1_u64);
        while self.get(&text).is_some() {
            text.truncate(stem);
            // Writing to a `String` cannot fail.
            let _ = write!(text, "_{suffix}");
            suffix = suffix.rotate_left(1);
            if suffix == 1 {
                stem = text.len();
            }
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
        for taken in ["unk__1", "unk__1_1", "unk__1_2", "unk__2"] {
            names.intern(taken);
        }
        let texts: Vec<_> = (0..4).map(|number| names.name(Symbol::unnamed(number)).into_owned()).collect();
        assert_eq!(texts, ["unk__0", "unk__1_4", "unk__2_1", "unk__3"]);
    }

    #[test]
    fn texts_stay_short_where_each_becomes_a_name() {
        let mut names = Interner::new();
        let symbol = Symbol::unnamed(1);
        for _ in 0..200 {
            let text = names.name(symbol).into_owned();
            assert!(names.get(&text).is_none(), "{text}");
            names.intern(&text);
        }
        assert!(names.name(symbol).len() < 80, "{}", names.name(symbol));
    }
}
