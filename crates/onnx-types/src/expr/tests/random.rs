//! Every construction against brute force: random trees, evaluated as written and after simplification.

use proptest::prelude::*;

use super::World;
use crate::dim::Dim;
use crate::expr::{Bounds, Dialect, ExprTable, Registers, Tape};
use crate::symbol::Symbol;

const NAMES: [&str; 3] = ["N", "M", "S"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    ExactDiv,
    Mod,
    Min,
    Max,
    Bcast,
}

#[derive(Clone, Debug)]
enum Tree {
    Symbol(usize),
    Number(i64),
    Binary(Op, Box<[Tree; 2]>),
    Select(Box<[Tree; 3]>),
}

impl Tree {
    /// The value as written, by the definitions and nothing else.
    fn value(&self, at: &[i64; 3]) -> Option<i128> {
        match self {
            Self::Symbol(index) => Some(i128::from(at[*index])),
            Self::Number(value) => Some(i128::from(*value)),
            Self::Select(parts) => {
                let [cond, a, b] = &**parts;
                if cond.value(at)? != 0 { a.value(at) } else { b.value(at) }
            }
            Self::Binary(op, parts) => {
                let (a, b) = (parts[0].value(at)?, parts[1].value(at)?);
                match op {
                    Op::Add => a.checked_add(b),
                    Op::Sub => a.checked_sub(b),
                    Op::Mul => a.checked_mul(b),
                    Op::FloorDiv if b != 0 => Some(floor(a, b)),
                    Op::CeilDiv if b != 0 => Some(-floor(-a, b)),
                    Op::ExactDiv if b != 0 && a % b == 0 => Some(a / b),
                    Op::Mod if b != 0 => Some(a - b * floor(a, b)),
                    Op::FloorDiv | Op::CeilDiv | Op::ExactDiv | Op::Mod => None,
                    Op::Min => Some(a.min(b)),
                    Op::Max => Some(a.max(b)),
                    Op::Bcast if a == b || b == 1 => Some(a),
                    Op::Bcast if a == 1 => Some(b),
                    Op::Bcast => None,
                }
            }
        }
    }

    fn build(&self, world: &mut World) -> Dim {
        match self {
            Self::Symbol(index) => Dim::Var(world.symbol(NAMES[*index])),
            Self::Number(value) => Dim::Known(*value),
            Self::Select(parts) => {
                let [cond, a, b] = parts.each_ref().map(|part| part.build(world));
                world.table.select(cond, a, b)
            }
            Self::Binary(op, parts) => {
                let [a, b] = parts.each_ref().map(|part| part.build(world));
                let table = &mut world.table;
                match op {
                    Op::Add => table.add(a, b),
                    Op::Sub => table.sub(a, b),
                    Op::Mul => table.mul(a, b),
                    Op::FloorDiv => table.floor_div(a, b),
                    Op::CeilDiv => table.ceil_div(a, b),
                    Op::ExactDiv => table.exact_div(a, b),
                    Op::Mod => table.modulo(a, b),
                    Op::Min => table.min(a, b),
                    Op::Max => table.max(a, b),
                    Op::Bcast => table.bcast(a, b),
                }
            }
        }
    }
}

fn floor(a: i128, b: i128) -> i128 {
    let (a, b) = if b < 0 { (-a, -b) } else { (a, b) };
    a.div_euclid(b)
}

fn tree(depth: u32) -> impl Strategy<Value = Tree> {
    tree_with(depth, 1)
}

/// Trees with selections of the given weight.
fn tree_with(depth: u32, selections: u32) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        4 => (0..3_usize).prop_map(Tree::Symbol),
        3 => (-4..9_i64).prop_map(Tree::Number),
    ];
    let op = prop_oneof![
        4 => Just(Op::Add),
        3 => Just(Op::Sub),
        3 => Just(Op::Mul),
        4 => Just(Op::FloorDiv),
        2 => Just(Op::CeilDiv),
        2 => Just(Op::ExactDiv),
        3 => Just(Op::Mod),
        2 => Just(Op::Min),
        2 => Just(Op::Max),
        1 => Just(Op::Bcast),
    ];
    leaf.prop_recursive(depth, 24, 2, move |inner| {
        prop_oneof![
            16 => (op.clone(), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Tree::Binary(op, Box::new([a, b]))),
            selections => (inner.clone(), inner.clone(), inner)
                .prop_map(|(cond, a, b)| Tree::Select(Box::new([cond, a, b]))),
        ]
    })
}

/// All values 0..=7 of three symbols.
fn points() -> impl Iterator<Item = [i64; 3]> {
    (0..512).map(|index| [index & 7, index >> 3 & 7, index >> 6])
}

fn world() -> (World, [Symbol; 3]) {
    let mut world = World::new();
    let symbols = NAMES.map(|name| world.symbol(name));
    (world, symbols)
}

fn eval(table: &ExprTable, symbols: &[Symbol; 3], dim: Dim, at: &[i64; 3]) -> Option<i64> {
    table.eval(dim, &|name| symbols.iter().position(|&known| known == name).map(|index| at[index]))
}

fn within(value: i64, bounds: Bounds) -> bool {
    bounds.lo.is_none_or(|lo| lo <= value) && bounds.hi.is_none_or(|hi| value <= hi)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// Simplification keeps the value wherever there is one; bounds hold; the tape agrees with the evaluator.
    #[test]
    fn values_are_kept(tree in tree(5)) {
        let (mut world, symbols) = world();
        let dim = tree.build(&mut world);
        let bounds = world.table.bounds(dim);
        let tape = Tape::compile(&world.table, &[dim]);
        let inputs: Vec<usize> =
            tape.symbols().iter().map(|name| symbols.iter().position(|s| s == name).unwrap()).collect();
        let mut registers = Registers::default();
        for at in points() {
            let found = eval(&world.table, &symbols, dim, &at);
            let values: Vec<i64> = inputs.iter().map(|&index| at[index]).collect();
            prop_assert_eq!(tape.eval(&values, &mut registers).next(), Some(found));
            if let Some(found) = found {
                prop_assert!(within(found, bounds), "{} = {found} at {at:?}, {bounds:?}", world.text(dim));
            }
            if !dim.is_unknown() && let Some(value) = tree.value(&at) {
                prop_assert_eq!(
                    found.map(i128::from), Some(value), "{} at {:?}", world.text(dim), at
                );
            }
        }
    }

    /// Only an expression with a part that is defined nowhere, or one that passes a limit, is unknown. Small ones pass
    /// no limit. (A selection may be defined although a part of it is not.)
    #[test]
    fn small_expressions_are_known(tree in tree_with(3, 0)) {
        let (mut world, _) = world();
        if tree.build(&mut world).is_unknown() {
            prop_assert!(points().all(|at| tree.value(&at).is_none()));
        }
    }

    /// A canonical form is made of canonical forms: making it again from its parts changes nothing.
    #[test]
    fn texts_and_parts_give_the_same_dimension(tree in tree(4)) {
        let (mut world, _) = world();
        let dim = tree.build(&mut world);
        prop_assert_eq!(world.table.substitute(dim, &|_| None), dim, "{}", world.text(dim));
        for dialect in [Dialect::Python, Dialect::Sympy] {
            let Some(text) = world.table.text(dim, &world.names, dialect) else { continue };
            let read = world.table.try_parse(&mut world.names, &text);
            prop_assert_eq!(read, Ok(dim), "{}", text);
        }
    }

    /// Broadcasts of related sizes, which often have a shorter form, keep the value.
    #[test]
    fn broadcasts_keep_the_value(leader in tree(2), other in tree(2), third in tree(1), op in 0..4_usize) {
        let op = [Op::Min, Op::Max, Op::Mul, Op::FloorDiv][op];
        let follower = Tree::Binary(op, Box::new([leader.clone(), other]));
        let pair = Tree::Binary(Op::Bcast, Box::new([follower, leader]));
        let tree = Tree::Binary(Op::Bcast, Box::new([pair, third]));
        let (mut world, symbols) = world();
        let dim = tree.build(&mut world);
        for at in points() {
            if let Some(value) = tree.value(&at) && !dim.is_unknown() {
                let found = eval(&world.table, &symbols, dim, &at);
                prop_assert_eq!(found.map(i128::from), Some(value), "{} at {:?}", world.text(dim), at);
            }
        }
    }

    /// Addition and multiplication are associative, commutative and distributive in ids.
    #[test]
    fn ids_obey_the_laws(a in tree(2), b in tree(2), c in tree(2)) {
        let (mut world, _) = world();
        let [a, b, c] = [a, b, c].map(|tree| tree.build(&mut world));
        let table = &mut world.table;
        prop_assert_eq!(table.add(a, b), table.add(b, a));
        prop_assert_eq!(table.mul(a, b), table.mul(b, a));
        prop_assert_eq!(table.min(a, b), table.min(b, a));
        prop_assert_eq!(table.bcast(a, b), table.bcast(b, a));
        if ![a, b, c].contains(&Dim::Unknown) {
            let (ab, bc) = (table.add(a, b), table.add(b, c));
            prop_assert_eq!(table.add(ab, c), table.add(a, bc));
            let back = table.sub(ab, b);
            prop_assert_eq!(back, a);
        }
    }

    /// What is proved about two expressions holds at every point where both are defined.
    #[test]
    fn proofs_hold(a in tree(3), b in tree(3)) {
        let (mut world, symbols) = world();
        let (a, b) = (a.build(&mut world), b.build(&mut world));
        let proved = world.table.proves_le(a, b);
        let quotient = world.table.quotient(a, b);
        for at in points() {
            let value = |dim| eval(&world.table, &symbols, dim, &at);
            if let (Some(x), Some(y)) = (value(a), value(b)) {
                prop_assert!(!proved || x <= y, "{} <= {} at {at:?}", world.text(a), world.text(b));
                if let Some(quotient) = quotient && y != 0 {
                    prop_assert_eq!(value(quotient).map(|q| q * y), Some(x), "at {:?}", at);
                }
            }
        }
    }

    /// Replacing symbols by numbers agrees with evaluating.
    #[test]
    fn substitution_agrees_with_evaluation(tree in tree(4), n in 0..8_i64, m in 0..8_i64) {
        let (mut world, symbols) = world();
        let dim = tree.build(&mut world);
        let partial = world.table.substitute(dim, &|name| {
            (name == symbols[0]).then_some(Dim::Known(n)).or((name == symbols[1]).then_some(Dim::Known(m)))
        });
        for s in 0..8 {
            if let Some(value) = eval(&world.table, &symbols, dim, &[n, m, s]) && !partial.is_unknown() {
                prop_assert_eq!(eval(&world.table, &symbols, partial, &[7, 7, s]), Some(value));
            }
        }
    }

    /// No text makes the parser fail, and every text comes back.
    #[test]
    fn every_text_is_a_dimension(text in "[NMab0-9 .,:`()*/%^+-]{0,24}|\\PC{0,12}") {
        let mut world = World::new();
        let dim = world.table.parse(&mut world.names, &text);
        prop_assert_eq!(dim.is_unknown(), text.is_empty());
        if let Some(written) = world.table.text(dim, &world.names, Dialect::Python) {
            prop_assert_eq!(world.table.parse(&mut world.names, &written), dim);
        }
    }
}
