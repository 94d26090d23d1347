//! Dimension expressions: sizes such as `2*N + 1` or `(H - 1)//2 + 1`, computed without knowing the numbers.
//!
//! # Parts
//!
//! A [`Dim`] is a number, a symbol, an expression or unknown. Expressions live in an [`ExprTable`], which belongs to a
//! model like its [`Interner`](crate::Interner). All arithmetic is a method of the table, takes dimensions and returns
//! a dimension:
//!
//! ```
//! use onnx_types::expr::ExprTable;
//! use onnx_types::{Dim, Interner};
//!
//! let (mut table, mut names) = (ExprTable::new(), Interner::new());
//! let h = Dim::Var(names.intern("H"));
//! // A convolution with kernel 3, stride 2 and padding 1 at both ends.
//! let padded = table.add(h, Dim::Known(2 - 3));
//! let steps = table.floor_div(padded, Dim::Known(2));
//! let out = table.add(steps, Dim::Known(1));
//! // The same number in other words is the same dimension.
//! assert_eq!(out, table.parse(&mut names, "ceiling(H/2)"));
//! assert_eq!(out, table.parse(&mut names, "-floor(-H/2)"));
//! assert_eq!(out, table.parse(&mut names, "floor(H/2 - 1/2) + 1"));
//! assert_eq!(table.display(out, &names).to_string(), "(H + 1)//2");
//! assert_eq!(table.eval(out, &|_| Some(7)), Some(4));
//! ```
//!
//! Numbers never touch the table: static models pay nothing. [`Dim::Unknown`] absorbs: whatever is computed from it is
//! unknown.
//!
//! # Domain
//!
//! Symbols stand for integers ≥ 0, because tensors may be empty. Values in between may be negative (`N - 1`).
//! Operations have these values, and are *undefined* elsewhere:
//!
//! | operation | value | defined |
//! |---|---|---|
//! | `floor_div(a, b)` | `floor(a/b)`, Python's `//` | `b != 0` |
//! | `ceil_div(a, b)` | `-floor(-a/b)` | `b != 0` |
//! | `modulo(a, b)` | `a - b*floor(a/b)`, Python's `%` | `b != 0` |
//! | `exact_div(a, b)` | `a/b` | `b != 0` and `b` divides `a` |
//! | `bcast(a, b)` | `b` if `a = 1`, else `a` | `a = b`, `a = 1` or `b = 1` |
//! | `select(c, a, b)` | `a` if `c != 0`, else `b` | `c` and the chosen one are |
//!
//! A simplified expression has the same value **wherever the original one is defined**, for all values ≥ 0 of the
//! symbols. It may be defined in more places: `N*S // S` becomes `N`, although it said nothing for `S = 0`.
//! Nothing else is assumed; in particular not that sizes are positive, that a division has no remainder (unless it is
//! exact by its kind), or that sizes of a broadcast are equal. Callers who know more say so by [`SymbolBounds`], and
//! only the results of that call depend on it.
//!
//! # Canonical form
//!
//! An expression is a sum of terms plus a constant. A term is an integer coefficient times a product of powers of
//! *atoms*: symbols, quotients, remainders, exact quotients, minima, maxima, broadcasts and selections. Products of sums
//! are multiplied out, equal terms collected, terms and factors sorted: symbols as the interner numbers them, then atoms
//! as they came into being. Hash seeds have no influence. Atoms are normalized when they are created:
//!
//! * `e // k` keeps only coefficients smaller than `k`, a constant in `0..k`, a positive leading coefficient and no
//!   common divisor; the extracted terms are added to the quotient, so `(2*N + 3)//2` is `N + 1`. Ceilings and negated
//!   numerators have the same form. `(x//a + p)//b` becomes `(x + a*p)//(a*b)`.
//! * `e % k` keeps coefficients in `0..k`, common divisors come out.
//! * Division by something other than a number cancels common factors and takes whole multiples of the divisor out
//!   (polynomial division); signs are moved only where the divisor is provably not negative.
//! * `k * (x /: k)` is `x`. The coefficient of an exact quotient stays in `0..k`.
//! * Minima and maxima are flat, sorted, without operands that another one provably decides, and without common divisor.
//! * Broadcasts are flat and sorted, without operands that are 1 wherever another one is: `bcast(S, min(S, 512))` is `S`.
//! * Sums know `x = k*(x//k) + x%k` and `x = x//2 + (x+1)//2` and take the shortest form.
//!
//! Equal ids mean equal values. Different ids prove nothing: the form decides linear arithmetic and the identities
//! above, not all of number theory. [`ExprTable::proves_le`] and [`ExprTable::bounds`] answer more.
//!
//! # Cost and limits
//!
//! An operation looks its result up in a hash table and allocates only for nodes that are new. Recursion is bounded by
//! the depth of expressions, never by the length of an input. A sum has at most 64 terms, a product at most degree 32,
//! atoms nest at most 32 deep, an expression written out as a tree has at most 4096 nodes, and a table at most 2²³ nodes
//! and operands. [`ExprTable::allow_steps`] bounds the work of a caller's task. What would pass a limit, overflow an `i64`, or is defined nowhere (`N//0`) is [`Dim::Unknown`]; nothing panics and nothing wraps.

mod bounds;
mod div;
mod eval;
mod exact_division;
mod extremum;
mod lexer;
mod parse;
mod poly;
mod print;
mod product;
mod sum;
mod table;
mod tape;
#[cfg(test)]
mod tests;

pub use bounds::{Bounds, NonNegative, SymbolBounds};
pub use parse::{ExprError, ExprParseOptions};
pub use print::{Dialect, Display};
pub use table::ExprTable;
pub use tape::{Registers, Tape};

use crate::dim::Dim;

/// An expression in an [`ExprTable`].
///
/// Two expressions of one table are the same exactly if their ids are: comparing and hashing cost one integer
/// operation. The id means nothing without its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(u32);

/// The bit of the ids of a [separate](ExprTable::separate) table. Tables have fewer expressions.
const SEPARATE: u32 = 1 << 31;

impl ExprId {
    /// The expression with the given position in its table, which is not a [separate](ExprTable::separate) one.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The position of the expression in its table.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0 & !SEPARATE
    }
}
