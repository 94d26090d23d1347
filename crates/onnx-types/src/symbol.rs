//! Interned names.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Index;

use crate::raw_text::holds_raw_bytes;
use foldhash::fast::RandomState;
use string_interner::backend::StringBackend;
use string_interner::{StringInterner, Symbol as _};

/// A name that an [`Interner`] holds: one integer, compared and hashed without looking at the text.
///
/// A symbol means something only together with the interner that made it. The names that ONNX itself knows have fixed
/// symbols (see the crate `onnx-schema`), so code compares `node.op() == op::RELU` with one integer comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    /// The empty name, which every interner holds first.
    pub const EMPTY: Self = Self::from_index(0);

    /// The symbol with the given position in its interner.
    ///
    /// # Panics
    ///
    /// When `index` is `u32::MAX`, which no interner reaches.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        match NonZeroU32::new(index.wrapping_add(1)) {
            Some(raw) => Self(raw),
            #[expect(
                clippy::panic,
                reason = "a constant that names no symbol is a mistake in this workspace"
            )]
            None => panic!("no interner holds 2^32 names"),
        }
    }

    /// The position of the symbol in its interner.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0.get() - 1
    }

    /// Whether this is the empty name.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.index() == 0
    }
}

impl Default for Symbol {
    /// The empty name.
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.index())
    }
}

/// The position type that `string-interner` stores; the same integer as [`Symbol`].
type Raw = string_interner::symbol::SymbolU32;

/// The table of all names of one model.
///
/// Interning a name again gives the same [`Symbol`]. Names are never removed: editing a model leaves the names of erased
/// parts behind, and a deep copy of a model copies the table in a few block moves.
///
/// ```
/// use onnx_types::{Interner, Symbol};
///
/// let mut names = Interner::new();
/// let w = names.intern("W");
/// assert_eq!(names.intern("W"), w);
/// assert_eq!(names.resolve(w), "W");
/// assert_eq!(names.resolve(Symbol::EMPTY), "");
/// let fresh = names.fresh("W");
/// assert_ne!(fresh, w);
/// ```
#[derive(Clone)]
pub struct Interner {
    names: StringInterner<StringBackend<Raw>, RandomState>,
    /// Where the search for a fresh name goes on, so that a series of fresh names costs constant time each.
    fresh: u64,
    /// Whether a name holds bytes that are not UTF-8.
    raw_bytes: bool,
}

impl Interner {
    /// An interner that holds only the empty name.
    #[must_use]
    pub fn new() -> Self {
        Self::with_names(&[""])
    }

    /// An interner that starts with a fixed table: `names[i]` becomes `Symbol::from_index(i)`.
    ///
    /// # Panics
    ///
    /// When the table does not begin with the empty name or holds a name twice: both are mistakes in the table.
    #[must_use]
    pub fn with_names(names: &[&'static str]) -> Self {
        Self::with_names_and_capacity(names, 0)
    }

    /// Like [`with_names`](Self::with_names), with room for `more` further names, so that reading a file of known size
    /// never rehashes the table.
    ///
    /// # Panics
    ///
    /// As for [`with_names`](Self::with_names).
    #[must_use]
    #[expect(clippy::panic, reason = "the table is generated code, not outside data")]
    pub fn with_names_and_capacity(names: &[&'static str], more: usize) -> Self {
        let capacity = names.len().saturating_add(more);
        let names_table = StringInterner::with_capacity_and_hasher(capacity, RandomState::default());
        let mut table = Self { names: names_table, fresh: 0, raw_bytes: false };
        for (index, name) in names.iter().enumerate() {
            if table.intern(name).index() as usize != index {
                panic!("the name table holds `{name}` twice");
            }
        }
        if names.first() != Some(&"") {
            panic!("a name table begins with the empty name");
        }
        table
    }

    /// The symbol of `name`, which is added when it is new.
    ///
    /// # Panics
    ///
    /// When the table is full at 2³² − 1 names; decoders limit the number of names long before.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let before = self.names.len();
        let raw = self.names.get_or_intern(name);
        if self.names.len() > before && holds_raw_bytes(name) {
            self.raw_bytes = true;
        }
        Symbol::from_index(raw.to_usize() as u32)
    }

    /// Whether a name holds bytes that are not UTF-8, in the form of [`raw_text`](crate::raw_text).
    #[must_use]
    pub const fn holds_raw_bytes(&self) -> bool {
        self.raw_bytes
    }

    /// The symbol of `name` if the table holds it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Symbol> {
        self.names.get(name).map(|raw| Symbol::from_index(raw.to_usize() as u32))
    }

    /// The text of a symbol; the empty text for a symbol of another, longer table.
    #[must_use]
    pub fn resolve(&self, symbol: Symbol) -> &str {
        Raw::try_from_usize(symbol.index() as usize).and_then(|raw| self.names.resolve(raw)).unwrap_or("")
    }

    /// A name that the table did not hold before, made from `prefix` and a number.
    ///
    /// As every name of a model is in its table, the result is unused in the whole model. No names are scanned: one
    /// counter serves the table, so a series of fresh names costs constant time each.
    pub fn fresh(&mut self, prefix: &str) -> Symbol {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(prefix.len() + 8);
        loop {
            text.clear();
            text.push_str(prefix);
            // Writing to a `String` cannot fail.
            let _ = write!(text, "_{}", self.fresh);
            self.fresh += 1;
            if self.get(&text).is_none() {
                return self.intern(&text);
            }
        }
    }

    /// How many names the table holds, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the table holds no name at all, which is never so: the empty name is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl Default for Interner {
    fn default() -> Self {
        Self::new()
    }
}

impl Index<Symbol> for Interner {
    type Output = str;

    fn index(&self, symbol: Symbol) -> &str {
        self.resolve(symbol)
    }
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interner({} names)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_tables_keep_their_order() {
        let names = Interner::with_names(&["", "Relu", "Add"]);
        assert_eq!(names.get("Relu"), Some(Symbol::from_index(1)));
        assert_eq!(&names[Symbol::from_index(2)], "Add");
        assert_eq!(names.get("Sub"), None);
    }

    #[test]
    fn fresh_names_avoid_taken_ones() {
        let mut names = Interner::new();
        names.intern("x_0");
        names.intern("x_1");
        let fresh = names.fresh("x");
        assert_eq!(&names[fresh], "x_2");
    }

    #[test]
    fn option_of_symbol_is_one_word() {
        assert_eq!(size_of::<Option<Symbol>>(), 4);
    }
}
