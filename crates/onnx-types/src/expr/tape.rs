//! Many expressions compiled for many evaluations.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::eval::{list, pair};
use super::table::{ListOp, NodeRef, PairOp};
use super::{Dim, ExprTable};
use crate::symbol::Symbol;

/// One instruction; instruction `n` writes register `n`. Ranges index the operands of the tape.
#[derive(Clone, Debug)]
enum Op {
    Known(i64),
    Input(u32),
    Undefined,
    /// Pairs of register and coefficient.
    Sum(Range<u32>, i64),
    /// Pairs of register and power.
    Product(Range<u32>),
    Pair(PairOp, u32, u32),
    List(ListOp, Range<u32>),
    Select(u32, u32, u32),
}

/// The registers of an evaluation, kept by the caller so that repeated evaluations allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct Registers(Vec<Option<i64>>);

/// A list of dimensions compiled into straight code: every expression they share is computed once.
///
/// ```
/// use onnx_types::Interner;
/// use onnx_types::expr::{ExprTable, Registers, Tape};
///
/// let (mut table, mut names) = (ExprTable::new(), Interner::new());
/// let dims = ["N*S", "(S + 1)//2"].map(|text| table.parse(&mut names, text));
/// let tape = Tape::compile(&table, &dims);
/// assert_eq!(tape.symbols(), [names.intern("N"), names.intern("S")]);
/// let mut registers = Registers::default();
/// let values: Vec<_> = tape.eval(&[2, 7], &mut registers).collect();
/// assert_eq!(values, [Some(14), Some(4)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tape {
    ops: Vec<Op>,
    operands: Vec<(u32, i64)>,
    symbols: Vec<Symbol>,
    outputs: Vec<u32>,
}

impl Tape {
    /// Compiles `dims`, whose expressions are those of `table`.
    #[must_use]
    pub fn compile(table: &ExprTable, dims: &[Dim]) -> Self {
        let mut tape = Self::default();
        for &dim in dims {
            tape.symbols.extend(table.symbols(dim));
        }
        tape.symbols.sort_unstable();
        tape.symbols.dedup();
        let mut registers = HashMap::default();
        for &dim in dims {
            let register = tape.emit(table, dim, &mut registers);
            tape.outputs.push(register);
        }
        tape
    }

    /// The symbols whose values an evaluation needs, in the order in which it needs them.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The value of every compiled dimension, in the order of compilation.
    ///
    /// `values` holds one value per entry of [`symbols`](Self::symbols): numbers, or options of numbers. A value is
    /// `None` if [`ExprTable::eval`] returns `None`, or if it depends on a missing input value.
    pub fn eval<'a, V: Copy + Into<Option<i64>>>(
        &'a self,
        values: &[V],
        registers: &'a mut Registers,
    ) -> impl ExactSizeIterator<Item = Option<i64>> + 'a {
        let memory = &mut registers.0;
        memory.clear();
        for op in &self.ops {
            let value = self.step(op, values, memory);
            memory.push(value);
        }
        self.outputs.iter().map(|&register| read(memory, register))
    }

    fn step<V: Copy + Into<Option<i64>>>(
        &self,
        op: &Op,
        values: &[V],
        memory: &[Option<i64>],
    ) -> Option<i64> {
        match op {
            Op::Known(value) => Some(*value),
            Op::Undefined => None,
            Op::Input(index) => values.get(*index as usize).and_then(|&value| value.into()),
            Op::Sum(range, constant) => {
                let mut sum = i128::from(*constant);
                for &(register, coef) in self.operands(range) {
                    let value = i128::from(coef).checked_mul(i128::from(read(memory, register)?))?;
                    sum = sum.checked_add(value)?;
                }
                i64::try_from(sum).ok()
            }
            Op::Product(range) => {
                let (mut product, mut zero) = (Some(1_i64), false);
                for &(register, power) in self.operands(range) {
                    let value = read(memory, register)?;
                    zero |= value == 0;
                    let power = u32::try_from(power).ok().and_then(|power| value.checked_pow(power));
                    product = product.zip(power).and_then(|(product, power)| product.checked_mul(power));
                }
                if zero { Some(0) } else { product }
            }
            Op::Pair(op, a, b) => pair(*op, read(memory, *a)?, read(memory, *b)?),
            Op::List(op, range) => {
                let mut operands = self.operands(range).iter();
                let first = read(memory, operands.next()?.0)?;
                operands.try_fold(first, |all, &(register, _)| list(*op, all, read(memory, register)?))
            }
            Op::Select(cond, a, b) => read(memory, if read(memory, *cond)? != 0 { *a } else { *b }),
        }
    }

    fn operands(&self, range: &Range<u32>) -> &[(u32, i64)] {
        self.operands.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Adds the instructions for `dim` and returns its register. The depth limit of expressions bounds the recursion.
    fn emit(&mut self, table: &ExprTable, dim: Dim, known: &mut HashMap<Dim, u32, RandomState>) -> u32 {
        if let Some(&register) = known.get(&dim) {
            return register;
        }
        let op = match (dim, table.node(dim)) {
            (Dim::Known(value), _) => Op::Known(value),
            (Dim::Var(symbol), _) => {
                Op::Input(self.symbols.binary_search(&symbol).unwrap_or(usize::MAX) as u32)
            }
            (_, None) => Op::Undefined,
            (_, Some(NodeRef::Sum(terms, constant))) => {
                let parts: Vec<_> =
                    terms.iter().map(|term| (self.emit(table, term.mono, known), term.coef)).collect();
                Op::Sum(self.store(parts), constant)
            }
            (_, Some(NodeRef::Product(factors))) => {
                let parts: Vec<_> =
                    factors.iter().map(|f| (self.emit(table, f.atom, known), i64::from(f.power))).collect();
                Op::Product(self.store(parts))
            }
            (_, Some(NodeRef::Pair(op, a, b))) => {
                Op::Pair(op, self.emit(table, a, known), self.emit(table, b, known))
            }
            (_, Some(NodeRef::List(op, args))) => {
                let parts: Vec<_> = args.iter().map(|&arg| (self.emit(table, arg, known), 0)).collect();
                Op::List(op, self.store(parts))
            }
            (_, Some(NodeRef::Select(cond, a, b))) => {
                let cond = self.emit(table, cond, known);
                Op::Select(cond, self.emit(table, a, known), self.emit(table, b, known))
            }
        };
        let register = self.ops.len() as u32;
        self.ops.push(op);
        known.insert(dim, register);
        register
    }

    fn store(&mut self, parts: Vec<(u32, i64)>) -> Range<u32> {
        let start = self.operands.len() as u32;
        self.operands.extend(parts);
        start..self.operands.len() as u32
    }
}

fn read(memory: &[Option<i64>], register: u32) -> Option<i64> {
    memory.get(register as usize).copied().flatten()
}
