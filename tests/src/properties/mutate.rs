//! Other inputs made of given ones: deterministic, so that a test finds today what it found yesterday.

/// A generator of numbers that repeats itself exactly: xorshift.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers that follow from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Neighbouring seeds shall differ in all bits, and none may be 0.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

/// Numbers at which something changes, as bytes of varints, fixed fields and text.
const TELLING: [&[u8]; 14] = [
    b"\x00",
    b"\x01",
    b"\x7f",
    b"\x80\x01",
    b"\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x08",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"-1",
    b"0",
    b"9223372036854775807",
    b"-9223372036854775808",
];

/// One of the seeds with some changes, never longer than `limit` bytes.
#[must_use]
pub fn mutate(seeds: &[Vec<u8>], numbers: &mut Numbers, limit: usize) -> Vec<u8> {
    let mut bytes = numbers.pick(seeds).cloned().unwrap_or_default();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len() + 1);
        match numbers.below(7) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = numbers.next() as u8;
                }
            }
            3 => {
                let telling = numbers.pick(&TELLING).copied().unwrap_or_default();
                let end = (at + numbers.below(2) * telling.len()).min(bytes.len());
                bytes.splice(at..end, telling.iter().copied());
            }
            4 => {
                // A piece of another seed.
                let other = numbers.pick(seeds).cloned().unwrap_or_default();
                let start = numbers.below(other.len());
                let end = (start + 1 + numbers.below(64)).min(other.len());
                bytes.splice(at..at, other.get(start..end).unwrap_or_default().iter().copied());
            }
            5 => {
                let end = (at + numbers.below(32)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                // The same piece again.
                let end = (at + numbers.below(64)).min(bytes.len());
                let piece = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes.truncate(limit);
    bytes
}
