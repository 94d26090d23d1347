//! A small memory of names met lately.
//!
//! The table of all names of a large model does not fit into a processor's caches, so every look into it costs a wait for
//! memory. Most names that a node uses were defined a few nodes before, and operators and attributes repeat all the time:
//! they are found here, and compared with text that was touched lately. A wrong or lost entry only costs the look.

use onnx_types::Symbol;

const SLOTS: usize = 4096;

/// Names met lately. A name is at hand only if its text is compared with that of the symbol found here.
#[derive(Debug)]
pub struct RecentNames(Box<[(u32, Symbol)]>);

/// Where a name would stand, and a mark that tells it from most others there.
#[derive(Clone, Copy, Debug)]
pub struct NameSlot {
    place: usize,
    mark: u32,
}

impl RecentNames {
    /// Nothing was met so far.
    #[must_use]
    pub fn new() -> Self {
        Self(vec![(0, Symbol::EMPTY); SLOTS].into_boxed_slice())
    }

    /// The slot of a name: a mix of its length and its last bytes, in which the names of a model differ most.
    #[inline]
    #[must_use]
    pub fn slot(name: &[u8]) -> NameSlot {
        let word = |bytes: &[u8]| bytes.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        let mixed = match name.last_chunk::<16>() {
            Some(tail) => {
                let tail = u128::from_le_bytes(*tail);
                (tail as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((tail >> 64) as u64).rotate_left(23)
            }
            None => name.last_chunk::<8>().map_or_else(|| word(name), |tail| u64::from_le_bytes(*tail)),
        };
        let mixed = (mixed ^ name.len() as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        NameSlot { place: (mixed >> 52) as usize, mark: (mixed >> 20) as u32 }
    }

    /// The name that stood in a slot last, if it has the slot's mark.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: NameSlot) -> Option<Symbol> {
        let &(mark, symbol) = self.0.get(slot.place)?;
        (mark == slot.mark && !symbol.is_empty()).then_some(symbol)
    }

    /// Puts a name into its slot.
    #[inline]
    pub fn set(&mut self, slot: NameSlot, symbol: Symbol) {
        if let Some(entry) = self.0.get_mut(slot.place) {
            *entry = (slot.mark, symbol);
        }
    }
}

impl Default for RecentNames {
    fn default() -> Self {
        Self::new()
    }
}
