//! A small memory of names met lately.
//!
//! The table of all names of a large model does not fit into a processor's caches, so every look into it costs a wait for
//! memory. Most names that a node uses were defined a few nodes before, and operators and attributes repeat all the time:
//! they are found here, and compared with text that was touched lately. A wrong or lost entry only costs the look.

use onnx_types::Symbol;

const SLOTS: usize = 4096;

pub(super) struct Recent(Box<[Symbol]>);

impl Recent {
    pub(super) fn new() -> Self {
        Self(vec![Symbol::EMPTY; SLOTS].into_boxed_slice())
    }

    /// Where a name would stand: a mix of its length and its last bytes, in which the names of a model differ most.
    #[inline]
    pub(super) fn slot(name: &[u8]) -> usize {
        let word = |bytes: &[u8]| bytes.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        let mixed = match name.last_chunk::<16>() {
            Some(tail) => {
                let (low, high) = tail.split_at(8);
                word(low).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word(high).rotate_left(23)
            }
            None => name.last_chunk::<8>().map_or_else(|| word(name), |tail| word(tail)),
        };
        let mixed = (mixed ^ name.len() as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 52) as usize
    }

    /// The name that stood in a slot last, if any.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<Symbol> {
        self.0.get(slot).copied().filter(|symbol| !symbol.is_empty())
    }

    #[inline]
    pub(super) fn set(&mut self, slot: usize, symbol: Symbol) {
        if let Some(entry) = self.0.get_mut(slot) {
            *entry = symbol;
        }
    }
}
