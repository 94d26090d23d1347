//! Choices, made by bytes.

use arbitrary::Unstructured;

/// Makes choices from bytes: the same bytes make the same choices.
///
/// When the bytes are used up, every choice is the first one, so that generation terminates; [`chance`](Self::chance)
/// then returns `false`.
pub(crate) struct Choices<'b>(Unstructured<'b>);

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Whether the bytes are used up.
    pub(crate) fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below a bound; 0 where the bound is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let most = bound.saturating_sub(1);
        self.0.int_in_range(0..=most).unwrap_or(0)
    }

    /// A number of a range, both ends included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least.saturating_add(self.below(most.saturating_sub(least).saturating_add(1)))
    }

    /// A number of a range of integers, both ends included.
    pub(crate) fn int(&mut self, least: i64, most: i64) -> i64 {
        self.0.int_in_range(least..=most.max(least)).unwrap_or(least)
    }

    /// True in about `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100).saturating_add(percent) >= 100
    }

    /// One of the items.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len())).copied()
    }
}

/// Bytes to choose by, the same for the same seed: eight for each step of a generator of random numbers.
#[must_use]
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    // splitmix64, by Sebastiano Vigna, in the public domain.
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let words = len.div_ceil(8);
    (0..words).flat_map(|_| next().to_le_bytes()).take(len).collect()
}
