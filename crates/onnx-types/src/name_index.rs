//! The index of the names in an interner.

use std::num::NonZeroU32;

use crate::symbol::{Symbol, UNNAMED};

/// An open-addressing table from hashes to symbols.
///
/// An entry holds hash and symbol side by side, so that a look into a large table waits for memory once; the tables of
/// well-kept crates keep control bytes and entries apart and wait twice, which was two fifths of the time of reading a
/// model of 200,000 nodes. Growing needs no text, as the hashes are there.
#[derive(Clone)]
pub(crate) struct Index {
    /// The hash in the upper half, the symbol's raw number, never 0, in the lower half; 0 where there is none. The length
    /// is a power of two, and at least a fifth of the entries is free.
    entries: Vec<u64>,
    len: usize,
}

impl Index {
    pub(crate) fn with_capacity(names: usize) -> Self {
        Self { entries: vec![0; Self::entries_for(names)], len: 0 }
    }

    /// Number of names.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Number of names that the index has room for.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "four fifths of a number are less than it")
    )]
    pub(crate) const fn capacity(&self) -> usize {
        self.entries.len() / 5 * 4
    }

    /// Loads the entries of hashes into the caches of the processor.
    #[inline]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            clippy::indexing_slicing,
            reason = "the table has at least 16 entries, a power of two, so the mask stays within it"
        )
    )]
    pub(crate) fn prefetch(&self, hashes: impl Iterator<Item = u32>) {
        let mask = self.entries.len() - 1;
        // The loads depend on nothing but the hashes, so they overlap; the sum only keeps them from being left out.
        let sum = hashes.fold(0_u64, |sum, hash| sum ^ self.entries[hash as usize & mask]);
        std::hint::black_box(sum);
    }

    /// Number of entries in an index for `names` names.
    fn entries_for(names: usize) -> usize {
        names.saturating_add(names / 4).max(16).next_power_of_two()
    }

    #[inline]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            clippy::indexing_slicing,
            reason = "the table has at least 16 entries, a power of two, so the mask stays within it"
        )
    )]
    pub(crate) fn find(&self, hash: u32, matches: impl Fn(Symbol) -> bool) -> Result<Symbol, usize> {
        let mask = self.entries.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.entries[slot];
            let Some(raw) = NonZeroU32::new(entry as u32) else { return Err(slot) };
            let symbol = Symbol::from_raw(raw);
            if (entry >> 32) as u32 == hash && matches(symbol) {
                return Ok(symbol);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            clippy::indexing_slicing,
            reason = "the slot was found in this table, which has more entries than names"
        )
    )]
    pub(crate) fn insert(&mut self, slot: usize, hash: u32, symbol: Symbol) {
        self.entries[slot] = u64::from(hash) << 32 | u64::from(symbol.raw().get());
        self.len += 1;
        if self.len > self.entries.len() / 5 * 4 {
            self.grow();
        }
    }

    #[cold]
    #[expect(clippy::panic, reason = "16 GiB of entries; decoders limit the number of names long before")]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            clippy::indexing_slicing,
            reason = "an entry has eight bytes, so a usize holds twice their number; the mask stays inside"
        )
    )]
    fn grow(&mut self) {
        // Four fifths of the entries are names, so this keeps symbols below the unnamed ones.
        if self.entries.len() >= UNNAMED as usize {
            panic!("the interner is full");
        }
        let mut entries = vec![0_u64; self.entries.len() * 2];
        let mask = entries.len() - 1;
        for &entry in self.entries.iter().filter(|&&entry| entry != 0) {
            let mut slot = (entry >> 32) as usize & mask;
            while entries[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            entries[slot] = entry;
        }
        self.entries = entries;
    }
}
