//! Evaluation, substitution and the symbols of an expression.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::div::floor_div;
use super::table::{ListOp, Node, NodeRef, PairOp};
use super::{Dim, ExprTable};
use crate::symbol::Symbol;

/// The value of a node, given the values of its operands; `None` if it is undefined or overflows.
pub(super) fn apply(node: NodeRef<'_>, get: &mut dyn FnMut(Dim) -> Option<i64>) -> Option<i64> {
    match node {
        NodeRef::Sum(terms, constant) => {
            let mut sum = i128::from(constant);
            for term in terms {
                let value = i128::from(term.coef).checked_mul(i128::from(get(term.mono)?))?;
                sum = sum.checked_add(value)?;
            }
            i64::try_from(sum).ok()
        }
        NodeRef::Product(factors) => {
            let mut product = 1_i64;
            let mut overflow = false;
            let mut zero = false;
            for factor in factors {
                let value = get(factor.atom)?;
                zero |= value == 0;
                match value.checked_pow(factor.power).and_then(|power| product.checked_mul(power)) {
                    Some(next) => product = next,
                    None => overflow = true,
                }
            }
            // A zero factor makes the product 0 whatever the order in which the others were multiplied.
            if zero { Some(0) } else { (!overflow).then_some(product) }
        }
        NodeRef::Pair(op, a, b) => pair(op, get(a)?, get(b)?),
        NodeRef::List(op, args) => {
            let mut values = args.iter();
            let first = get(*values.next()?)?;
            values.try_fold(first, |all, &arg| list(op, all, get(arg)?))
        }
        NodeRef::Select(cond, a, b) => {
            if get(cond)? != 0 {
                get(a)
            } else {
                get(b)
            }
        }
    }
}

/// The value of an operation of two operands.
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "the product is at most one divisor away from the dividend, and both have 64 bits"
    )
)]
pub(super) fn pair(op: PairOp, a: i64, b: i64) -> Option<i64> {
    let (a, b) = (i128::from(a), i128::from(b));
    let floor = floor_div(a, b)?;
    let rest = a - b * floor;
    let value = match op {
        PairOp::FloorDiv => floor,
        PairOp::Mod => rest,
        PairOp::ExactDiv if rest == 0 => floor,
        PairOp::ExactDiv => return None,
    };
    i64::try_from(value).ok()
}

/// The value of a list operation so far and one operand more.
pub(super) fn list(op: ListOp, a: i64, b: i64) -> Option<i64> {
    match op {
        ListOp::Min => Some(a.min(b)),
        ListOp::Max => Some(a.max(b)),
        ListOp::Bcast if a == b || b == 1 => Some(a),
        ListOp::Bcast if a == 1 => Some(b),
        ListOp::Bcast => None,
    }
}

/// The reconstruction of an expression.
struct Rebuild<'a> {
    binding: &'a mut dyn FnMut(Symbol) -> Dim,
    is_rounded: bool,
    done: HashMap<Dim, Dim, RandomState>,
}

impl<'a> Rebuild<'a> {
    fn new(binding: &'a mut dyn FnMut(Symbol) -> Dim) -> Self {
        Self { binding, is_rounded: false, done: HashMap::default() }
    }
}

impl ExprTable {
    /// The value of `dim` for given values of its symbols.
    ///
    /// `None` if the expression is undefined at these values (a division by 0, an exact division with a remainder, a
    /// broadcast of incompatible sizes), if a number does not fit an `i64`, or if a required symbol has no value. For
    /// repeated evaluation, compile a [`Tape`](super::Tape).
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::Interner;
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let dim = table.parse(&mut names, "(H - 1)//2 + 1");
    /// assert_eq!(table.eval(dim, &|_| Some(7)), Some(4));
    /// assert_eq!(table.eval(dim, &|_| None), None);
    /// ```
    #[must_use]
    pub fn eval(&self, dim: Dim, value: &dyn Fn(Symbol) -> Option<i64>) -> Option<i64> {
        match dim {
            Dim::Known(number) => Some(number),
            Dim::Var(symbol) => value(symbol),
            Dim::Unknown => None,
            // The depth and size limits of expressions bound this recursion.
            Dim::Expr(_) => apply(self.node(dim)?, &mut |operand| self.eval(operand, value)),
        }
    }

    /// `dim` with symbols replaced, in canonical form.
    ///
    /// `binding` gives the replacement of a symbol, or nothing to keep it. A replacement must be ≥ 0 like the symbol
    /// that it replaces, because the expression may have been simplified on that ground.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let dim = table.parse(&mut names, "batch*seq + 1");
    /// let batch = names.intern("batch");
    /// let one = table.substitute(dim, &|name| (name == batch).then_some(Dim::Known(1)));
    /// assert_eq!(table.display(one, &names).to_string(), "seq + 1");
    /// ```
    pub fn substitute(&mut self, dim: Dim, binding: &dyn Fn(Symbol) -> Option<Dim>) -> Dim {
        let mut binding = |symbol| binding(symbol).unwrap_or(Dim::Var(symbol));
        self.rebuild(None, dim, &mut Rebuild::new(&mut binding))
    }

    /// The dimension `dim` of another table in this one; `symbol` gives the symbol of this table's interner for one of the
    /// other's. [`Dim::Unknown`] if it would pass a limit of this table.
    ///
    /// ```
    /// use onnx_types::Interner;
    /// use onnx_types::expr::ExprTable;
    ///
    /// let (mut from, mut from_names) = (ExprTable::new(), Interner::new());
    /// let dim = from.parse(&mut from_names, "2*batch + 1");
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// names.intern("other");
    /// let copy = table.import(&from, dim, &mut |symbol| names.intern(from_names.resolve(symbol)));
    /// assert_eq!(table.display(copy, &names).to_string(), "2*batch + 1");
    /// ```
    pub fn import(&mut self, from: &Self, dim: Dim, symbol: &mut dyn FnMut(Symbol) -> Symbol) -> Dim {
        self.rebuild(Some(from), dim, &mut Rebuild::new(&mut |name| Dim::Var(symbol(name))))
    }

    /// Like [`import`](Self::import), with quotients that are rounded down in the place of exact ones: all readers know
    /// them, and both are equal wherever the exact one is defined.
    ///
    /// ```
    /// use onnx_types::Interner;
    /// use onnx_types::expr::ExprTable;
    ///
    /// let (mut from, mut names) = (ExprTable::new(), Interner::new());
    /// let dim = from.parse(&mut names, "N/:3 + 1");
    /// let mut table = ExprTable::new();
    /// let copy = table.import_rounded(&from, dim, &mut |symbol| symbol);
    /// assert_eq!(table.display(copy, &names).to_string(), "N//3 + 1");
    /// ```
    pub fn import_rounded(&mut self, from: &Self, dim: Dim, symbol: &mut dyn FnMut(Symbol) -> Symbol) -> Dim {
        let mut binding = |name| Dim::Var(symbol(name));
        self.rebuild(Some(from), dim, &mut Rebuild { is_rounded: true, ..Rebuild::new(&mut binding) })
    }

    /// Makes `dim`, of `from` or of this table, again from its parts, with something in the place of its symbols.
    fn rebuild(&mut self, from: Option<&Self>, dim: Dim, with: &mut Rebuild<'_>) -> Dim {
        if let Dim::Var(symbol) = dim {
            return (with.binding)(symbol);
        }
        let Some(node) = from.unwrap_or(self).node_owned(dim) else {
            // An expression is a number or unknown if its table does not have it.
            return if matches!(dim, Dim::Known(_)) { dim } else { Dim::Unknown };
        };
        if let Some(&known) = with.done.get(&dim) {
            return known;
        }
        // The depth limit of expressions bounds this recursion.
        let result = match node {
            Node::Sum(terms, constant) => {
                let mut parts = vec![Dim::Known(constant)];
                for term in &terms {
                    let mono = self.rebuild(from, term.mono, with);
                    parts.push(self.mul(mono, Dim::Known(term.coef)));
                }
                self.sum(&parts)
            }
            Node::Product(factors) => {
                let mut product = Dim::Known(1);
                for factor in &factors {
                    let atom = self.rebuild(from, factor.atom, with);
                    let power = self.pow(atom, factor.power);
                    product = self.mul(product, power);
                }
                product
            }
            Node::Pair(op, a, b) => {
                let (a, b) = (self.rebuild(from, a, with), self.rebuild(from, b, with));
                match op {
                    PairOp::FloorDiv => self.floor_div(a, b),
                    PairOp::ExactDiv if with.is_rounded => self.floor_div(a, b),
                    PairOp::ExactDiv => self.exact_div(a, b),
                    PairOp::Mod => self.modulo(a, b),
                }
            }
            Node::List(op, args) => {
                let args: Vec<Dim> = args.iter().map(|&arg| self.rebuild(from, arg, with)).collect();
                self.list(op, &args, None)
            }
            Node::Select(cond, a, b) => {
                let cond = self.rebuild(from, cond, with);
                let (a, b) = (self.rebuild(from, a, with), self.rebuild(from, b, with));
                self.select(cond, a, b)
            }
        };
        with.done.insert(dim, result);
        result
    }

    /// The symbols that occur in `dim`, each once, in the order of the interner.
    #[must_use]
    pub fn symbols(&self, dim: Dim) -> Vec<Symbol> {
        let mut found = Vec::new();
        self.collect_symbols(dim, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn collect_symbols(&self, dim: Dim, found: &mut Vec<Symbol>) {
        match dim {
            Dim::Var(symbol) => found.push(symbol),
            // The depth and size limits of expressions bound this recursion.
            Dim::Expr(_) => {
                if let Some(node) = self.node(dim) {
                    node.each_operand(|operand| self.collect_symbols(operand, found));
                }
            }
            Dim::Known(_) | Dim::Unknown => {}
        }
    }
}
