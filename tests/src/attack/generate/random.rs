//! Pseudo-random choices that are the same on every machine.

/// A generator of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_F42D_4C95_7F2D)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An index below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).unwrap_or(0)
    }

    /// A number between two, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low).saturating_add(1);
        low.saturating_add_unsigned(self.next() % width)
    }

    /// Whether an event of this probability in percent happens.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    /// One of several.
    pub fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}
