//! Common code of the kernels of several operators.

pub(crate) mod broadcast;
pub(crate) mod elementwise;
pub(crate) mod fourier;
pub(crate) mod gemm;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod reduce;
pub(crate) mod sum;
pub(crate) mod window;

/// The parameter that contains the axes in a version of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axes {
    /// In the attribute `axes`.
    Attribute,
    /// In the input at this index.
    Input(usize),
}
