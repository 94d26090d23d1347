//! The identity of an interner, and in debug builds the detection of symbols of another interner.

use std::sync::Arc;

use crate::symbol::Symbol;

/// Identifies an [`Interner`](crate::Interner): a clone of an interner is another one.
#[derive(Clone, Debug)]
pub struct InternerId(
    /// Compared by address, which stays in use as long as the identity exists.
    Arc<()>,
);

impl PartialEq for InternerId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for InternerId {}

/// The origin of the symbols of an interner.
///
/// In debug builds, each symbol has the tag of the section of the interner in which it was made. The first section has the
/// fixed names. A clone has the sections of the original and a new section for new names, so it resolves the symbols
/// that existed before, and no later symbol of the original.
#[derive(Debug)]
pub(crate) struct Lineage {
    id: Arc<()>,
    /// The first index and the tag of each section after the fixed names.
    #[cfg(debug_assertions)]
    sections: Vec<(usize, u32)>,
}

impl Lineage {
    /// The tag of fixed symbols, and of those that were made from an index.
    #[cfg(debug_assertions)]
    pub(crate) const FIXED: u32 = 0;

    /// The lineage of an interner that has this many fixed names.
    pub(crate) fn new(fixed: usize) -> Self {
        let lineage = Self {
            id: Arc::new(()),
            #[cfg(debug_assertions)]
            sections: Vec::new(),
        };
        lineage.with_section(fixed)
    }

    /// The lineage of a clone of an interner that has this many names.
    pub(crate) fn fork(&self, names: usize) -> Self {
        let lineage = Self {
            id: Arc::new(()),
            #[cfg(debug_assertions)]
            sections: self.sections.clone(),
        };
        lineage.with_section(names)
    }

    pub(crate) fn id(&self) -> InternerId {
        InternerId(Arc::clone(&self.id))
    }

    #[cfg(not(debug_assertions))]
    fn with_section(self, _first: usize) -> Self {
        self
    }

    #[cfg(debug_assertions)]
    fn with_section(mut self, first: usize) -> Self {
        use std::hash::BuildHasher as _;

        // A section that has no names is replaced.
        self.sections.retain(|&(other, _)| other < first);
        let random = foldhash::fast::RandomState::default().hash_one(first);
        self.sections.push((first, (random as u32).max(1)));
        self
    }

    /// A symbol of the interner with its tag.
    #[inline]
    #[cfg(not(debug_assertions))]
    pub(crate) const fn tagged(&self, symbol: Symbol) -> Symbol {
        symbol
    }

    #[cfg(debug_assertions)]
    pub(crate) fn tagged(&self, symbol: Symbol) -> Symbol {
        symbol.with_tag(self.tag_at(symbol.index() as usize))
    }

    #[cfg(debug_assertions)]
    fn tag_at(&self, index: usize) -> u32 {
        let section = self.sections.iter().rev().find(|&&(first, _)| first <= index);
        section.map_or(Self::FIXED, |&(_, tag)| tag)
    }

    /// Returns `false` if another interner has made a symbol.
    #[cfg(debug_assertions)]
    pub(crate) fn has_made(&self, symbol: Symbol) -> bool {
        [Self::FIXED, self.tag_at(symbol.index() as usize)].contains(&symbol.tag())
    }
}
