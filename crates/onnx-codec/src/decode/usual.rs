//! Names that are met again and again: of operators, attributes and metadata.

use onnx_types::Symbol;

/// How many names are remembered. Models have some ten operators and as many attributes.
const PLACES: usize = 64;

/// The symbols of names that were looked up lately, by their bytes: to compare them takes a third of the time of hashing
/// and looking up. A name has one place, which it takes from the one that has it.
pub(super) struct Usual<'a> {
    places: [(&'a [u8], Symbol); PLACES],
}

impl Default for Usual<'_> {
    fn default() -> Self {
        Self { places: [(&[], Symbol::EMPTY); PLACES] }
    }
}

impl<'a> Usual<'a> {
    /// The symbol of a name that was met lately.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<Symbol> {
        let &(known, symbol) = self.places.get(place(name))?;
        (known == name).then_some(symbol)
    }

    /// Remembers the symbol of a name.
    #[inline]
    pub(super) fn put(&mut self, name: &'a [u8], symbol: Symbol) {
        if let Some(place) = self.places.get_mut(place(name)) {
            *place = (name, symbol);
        }
    }
}

/// The place of a name: length and ends tell names of these kinds apart well enough.
#[inline]
fn place(name: &[u8]) -> usize {
    let ends = match (name.first_chunk(), name.last_chunk()) {
        (Some(&first), Some(&last)) => u64::from_le_bytes(first) ^ u64::from_le_bytes(last).rotate_left(29),
        _ => match (name.first_chunk(), name.last_chunk()) {
            (Some(&first), Some(&last)) => {
                u64::from(u32::from_le_bytes(first)) ^ u64::from(u32::from_le_bytes(last)) << 29
            }
            _ => name.iter().fold(0, |ends, &byte| ends << 8 | u64::from(byte)),
        },
    };
    // The upper bits of a product depend on all bits; six of them choose one of 64 places.
    ((ends ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use onnx_types::Interner;

    use super::Usual;
    use crate::{DecodeOptions, decode};

    #[test]
    fn a_name_is_found_by_all_its_bytes() {
        let mut names = Interner::new();
        let mut usual = Usual::default();
        assert_eq!(usual.get(b""), Some(names.intern("")), "the empty name needs no place");
        let texts =
            ["a", "ab", "axis", "axes", "Add", "Transpose", "LayerNormalization", "LayerXormalization"];
        for text in texts {
            assert_eq!(usual.get(text.as_bytes()), None, "{text}");
            usual.put(text.as_bytes(), names.intern(text));
            assert_eq!(usual.get(text.as_bytes()), names.get(text), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_reported_wherever_it_stands() {
        // Two nodes, each with an attribute of this name and metadata under this key.
        let node = b"\x0a\x12\x22\x01F\x2a\x05\x0a\x01\xff\x18\x01\x4a\x06\x0a\x01\xff\x12\x01v";
        let model = [b"\x3a\x28", &node[..], node].concat();
        let decoded = decode(Bytes::from(model), &DecodeOptions::default()).unwrap();
        let found = decoded.findings.diagnostics().iter().filter(|found| found.rule.slug == "text-not-utf8");
        assert_eq!(found.count(), 4);
    }
}
