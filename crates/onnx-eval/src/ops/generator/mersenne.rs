//! The Mersenne Twister MT19937 of Matsumoto and Nishimura, as numpy's `RandomState` uses it: the generator of the reference.

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// A sequence of random numbers.
pub(in crate::ops) struct Mersenne {
    state: [u32; SIZE],
    at: usize,
}

impl Mersenne {
    /// The sequence of a seed.
    pub(in crate::ops) fn new(seed: u32) -> Self {
        let mut state = [seed; SIZE];
        for index in 1..SIZE {
            let last = state[index - 1];
            state[index] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(index as u32);
        }
        Self { state, at: SIZE }
    }

    fn word(&mut self) -> u32 {
        if self.at == SIZE {
            for index in 0..SIZE {
                let mixed = self.state[index] & 0x8000_0000 | self.state[(index + 1) % SIZE] & 0x7fff_ffff;
                let odd = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[index] = self.state[(index + MIDDLE) % SIZE] ^ (mixed >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// The next number in [0, 1), of 53 bits.
    pub(in crate::ops) fn unit(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of `numpy.random.RandomState(seed).uniform()`.
    #[test]
    fn numbers_are_those_of_numpy() {
        for (seed, numbers) in [
            (0, [0.548_813_503_927_324_8, 0.715_189_366_372_419_5, 0.602_763_376_071_643_9]),
            (u32::MAX, [0.097_632_028_994_013_8, 0.912_382_845_302_621_8, 0.789_035_301_851_64]),
        ] {
            let mut sequence = Mersenne::new(seed);
            for number in numbers {
                assert_eq!(sequence.unit(), number, "{seed}");
            }
        }
        let mut sequence = Mersenne::new(7);
        assert_eq!((0..700).map(|_| sequence.unit()).last(), Some(0.338_715_689_923_268_84));
    }
}
