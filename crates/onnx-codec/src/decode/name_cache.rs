//! A cache of the names that recur in a model: of operators, attributes and metadata keys.

use onnx_types::Symbol;

/// Number of slots. Models have some ten operators and as many attributes.
const SLOTS: usize = 64;

/// A direct-mapped cache from the bytes of recent names to their symbols. Comparing the bytes takes a third of the time of
/// hashing and looking up. Inserting a name evicts the one that occupies its slot.
pub(super) struct NameCache<'a> {
    slots: [(&'a [u8], Symbol); SLOTS],
}

impl Default for NameCache<'_> {
    fn default() -> Self {
        Self { slots: [(&[], Symbol::EMPTY); SLOTS] }
    }
}

impl<'a> NameCache<'a> {
    /// The symbol of a cached name.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<Symbol> {
        let &(known, symbol) = self.slots.get(slot(name))?;
        (known == name).then_some(symbol)
    }

    /// Inserts a name and its symbol.
    #[inline]
    pub(super) fn put(&mut self, name: &'a [u8], symbol: Symbol) {
        if let Some(slot) = self.slots.get_mut(slot(name)) {
            *slot = (name, symbol);
        }
    }
}

/// The slot of a name, from its length and its ends, which distinguish names of these kinds well enough.
#[inline]
fn slot(name: &[u8]) -> usize {
    let ends = match (name.first_chunk(), name.last_chunk()) {
        (Some(&first), Some(&last)) => u64::from_le_bytes(first) ^ u64::from_le_bytes(last).rotate_left(29),
        _ => match (name.first_chunk(), name.last_chunk()) {
            (Some(&first), Some(&last)) => {
                u64::from(u32::from_le_bytes(first)) ^ u64::from(u32::from_le_bytes(last)) << 29
            }
            _ => name.iter().fold(0, |ends, &byte| ends << 8 | u64::from(byte)),
        },
    };
    // The upper bits of a product depend on all bits; six of them choose one of 64 slots.
    ((ends ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use onnx_types::Interner;

    use super::NameCache;
    use crate::{DecodeOptions, decode};

    #[test]
    fn a_name_is_found_by_all_its_bytes() {
        let mut names = Interner::new();
        let mut cache = NameCache::default();
        assert_eq!(cache.get(b""), Some(names.intern("")), "empty slots hold the empty name");
        let texts =
            ["a", "ab", "axis", "axes", "Add", "Transpose", "LayerNormalization", "LayerXormalization"];
        for text in texts {
            assert_eq!(cache.get(text.as_bytes()), None, "{text}");
            cache.put(text.as_bytes(), names.intern(text));
            assert_eq!(cache.get(text.as_bytes()), names.get(text), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf8_is_reported_at_each_occurrence() {
        // Two nodes, each with an attribute of this name and metadata under this key.
        let node = b"\x0a\x12\x22\x01F\x2a\x05\x0a\x01\xff\x18\x01\x4a\x06\x0a\x01\xff\x12\x01v";
        let model = [b"\x3a\x28", &node[..], node].concat();
        let decoded = decode(Bytes::from(model), &DecodeOptions::default()).unwrap();
        let found = decoded.findings.diagnostics().iter().filter(|found| found.rule.slug == "text-not-utf8");
        assert_eq!(found.count(), 4);
    }
}
