//! Small tensors element by element, for operators that move elements without changing them.
//!
//! The output says where each of its elements comes from; what is not known stays unknown. Tensors of more elements than
//! are followed have no contents, so no walk is longer than that.

use smallvec::SmallVec;

use crate::content::{Content, Elem};
use crate::cx::{Cx, Outcome, Stop};

/// The sizes of a shape in which all are numbers.
pub(crate) type Sizes = SmallVec<[usize; 6]>;

/// The sizes of a shape.
///
/// # Errors
///
/// Returns [`Stop::Unknown`] if a dimension is not a number, or is negative.
pub(crate) fn sizes(dims: &[onnx_types::Dim]) -> Outcome<Sizes> {
    dims.iter().map(|dim| usize::try_from(dim.known()?).ok()).collect::<Option<_>>().ok_or(Stop::Unknown)
}

/// The index of the element with these coordinates in row-major order; `None` if it is out of range.
pub(crate) fn offset(sizes: &[usize], at: &[usize]) -> Option<usize> {
    if at.len() != sizes.len() {
        return None;
    }
    sizes.iter().zip(at).try_fold(0_usize, |linear, (&size, &at)| {
        if at < size { linear.checked_mul(size)?.checked_add(at) } else { None }
    })
}

/// Advances to the next coordinates in row-major order. Returns `false` after the last ones.
fn step(sizes: &[usize], at: &mut [usize]) -> bool {
    for (at, &size) in at.iter_mut().zip(sizes).rev() {
        *at = at.saturating_add(1);
        if *at < size {
            return true;
        }
        *at = 0;
    }
    false
}

/// An index that may count from the end, as a position on an axis; `None` if it is out of range.
pub(crate) fn position(index: i64, size: usize) -> Option<usize> {
    let counted = if index < 0 { index.checked_add(i64::try_from(size).ok()?)? } else { index };
    usize::try_from(counted).ok().filter(|&at| at < size)
}

/// An input of known shape with what is known about its elements.
pub(crate) struct Small {
    pub(crate) sizes: Sizes,
    content: Option<Content>,
}

impl Small {
    /// An input whose elements may be unknown.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when its shape is not known.
    pub(crate) fn any(cx: &mut Cx<'_, '_>, input: usize) -> Outcome<Self> {
        Ok(Self { sizes: sizes(&cx.shape(input)?)?, content: cx.content(input) })
    }

    /// An input about whose elements something is known.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when nothing is.
    pub(crate) fn of(cx: &mut Cx<'_, '_>, input: usize) -> Outcome<Self> {
        let small = Self::any(cx, input)?;
        if small.content.is_none() { Err(Stop::Unknown) } else { Ok(small) }
    }

    /// The element with these coordinates.
    pub(crate) fn at(&self, at: &[usize]) -> Elem {
        offset(&self.sizes, at).map_or(Elem::Unknown, |linear| self.nth(linear))
    }

    /// The element at a place in row-major order.
    pub(crate) fn nth(&self, linear: usize) -> Elem {
        self.content.as_ref().and_then(|content| content.get(linear)).copied().unwrap_or_default()
    }
}

/// All coordinates of a tensor of at most `limit` elements in row-major order.
///
/// # Errors
///
/// [`Stop::Unknown`] when it has more elements.
pub(crate) fn each(limit: usize, sizes: &[usize], mut visit: impl FnMut(&[usize])) -> Outcome {
    let total = sizes.iter().try_fold(1_usize, |total, &size| total.checked_mul(size));
    if total.is_none_or(|total| total > limit) {
        return Err(Stop::Unknown);
    }
    if total == Some(0) {
        return Ok(());
    }
    let mut at = Sizes::from_elem(0, sizes.len());
    loop {
        visit(&at);
        if !step(sizes, &mut at) {
            return Ok(());
        }
    }
}

/// Sets the elements of an output whose shape has been set, each by its coordinates.
///
/// # Errors
///
/// [`Stop::Unknown`] when the shape is not known, or too many elements have it.
pub(crate) fn fill(cx: &mut Cx<'_, '_>, output: usize, mut source: impl FnMut(&[usize]) -> Elem) -> Outcome {
    let sizes = sizes(cx.output_ty(output).dims().ok_or(Stop::Unknown)?)?;
    let mut elems = Vec::new();
    each(cx.content_limit(), &sizes, |at| elems.push(source(at)))?;
    cx.set_content(output, elems);
    Ok(())
}

impl Small {
    /// The elements in row-major order, to be changed.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when there are more than are followed.
    pub(crate) fn elems(&self, cx: &Cx<'_, '_>) -> Outcome<Vec<Elem>> {
        let mut elems = Vec::new();
        each(cx.content_limit(), &self.sizes, |at| elems.push(self.at(at)))?;
        Ok(elems)
    }
}
