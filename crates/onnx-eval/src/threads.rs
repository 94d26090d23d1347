//! Parts of a computation on several threads.
//!
//! A part of a result is computed from the operands just as it is in the whole, so a result has the same bits for every number of
//! threads. Work is counted before the parts begin: a limit acts between kernels, as on one thread. Parts that may take long
//! check the interrupt by a clone of the `InterruptPoll`.

#[cfg(feature = "rayon")]
use std::mem;
#[cfg(feature = "rayon")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::cx::Outcome;

/// The least number of operations of a part: they take much longer than passing the part to a thread.
const LEAST: usize = 1 << 17;

/// The greatest number of threads that a kernel uses at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads(usize);

impl Threads {
    /// The thread of the caller.
    pub(crate) const ONE: Self = Self(1);

    pub(crate) fn new(count: usize) -> Self {
        if cfg!(feature = "rayon") { Self(count.max(1)) } else { Self::ONE }
    }

    /// As many as have enough work.
    pub(crate) fn for_work(self, steps: usize) -> Self {
        Self(self.0.min(steps / LEAST).max(1))
    }

    pub(crate) const fn count(self) -> usize {
        self.0
    }

    /// The size of the parts of `count` items, a multiple of `unit` except for the last one.
    pub(crate) fn part(self, count: usize, unit: usize) -> usize {
        let unit = unit.max(1);
        count.div_ceil(unit).div_ceil(self.0).max(1).saturating_mul(unit)
    }

    /// Calls a function for parts of a slice of a multiple of `unit` elements each, with the index of the first element.
    pub(crate) fn for_each_part<T: Send>(
        self,
        elements: &mut [T],
        unit: usize,
        function: impl Fn(usize, &mut [T]) -> Outcome + Sync,
    ) -> Outcome {
        let size = self.part(elements.len(), unit);
        let parts = elements.chunks_mut(size).enumerate();
        for_each(parts.map(|(index, part)| (index * size, part)).collect(), |(first, part)| {
            function(first, part)
        })
    }
}

/// Calls a function for each item, all at the same time; returns the first failure in the order of the items.
pub(crate) fn for_each<I: Send>(items: Vec<I>, function: impl Fn(I) -> Outcome + Sync) -> Outcome {
    #[cfg(feature = "rayon")]
    if items.len() > 1 {
        // Kernels exist for each element type. What is passed to the pool is one type, so the code of the pool exists once.
        let slots: Vec<_> = items.into_iter().map(|item| Mutex::new(Slot::Waits(item))).collect();
        each_index(slots.len(), &|index| {
            let mut slot = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
            if let Slot::Waits(item) = mem::replace(&mut *slot, Slot::Done(Ok(()))) {
                *slot = Slot::Done(function(item));
            }
        });
        let slots = slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        return slots.filter_map(Slot::outcome).collect();
    }
    items.into_iter().try_for_each(function)
}

/// A part before and after its computation.
#[cfg(feature = "rayon")]
enum Slot<I> {
    Waits(I),
    Done(Outcome),
}

#[cfg(feature = "rayon")]
impl<I> Slot<I> {
    fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Waits(_) => None,
            Self::Done(outcome) => Some(outcome),
        }
    }
}

/// Calls a function for each index below `count`, all at the same time.
#[cfg(feature = "rayon")]
fn each_index(count: usize, function: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(function);
}
