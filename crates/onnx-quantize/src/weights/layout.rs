//! Which elements of a weight share a scale.

/// How the elements of a tensor share scales: `outer` x `size` x `inner`, and a scale for each `block` along the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    outer: usize,
    size: usize,
    inner: usize,
    block: usize,
    /// Whether the parts before and behind the axis share scales.
    is_shared: bool,
}

impl Layout {
    /// One scale for all.
    pub(crate) const fn whole(count: usize) -> Self {
        Self { outer: 1, size: count, inner: 1, block: if count == 0 { 1 } else { count }, is_shared: true }
    }

    /// A scale for each index of an axis.
    pub(crate) fn per_axis(dims: &[usize], axis: usize) -> Self {
        Self { block: 1, is_shared: true, ..Self::blocked(dims, axis, 1) }
    }

    /// A scale for each block of elements along an axis.
    pub(crate) fn blocked(dims: &[usize], axis: usize, block: usize) -> Self {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let (before, from) = dims.split_at(axis);
        let (size, inner) = from.split_first().map_or((1, 1), |(&size, rest)| (size, product(rest)));
        Self { outer: product(before), size, inner, block, is_shared: false }
    }

    /// Number of scales.
    pub(crate) const fn scales(&self) -> usize {
        let blocks = self.size.div_ceil(self.block);
        if self.is_shared { blocks } else { self.outer * blocks * self.inner }
    }

    /// The elements in order, in runs.
    pub(super) fn runs(self) -> Runs<impl Iterator<Item = Run>> {
        Runs { left: self.all(), open: None }
    }

    fn all(self) -> impl Iterator<Item = Run> {
        let Self { outer, size, inner, block, is_shared } = self;
        let blocks = size.div_ceil(block);
        // Elements of a block follow each other if nothing is behind the axis, and so do all if each has a scale.
        let (step, len, advance) = match (inner, block) {
            (1, 1) => (size.max(1), size, 1),
            (1, block) => (block, block, 0),
            _ => (1, inner, usize::from(!is_shared)),
        };
        (0..outer).flat_map(move |before| {
            (0..size).step_by(step).map(move |index| {
                let first = if is_shared { 0 } else { before * blocks };
                let scale = (first + index / block) * if is_shared { 1 } else { inner };
                Run { len: if inner == 1 { len.min(size - index) } else { len }, scale, advance }
            })
        })
    }
}

/// Elements that follow each other.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) len: usize,
    /// The scale of the first element.
    pub(super) scale: usize,
    /// What the number of the scale grows by from one element to the next.
    pub(super) advance: usize,
}

/// The runs of a tensor that is read a window at a time.
pub(super) struct Runs<I> {
    left: I,
    open: Option<Run>,
}

impl<I: Iterator<Item = Run>> Runs<I> {
    /// Calls a function with the parts of the next elements that are in one run.
    pub(super) fn visit(&mut self, mut numbers: &[f32], mut visit: impl FnMut(Run, &[f32])) {
        while !numbers.is_empty() {
            let Some(run) = self.open.take().or_else(|| self.left.next()) else { return };
            let Some((part, rest)) = numbers.split_at_checked(run.len) else {
                let len = numbers.len();
                visit(Run { len, ..run }, numbers);
                self.open = Some(Run { len: run.len - len, scale: run.scale + len * run.advance, ..run });
                return;
            };
            visit(run, part);
            numbers = rest;
        }
    }
}
