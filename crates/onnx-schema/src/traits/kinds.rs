//! The kinds that traits distinguish.

use onnx_types::Symbol;

/// Where the elements of the results come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Elements {
    /// None of the other kinds: from several elements of operands, or from no operand.
    Computed,
    /// Each is the element of the first operand at its index.
    Same,
    /// Each is a function of the elements of all operands at its index; operands are aligned or broadcast.
    Elementwise,
    /// Each is a function of the element of the first operand at its index. Further operands are parameters that are not aligned
    /// with it, such as the limits of `Clip`.
    ElementwiseFirst,
    /// Like [`Elementwise`](Self::Elementwise), and they also depend on other elements along the axes that the operator
    /// [combines](Combines).
    Normalized,
    /// They are all elements of the first operand in their order: only the sizes change.
    Reshaped,
    /// They are all elements of the first operand in another order.
    Reordered,
    /// They are elements of the first operand, some or all, once or several times.
    Selected,
    /// They are the elements of all operands.
    Joined,
}

/// How the results of an operator are rounded: which bits the standard leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rounding {
    /// An implementation may approximate, accumulate in any order, or round between its steps.
    Open,
    /// Elements are moved, counted or compared: there is nothing to round.
    Exact,
    /// Elements are chosen by their order.
    Order,
    /// One operation of arithmetic makes each element, and floats are rounded once.
    Once,
    /// One operation of arithmetic makes each element, and a float has the exact result.
    Never,
    /// Elements are accumulated: in a fixed order for integers only.
    Accumulates,
    /// Elements are converted to another type.
    Converts,
}

/// Whether operands are broadcast to the sizes of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Broadcast {
    /// No operand is.
    No,
    /// All are, in both directions.
    All,
    /// The others are, to the sizes of the first operand.
    ToFirst,
}

/// The axes of the first operand along which elements of a result depend on several elements. Along others, each element of a
/// result depends on one index only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Combines {
    /// Not stated: no axis if the operator is elementwise, and else unknown.
    Unstated,
    /// The axis that an attribute names.
    Axis(Symbol),
    /// The axis that an attribute names, and all axes behind it.
    From(Symbol),
    /// The axes that an attribute lists.
    Axes(Symbol),
    /// The axis that an attribute names; all if the attribute is absent.
    AxisOrAll(Symbol),
    /// The axis whose number is the only element of an operand.
    Operand(usize),
    /// The axes of a reduction: an attribute, or the second operand.
    Reduced,
    /// The last two axes.
    LastTwo,
    /// All axes.
    All,
    /// All axes but the first one, which is that of the batch.
    AllButFirst,
    /// All axes; if the attribute `reduction` is `none`, all but the first one.
    Loss,
}

/// The window that an operator moves over its first operand, with the attributes `kernel_shape`, `strides`, `dilations`, `pads`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Window {
    /// A pooling: it has no weights.
    Pooling,
    /// A convolution, whose weights are the operand at this index.
    Weights(usize),
}

/// The operations of arithmetic of one run of a node, as data for a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operations {
    /// No formula is known.
    Unknown,
    /// None: elements are moved, converted, described, or made from a seed or an attribute.
    None,
    /// A number for each element of the first result.
    Each(u8),
    /// One less than there are operands for each element of the first result, and some more.
    Operands {
        /// The further operations.
        more: u8,
    },
    /// Numbers for each element of the first operand and of the first result.
    Read {
        /// For each element of the operand.
        read: u8,
        /// For each element of the result.
        made: u8,
    },
    /// Numbers for each element of the window, for each element of the first result, padding included; and of the first result.
    Window {
        /// For each element of the window.
        read: u8,
        /// For each element of the result.
        made: u8,
    },
    /// A sum over the weights of its channel for each element of the result.
    Convolution {
        /// The operand that is the bias, if the operator takes one.
        bias: Option<usize>,
    },
    /// A product of matrices: a sum over the last axis of the first operand for each element of the result.
    MatrixProduct,
    /// The products of each step, and operations on the units.
    Recurrent {
        /// Number of gates.
        gates: u8,
        /// Operations on each unit.
        unit: u8,
    },
    /// A separate formula.
    Formula,
}

/// The work of a runtime for a node, roughly and without its sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CostWeight {
    /// It states sizes.
    Sizes,
    /// It moves elements.
    Moves,
    /// A few operations for each element, or anything else.
    Other,
    /// A function of each element that is not a few operations of arithmetic.
    Function,
    /// Many operations for each element.
    Heavy,
}
