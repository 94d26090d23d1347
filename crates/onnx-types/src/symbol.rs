//! Interned names.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use string_interner::Symbol as _;
use string_interner::backend::{Backend as _, StringBackend};

use crate::lineage::{InternerId, Lineage};
use crate::name_index::Index;
use crate::raw_text::holds_raw_bytes;

/// A name that an [`Interner`] holds: one integer, compared and hashed without access to the text.
///
/// A symbol means something only together with the interner that made it. The names that ONNX itself knows have fixed
/// symbols (see the crate `onnx-schema`), so code compares `node.op() == op::RELU` with one integer comparison.
///
/// In debug builds, symbols of different interners are not equal, and [`Interner::resolve`] detects them.
///
/// An [unnamed](Self::unnamed) symbol is a number without a text, which no interner holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    raw: NonZeroU32,
    /// The section of an interner in which the symbol was made: see [`Lineage`]. It is random, so no hash includes it.
    #[cfg(debug_assertions)]
    tag: u32,
}

/// The index of the first unnamed symbol; no interner grows to it.
pub(crate) const UNNAMED: u32 = 1 << 31;

impl Symbol {
    /// The empty name, which every interner holds first.
    pub const EMPTY: Self = Self::from_index(0);

    /// The symbol with the given position in its interner.
    ///
    /// # Panics
    ///
    /// Panics if `index` is `u32::MAX`, which no interner reaches.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        match NonZeroU32::new(index.wrapping_add(1)) {
            Some(raw) => Self::from_raw(raw),
            #[expect(
                clippy::panic,
                reason = "a constant that names no symbol is a mistake in this workspace"
            )]
            None => panic!("no interner holds 2^32 names"),
        }
    }

    /// The symbol that an index has as a number.
    pub(crate) const fn from_raw(raw: NonZeroU32) -> Self {
        Self {
            raw,
            #[cfg(debug_assertions)]
            tag: Lineage::FIXED,
        }
    }

    /// A symbol without a name: a dimension variable that is known by its number only. A text is made for it where it is
    /// printed ([`SymbolNames`](crate::SymbolNames)).
    ///
    /// ```
    /// use onnx_types::Symbol;
    ///
    /// assert_eq!(Symbol::unnamed(7).number(), Some(7));
    /// assert_eq!(Symbol::EMPTY.number(), None);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the number is 2³¹ − 1 or more.
    #[must_use]
    pub const fn unnamed(number: u32) -> Self {
        Self::from_index(UNNAMED.saturating_add(number))
    }

    /// The number of an unnamed symbol; `None` if it is the symbol of a name.
    #[must_use]
    pub const fn number(self) -> Option<u32> {
        self.index().checked_sub(UNNAMED)
    }

    pub(crate) const fn raw(self) -> NonZeroU32 {
        self.raw
    }

    /// The position of the symbol in its interner.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.raw.get() - 1
    }

    /// Whether this is the empty name.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.index() == 0
    }

    /// The tag of the section of an interner in which the symbol was made.
    #[cfg(debug_assertions)]
    pub(crate) const fn tag(self) -> u32 {
        self.tag
    }

    #[cfg(debug_assertions)]
    pub(crate) const fn with_tag(self, tag: u32) -> Self {
        Self { tag, ..self }
    }
}

/// A name that is looked up in an [`Interner`]: a symbol of it, or text.
///
/// Methods that take `impl Into<NameRef>` serve names that have a fixed symbol (`attr::AXIS`) and names that only the caller
/// has (`"factor"`), which no interner has to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameRef<'a> {
    /// A symbol.
    Symbol(Symbol),
    /// The text of the name.
    Text(&'a str),
}

impl<'a> NameRef<'a> {
    /// The symbol of the name; `None` if the interner does not hold it.
    #[must_use]
    pub fn symbol(self, names: &Interner) -> Option<Symbol> {
        match self {
            Self::Symbol(symbol) => Some(symbol),
            Self::Text(text) => names.get(text),
        }
    }

    /// The text of the name.
    ///
    /// # Panics
    ///
    /// Panics if a symbol is not of this interner, as [`Interner::resolve`].
    #[must_use]
    pub fn text(self, names: &'a Interner) -> &'a str {
        match self {
            Self::Symbol(symbol) => names.resolve(symbol),
            Self::Text(text) => text,
        }
    }
}

impl From<Symbol> for NameRef<'_> {
    fn from(symbol: Symbol) -> Self {
        Self::Symbol(symbol)
    }
}

impl<'a> From<&'a str> for NameRef<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl Hash for Symbol {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
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
        match self.number() {
            None => write!(f, "s{}", self.index()),
            Some(number) => write!(f, "u{number}"),
        }
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
pub struct Interner {
    lineage: Lineage,
    /// The texts, one after the other.
    texts: StringBackend<Raw>,
    /// The index from text to symbol.
    index: Index,
    hasher: RandomState,
    /// Where the search for a fresh name resumes, so that each name of a series takes constant time.
    fresh: u64,
    /// Whether a name holds bytes that are not UTF-8.
    raw_bytes: bool,
}

/// The hash of a name in one [`Interner`]; in another one it means nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameHash(u32);

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
    /// Panics if the table does not begin with the empty name or holds a name twice: both are mistakes in the table.
    #[must_use]
    pub fn with_names(names: &[&'static str]) -> Self {
        Self::with_names_and_capacity(names, 0, 0)
    }

    /// Like [`with_names`](Self::with_names), with room for `more` further names of `bytes` bytes in total, so that the
    /// table does not grow while a file of known size is read.
    ///
    /// # Panics
    ///
    /// See [`with_names`](Self::with_names).
    #[must_use]
    #[expect(clippy::panic, reason = "the table is generated code, not outside data")]
    pub fn with_names_and_capacity(names: &[&'static str], more: usize, bytes: usize) -> Self {
        let capacity = names.len().saturating_add(more);
        // The backend reserves five bytes for each name, so a capacity of more names makes room for long ones. Capacity
        // that is not used is never touched, so it takes no memory.
        let texts = capacity.max((bytes / 5).min(capacity.saturating_mul(8)));
        let mut table = Self {
            lineage: Lineage::new(names.len()),
            texts: StringBackend::with_capacity(texts),
            index: Index::with_capacity(capacity),
            hasher: RandomState::default(),
            fresh: 0,
            raw_bytes: false,
        };
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

    /// Identifies this table. A clone is another table.
    #[must_use]
    pub fn id(&self) -> InternerId {
        self.lineage.id()
    }

    /// The symbol of `name`, which is added when it is new.
    ///
    /// # Panics
    ///
    /// Panics if the table is full at some 2³¹ names; decoders limit the number of names long before.
    #[inline]
    pub fn intern(&mut self, name: &str) -> Symbol {
        let NameHash(hash) = self.hash(name.as_bytes());
        match self.index.find(hash, |symbol| text(&self.texts, symbol) == name) {
            Ok(symbol) => self.lineage.tagged(symbol),
            Err(slot) => self.add(slot, hash, name),
        }
    }

    /// The hash of a name's bytes in this table.
    ///
    /// Loading many names takes three steps: hash them, [`prefetch`](Self::prefetch) their slots, and
    /// [intern](Self::intern_utf8) them. In a large table, looking up a name is a cache miss; so the misses overlap.
    #[inline]
    #[must_use]
    pub fn hash(&self, name: &[u8]) -> NameHash {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name);
        // The upper half: foldhash mixes it best.
        NameHash((hasher.finish() >> 32) as u32)
    }

    /// Loads the slots of names into the caches of the processor.
    #[inline]
    pub fn prefetch(&self, names: impl Iterator<Item = NameHash>) {
        self.index.prefetch(names.map(|hash| hash.0));
    }

    /// The symbol of the text with these bytes and their [hash](Self::hash); it is added when it is new, and only then
    /// checked for being UTF-8.
    ///
    /// Returns `None` if the bytes are not UTF-8, and if they are, or may be confused with, the form in which
    /// [`raw_text`](crate::raw_text) represents such bytes.
    ///
    /// # Panics
    ///
    /// As [`intern`](Self::intern).
    #[inline]
    pub fn intern_utf8(&mut self, name: &[u8], NameHash(hash): NameHash) -> Option<Symbol> {
        match self.index.find(hash, |symbol| text(&self.texts, symbol).as_bytes() == name) {
            Ok(symbol) => (!self.raw_bytes).then(|| self.lineage.tagged(symbol)),
            Err(slot) => {
                let name = std::str::from_utf8(name).ok().filter(|name| !holds_raw_bytes(name))?;
                Some(self.add_utf8(slot, hash, name))
            }
        }
    }

    /// Like [`intern_utf8`](Self::intern_utf8), for a name that is known to be ASCII and not checked again.
    ///
    /// # Panics
    ///
    /// As [`intern`](Self::intern).
    #[inline]
    pub fn intern_ascii(&mut self, name: &str, NameHash(hash): NameHash) -> Symbol {
        debug_assert!(name.is_ascii());
        match self.index.find(hash, |symbol| text(&self.texts, symbol) == name) {
            Ok(symbol) => self.lineage.tagged(symbol),
            Err(slot) => self.add_utf8(slot, hash, name),
        }
    }

    fn add(&mut self, slot: usize, hash: u32, name: &str) -> Symbol {
        self.raw_bytes |= holds_raw_bytes(name);
        self.add_utf8(slot, hash, name)
    }

    /// Adds a name that represents UTF-8.
    fn add_utf8(&mut self, slot: usize, hash: u32, name: &str) -> Symbol {
        let symbol = Symbol::from_index(self.texts.intern(name).to_usize() as u32);
        self.index.insert(slot, hash, symbol);
        self.lineage.tagged(symbol)
    }

    /// Whether a name holds bytes that are not UTF-8, in the form of [`raw_text`](crate::raw_text).
    #[must_use]
    pub const fn holds_raw_bytes(&self) -> bool {
        self.raw_bytes
    }

    /// The symbol of `name` if the table holds it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Symbol> {
        let NameHash(hash) = self.hash(name.as_bytes());
        let found = self.index.find(hash, |symbol| text(&self.texts, symbol) == name);
        found.ok().map(|symbol| self.lineage.tagged(symbol))
    }

    /// The text of a symbol; the empty text for an unnamed symbol, and for one of another, longer table.
    ///
    /// # Panics
    ///
    /// Panics in debug builds if the symbol is unnamed or of another table. A clone is another table for the symbols that
    /// the original or the clone makes from then on; those before belong to both.
    #[inline]
    #[must_use]
    pub fn resolve(&self, symbol: Symbol) -> &str {
        debug_assert!(symbol.number().is_none(), "{symbol:?} has no name");
        #[cfg(debug_assertions)]
        debug_assert!(
            (symbol.index() as usize) < self.len() && self.lineage.has_made(symbol),
            "{symbol:?} is of another interner"
        );
        text(&self.texts, symbol)
    }

    /// A name that the table did not hold before, made from `prefix` and a number.
    ///
    /// As every name of a model is in its table, the result is unused in the whole model. No names are scanned: one
    /// counter serves the table, so a series of fresh names costs constant time each.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "the length of a text is at most half of usize::MAX, and a counter does not reach 2^64"
        )
    )]
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

    /// Releases unused capacity for texts.
    pub fn shrink_to_fit(&mut self) {
        self.texts.shrink_to_fit();
    }

    /// Number of names that the table can hold before it grows.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.index.capacity()
    }

    /// Number of names in the table, including the empty one.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether the table holds no name at all, which is never so: the empty name is always there.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.index.len() == 0
    }
}

#[inline]
fn text(texts: &StringBackend<Raw>, symbol: Symbol) -> &str {
    Raw::try_from_usize(symbol.index() as usize).and_then(|raw| texts.resolve(raw)).unwrap_or("")
}

impl Clone for Interner {
    fn clone(&self) -> Self {
        Self {
            lineage: self.lineage.fork(self.len()),
            texts: self.texts.clone(),
            index: self.index.clone(),
            hasher: self.hasher.clone(),
            fresh: self.fresh,
            raw_bytes: self.raw_bytes,
        }
    }
}

impl Default for Interner {
    fn default() -> Self {
        Self::new()
    }
}

impl std::ops::Index<Symbol> for Interner {
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

    /// The text of a symbol in a table that does not have it: a panic in debug builds, something else in release builds.
    fn check_foreign(table: &Interner, symbol: Symbol, in_release: &str) {
        let resolved = std::panic::catch_unwind(|| table.resolve(symbol).to_owned());
        assert_eq!(resolved.ok(), (!cfg!(debug_assertions)).then(|| in_release.to_owned()), "{symbol:?}");
    }

    #[test]
    fn debug_builds_detect_symbols_of_other_tables() {
        let fixed = ["", "Relu"];
        let mut table = Interner::with_names(&fixed);
        let mut other = Interner::with_names(&fixed);
        check_foreign(&table, other.intern("Add"), "");
        // A position that both tables have.
        let (add, sub) = (table.intern("Add"), other.intern("Sub"));
        check_foreign(&table, sub, "Add");
        check_foreign(&other, add, "Sub");
        check_foreign(&table, Symbol::unnamed(0), "");
        for symbol in [Symbol::EMPTY, Symbol::from_index(1), other.intern("Relu")] {
            assert_eq!(table.resolve(symbol), other.resolve(symbol));
        }
    }

    #[test]
    fn debug_builds_detect_symbols_of_diverged_clones() {
        let mut table = Interner::with_names(&["", "Relu"]);
        let shared = table.intern("x");
        let mut clone = table.clone();
        assert_ne!(table.id(), clone.id());
        assert_eq!(clone.resolve(shared), "x");
        assert_eq!(table.resolve(clone.intern("x")), "x");
        let (own, cloned) = (table.intern("y"), clone.intern("z"));
        check_foreign(&clone, own, "z");
        check_foreign(&table, cloned, "y");
        // A clone of a clone has the symbols of both.
        let mut last = clone.clone();
        let newest = last.intern("w");
        assert_eq!([shared, cloned, newest].map(|symbol| last.resolve(symbol)), ["x", "z", "w"]);
        check_foreign(&last, own, "z");
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
    fn names_survive_growth() {
        let mut names = Interner::new();
        let symbols: Vec<Symbol> = (0..5000).map(|number| names.intern(&format!("n{number}"))).collect();
        assert_eq!(names.len(), 5001);
        for (number, &symbol) in symbols.iter().enumerate() {
            let name = format!("n{number}");
            assert_eq!(names.get(&name), Some(symbol));
            assert_eq!(names.resolve(symbol), name);
            assert_eq!(names.intern(&name), symbol);
        }
    }

    #[test]
    fn option_of_symbol_is_one_word() {
        // Debug builds add the tag.
        assert_eq!(size_of::<Option<Symbol>>(), if cfg!(debug_assertions) { 8 } else { 4 });
    }
}
