//! Numbers that look random, and are the same on all machines: SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom
//! number generators*, 2014).

/// The step between two states: 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of numbers: the same seed gives the same ones.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it is not an iterator: it never ends")]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// One of several; `None` if there is none.
    pub fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let index = self.below(all.len() as u64);
        all.get(usize::try_from(index).ok()?).cloned()
    }
}

/// The output function of the generator.
pub(crate) const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The number at an index, counted from 0, of the generator of a seed.
pub(crate) const fn at(seed: u64, index: usize) -> u64 {
    mix(seed.wrapping_add((index as u64).wrapping_add(1).wrapping_mul(STEP)))
}
