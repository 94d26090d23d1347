//! Sums whose rounding error grows with the logarithm of the number of elements, in an order that depends on that number only.
//!
//! Elements are added in blocks, and blocks in pairs, pairs in pairs, and so on. A sum in order loses every element after the
//! first 2²⁴ ones of binary32.

use crate::number::Number;

/// Number of elements of a block.
pub(crate) const BLOCK: usize = 1024;

/// The sum of a function of the elements. A block is eight sums of every eighth element, which vector instructions compute, added
/// from the first to the last.
#[inline]
pub(crate) fn sum_of<T: Copy, S: Number>(elements: &[T], function: impl Fn(T) -> S) -> S {
    let block = |elements: &[T]| {
        let (parts, rest) = elements.as_chunks::<8>();
        let mut sums = [S::ZERO; 8];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, &element)| *sum = sum.plus(function(element)));
        }
        sums.iter_mut().zip(rest).for_each(|(sum, &element)| *sum = sum.plus(function(element)));
        sums.into_iter().fold(S::ZERO, S::plus)
    };
    if elements.len() <= BLOCK {
        return block(elements);
    }
    let mut sum = Sum::default();
    elements.chunks(BLOCK).for_each(|elements| sum.add_block(block(elements)));
    sum.total()
}

/// A sum of elements that come one by one; a block is added in order.
pub(crate) struct Sum<S> {
    block: S,
    /// Number of elements in the block.
    count: usize,
    /// Number of blocks.
    blocks: u64,
    /// For each bit of that number, the sum of as many blocks.
    pairs: [S; 64],
}

impl<S: Number> Default for Sum<S> {
    fn default() -> Self {
        Self { block: S::ZERO, count: 0, blocks: 0, pairs: [S::ZERO; 64] }
    }
}

impl<S: Number> Sum<S> {
    /// Adds an element.
    #[inline]
    pub(crate) fn add(&mut self, element: S) {
        self.block = self.block.plus(element);
        self.count += 1;
        if self.count == BLOCK {
            let block = std::mem::replace(&mut self.block, S::ZERO);
            self.count = 0;
            self.add_block(block);
        }
    }

    fn add_block(&mut self, mut sum: S) {
        // As in binary counting: two sums of as many blocks make one of twice as many.
        let full = self.blocks.trailing_ones() as usize;
        for pair in self.pairs.iter().take(full) {
            sum = pair.plus(sum);
        }
        if let Some(pair) = self.pairs.get_mut(full) {
            *pair = sum;
        }
        self.blocks += 1;
    }

    /// The sum.
    pub(crate) fn total(self) -> S {
        let sums = self.pairs.iter().enumerate().filter(|(level, _)| self.blocks >> level & 1 == 1);
        sums.fold(self.block, |sum, (_, pair)| pair.plus(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_added_once() {
        for count in [0, 1, 7, 8, 9, 1023, 1024, 1025, 2048, 3 * 1024, 7 * 1024 + 5, 8 * 1024, 100_000] {
            let elements: Vec<i64> = (0..count).map(|at| at * at + 1).collect();
            let expected: i64 = elements.iter().sum();
            assert_eq!(sum_of(&elements, |x| x), expected, "{count}");
            let mut sum = Sum::default();
            elements.iter().for_each(|&x| sum.add(x));
            assert_eq!(sum.total(), expected, "{count}");
        }
    }

    #[test]
    fn many_ones_are_not_lost() {
        let count = (1 << 24) + (1 << 20);
        let ones = vec![1.0_f32; count];
        assert_eq!(sum_of(&ones, |x| x), count as f32);
        let mut sum = Sum::<f32>::default();
        ones.iter().for_each(|&x| sum.add(x));
        assert_eq!(sum.total(), count as f32);
    }

    #[test]
    fn zeros_keep_the_sign_of_the_neutral_element() {
        assert!(sum_of(&[-0.0_f32; 3], |x| x).is_sign_positive());
    }
}
