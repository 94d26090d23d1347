//! Writing dimension texts.

use std::fmt::{self, Write};

use smallvec::SmallVec;

use super::lexer::is_name;
use super::parse::MAX_TEXT;
use super::poly::Term;
use super::table::{ListOp, NodeRef, PairOp};
use super::{Dim, ExprTable};
use crate::symbol::{Interner, Symbol};
use crate::unnamed::SymbolNames;

/// The notation of expressions. [`ExprTable::parse`] parses every dialect to the same dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// `N//2`, `N%8`, `min(S, 5)`; an exact division is `N/:2`.
    #[default]
    Python,
    /// `floor(N/2)`, `Mod(N, 8)`, `Min(S, 5)`; an exact division is `CleanDiv(N, 2)`, as in PyTorch.
    Sympy,
}

/// A dimension that can be formatted; made by [`ExprTable::display`].
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    table: &'a ExprTable,
    names: &'a dyn SymbolNames,
    dim: Dim,
    dialect: Dialect,
}

impl Display<'_> {
    /// Sets the dialect.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }
}

impl ExprTable {
    /// A dimension to be formatted. An unknown dimension is shown as `?`.
    ///
    /// Inside an expression, a name that is not an identifier is quoted in backquotes, so that the text can be parsed
    /// again.
    ///
    /// ```
    /// use onnx_types::expr::{Dialect, ExprTable};
    /// use onnx_types::Interner;
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let dim = table.parse(&mut names, "2*N//3 + 1");
    /// assert_eq!(table.display(dim, &names).to_string(), "(2*N)//3 + 1");
    /// assert_eq!(table.display(dim, &names).dialect(Dialect::Sympy).to_string(), "floor((2*N)/3) + 1");
    /// ```
    #[must_use]
    pub fn display<'a>(&'a self, dim: Dim, names: &'a dyn SymbolNames) -> Display<'a> {
        Display { table: self, names, dim, dialect: Dialect::Python }
    }

    /// The text of a dimension for a `dim_param` field, which [`parse`](Self::parse) reads back to the same dimension.
    ///
    /// Nothing for an unknown dimension, and for an expression whose text would be longer than the 4096 bytes that are
    /// read back.
    #[must_use]
    pub fn text(&self, dim: Dim, names: &dyn SymbolNames, dialect: Dialect) -> Option<String> {
        let mut out = Bounded { text: String::new(), limit: MAX_TEXT };
        match dim {
            Dim::Unknown => return None,
            Dim::Var(_) => out.limit = usize::MAX,
            Dim::Known(_) | Dim::Expr(_) => {}
        }
        write!(out, "{}", self.display(dim, names).dialect(dialect)).ok().map(|()| out.text)
    }
}

/// A text that refuses to grow beyond a limit.
struct Bounded {
    text: String,
    limit: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len().saturating_add(part.len()) > self.limit {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// The minimum binding strength of an operand that needs no parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Term,
    Operand,
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dim {
            Dim::Var(symbol) => {
                let name = self.names.name(symbol);
                let is_plain = is_name(&name) || !reads_as_expression(&name);
                if is_plain { f.write_str(&name) } else { quote(&name, f) }
            }
            dim => self.write(dim, Level::Sum, f),
        }
    }
}

/// Whether the parser would take a name apart, or read it as a number.
fn reads_as_expression(name: &str) -> bool {
    let (mut table, mut names) = (ExprTable::new(), Interner::new());
    let symbol = Dim::Var(names.intern(name));
    table.parse(&mut names, name) != symbol
}

fn quote(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('`')?;
    for (at, part) in name.split('`').enumerate() {
        f.write_str(if at > 0 { "``" } else { "" })?;
        f.write_str(part)?;
    }
    f.write_char('`')
}

impl Display<'_> {
    fn symbol(&self, symbol: Symbol, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.names.name(symbol);
        if is_name(&name) { f.write_str(&name) } else { quote(&name, f) }
    }

    /// Writes an operand, in parentheses where it binds less tightly than `level`. The depth and size limits of
    /// expressions bound the recursion.
    fn write(&self, dim: Dim, level: Level, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.level(dim) < level {
            f.write_char('(')?;
            self.bare(dim, f)?;
            f.write_char(')')
        } else {
            self.bare(dim, f)
        }
    }

    fn level(&self, dim: Dim) -> Level {
        match dim {
            Dim::Known(value) if value < 0 => Level::Sum,
            Dim::Known(_) | Dim::Var(_) | Dim::Unknown => Level::Operand,
            Dim::Expr(_) => match self.table.node(dim) {
                Some(NodeRef::Sum([only], 0)) if only.coef > 0 => Level::Term,
                Some(NodeRef::Sum(..)) => Level::Sum,
                Some(NodeRef::Product(_)) => Level::Term,
                Some(NodeRef::Pair(..)) if self.dialect == Dialect::Python => Level::Term,
                Some(NodeRef::Pair(..) | NodeRef::List(..) | NodeRef::Select(..)) | None => Level::Operand,
            },
        }
    }

    fn bare(&self, dim: Dim, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match dim {
            Dim::Known(value) => return write!(f, "{value}"),
            Dim::Var(symbol) => return self.symbol(symbol, f),
            Dim::Unknown | Dim::Expr(_) => {}
        }
        let sympy = self.dialect == Dialect::Sympy;
        match self.table.node(dim) {
            None => f.write_char('?'),
            Some(NodeRef::Sum(terms, constant)) => self.sum(terms, constant, f),
            Some(NodeRef::Product(factors)) => {
                for (at, factor) in factors.iter().enumerate() {
                    f.write_str(if at > 0 { "*" } else { "" })?;
                    self.write(factor.atom, Level::Operand, f)?;
                    if factor.power > 1 {
                        write!(f, "**{}", factor.power)?;
                    }
                }
                Ok(())
            }
            Some(NodeRef::Pair(op, a, b)) => match (op, sympy) {
                (PairOp::FloorDiv, false) => self.infix(a, "//", b, f),
                (PairOp::ExactDiv, false) => self.infix(a, "/:", b, f),
                (PairOp::Mod, false) => self.infix(a, "%", b, f),
                (PairOp::FloorDiv, true) => {
                    f.write_str("floor(")?;
                    self.infix(a, "/", b, f)?;
                    f.write_char(')')
                }
                (PairOp::ExactDiv, true) => self.call("CleanDiv", &[a, b], f),
                (PairOp::Mod, true) => self.call("Mod", &[a, b], f),
            },
            Some(NodeRef::List(op, args)) => {
                let name = match (op, sympy) {
                    (ListOp::Min, false) => "min",
                    (ListOp::Max, false) => "max",
                    (ListOp::Bcast, false) => "bcast",
                    (ListOp::Min, true) => "Min",
                    (ListOp::Max, true) => "Max",
                    (ListOp::Bcast, true) => "Bcast",
                };
                self.call(name, args, f)
            }
            Some(NodeRef::Select(cond, a, b)) => {
                self.call(if sympy { "Select" } else { "select" }, &[cond, a, b], f)
            }
        }
    }

    fn infix(&self, a: Dim, operator: &str, b: Dim, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(a, Level::Operand, f)?;
        f.write_str(operator)?;
        self.write(b, Level::Operand, f)
    }

    fn call(&self, name: &str, args: &[Dim], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}(")?;
        for (at, &arg) in args.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            self.write(arg, Level::Sum, f)?;
        }
        f.write_char(')')
    }

    /// Writes the positive parts first, so that a text begins with a minus only where nothing is positive.
    fn sum(&self, terms: &[Term], constant: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: SmallVec<[Term; 8]> = terms.into();
        parts.push(Term { mono: Dim::Known(1), coef: constant });
        let (positive, negative): (SmallVec<[Term; 8]>, SmallVec<[Term; 8]>) =
            parts.into_iter().filter(|part| part.coef != 0).partition(|part| part.coef > 0);
        for (at, part) in positive.iter().chain(&negative).enumerate() {
            f.write_str(match (at, part.coef < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            let size = part.coef.unsigned_abs();
            let product = matches!(self.table.node(part.mono), Some(NodeRef::Product(_)));
            if part.mono == Dim::Known(1) {
                write!(f, "{size}")?;
            } else if size == 1 {
                // A leading minus binds tighter than a division: `-(N//2)`, but `M - N//2` and `-N*S`.
                let tight = at == 0 && part.coef < 0 && !product;
                self.write(part.mono, if tight { Level::Operand } else { Level::Term }, f)?;
            } else {
                write!(f, "{size}*")?;
                // A product needs no parentheses, a quotient does: `2*N*S`, but `2*(N//2)`.
                self.write(part.mono, if product { Level::Term } else { Level::Operand }, f)?;
            }
        }
        Ok(())
    }
}
