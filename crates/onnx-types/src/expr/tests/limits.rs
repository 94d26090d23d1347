//! Overflow and size limits: the result is unknown, never wrong and never a panic.

use super::World;
use crate::dim::Dim;
use crate::expr::{ExprParseOptions, ExprTable};

#[test]
fn overflow_is_unknown() {
    let mut table = ExprTable::new();
    let (max, min) = (Dim::Known(i64::MAX), Dim::Known(i64::MIN));
    let one = Dim::Known(1);
    assert_eq!(table.add(max, one), Dim::Unknown);
    assert_eq!(table.sub(min, one), Dim::Unknown);
    assert_eq!(table.neg(min), Dim::Unknown);
    assert_eq!(table.mul(max, max), Dim::Unknown);
    assert_eq!(table.floor_div(min, Dim::Known(-1)), Dim::Unknown);
    assert_eq!(table.exact_div(min, Dim::Known(-1)), Dim::Unknown);
    assert_eq!(table.modulo(min, Dim::Known(-1)), Dim::Known(0));
    assert_eq!(table.pow(max, 2), Dim::Unknown);
}

/// Every operation on every pair of awkward operands: nothing panics.
#[test]
fn awkward_operands_do_no_harm() {
    let mut world = World::new();
    let n = world.dim("N");
    let mut operands = vec![Dim::Unknown, n, Dim::Expr(crate::expr::ExprId::from_index(u32::MAX))];
    for number in [0, 1, -1, 2, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 62] {
        let k = Dim::Known(number);
        let scaled = world.table.mul(n, k);
        let shifted = world.table.add(n, k);
        let both = world.table.add(scaled, k);
        operands.extend([k, scaled, shifted, both]);
    }
    for _ in 0..2 {
        let mut results = Vec::new();
        for &a in &operands {
            for &b in &operands {
                let table = &mut world.table;
                results.extend([
                    table.add(a, b),
                    table.sub(a, b),
                    table.mul(a, b),
                    table.floor_div(a, b),
                    table.ceil_div(a, b),
                    table.exact_div(a, b),
                    table.modulo(a, b),
                    table.min(a, b),
                    table.max(a, b),
                    table.bcast(a, b),
                    table.select(a, b, n),
                ]);
                let _ = (table.quotient(a, b), table.proves_le(a, b), table.divides(i64::MIN, a));
            }
        }
        for &dim in &results {
            let _ = (world.table.bounds(dim), world.text(dim));
            for value in [0, 1, i64::MAX] {
                let _ = world.table.eval(dim, &|_| Some(value));
            }
        }
        results.sort_unstable_by_key(|&dim| super::super::poly::rank(dim));
        results.dedup();
        operands = results.into_iter().step_by(17).take(60).collect();
    }
}

#[test]
fn sums_products_and_depth_are_limited() {
    let mut world = World::new();
    let symbols: Vec<Dim> = (0..80).map(|index| world.dim(&format!("x{index}"))).collect();
    assert!(!world.table.sum(&symbols[..64]).is_unknown());
    assert!(world.table.sum(&symbols).is_unknown());
    assert!(!world.table.product(&symbols[..32]).is_unknown());
    assert!(world.table.product(&symbols).is_unknown());
    assert!(world.table.pow(symbols[0], 33).is_unknown());
    let wide = world.table.sum(&symbols[..40]);
    assert!(world.table.mul(wide, wide).is_unknown());

    // Nothing here simplifies, so each round nests deeper.
    let mut deep = symbols[0];
    for index in 0..100 {
        let next = world.table.add(deep, symbols[index % 7 + 1]);
        deep = world.table.max(next, symbols[index % 5 + 8]);
        deep = world.table.floor_div(deep, symbols[index % 3 + 1]);
    }
    assert!(deep.is_unknown());

    // A graph that doubles as a tree with every step.
    let mut twice = symbols[0];
    for index in 0..100 {
        let rest = world.table.modulo(twice, symbols[index % 7 + 1]);
        twice = world.table.mul(twice, rest);
    }
    assert!(twice.is_unknown());
}

#[test]
fn hostile_texts_are_names() {
    for text in [
        "(".repeat(4000),
        "(".repeat(2000) + "N" + &")".repeat(2000),
        "floor(".repeat(600),
        "N+".repeat(100_000),
        "2**".repeat(1000) + "N",
        "N**4000000000".to_owned(),
        "9".repeat(300),
        "1.".to_owned() + &"0".repeat(2000) + "1",
        "(N+M+S)**32".to_owned(),
        "max(".to_owned() + &"N,".repeat(1300) + "M*",
        "N//0".to_owned(),
        "N%(M-M)".to_owned(),
        "3/2".to_owned(),
        "-1".to_owned(),
        "9223372036854775807*N*2*M".to_owned(),
        "`a".to_owned(),
    ] {
        let mut world = World::new();
        let dim = world.table.parse(&mut world.names, &text);
        assert_eq!(dim, Dim::Var(world.symbol(&text)), "{:.40}", text);
    }
    // Long, but within the limits.
    let mut world = World::new();
    assert_eq!(world.dim(&("-".repeat(4000) + "N")), world.dim("N"));
    let long = "N+".repeat(2000) + "N";
    assert_eq!(world.dim(&long), world.dim("2001*N"));
}

/// Every way to go deeper is limited, also that of an exponent after an operand after a number.
#[test]
fn powers_without_operators_nest_to_the_same_depth() {
    let options = ExprParseOptions::default().with_juxtaposition(true);
    let mut world = World::new();
    let mut depth_of = |levels: usize| {
        let text = "2(1)**".repeat(levels) + "1";
        world.table.try_parse_with(&mut world.names, &text, options)
    };
    assert_eq!(depth_of(30), Ok(Dim::Known(2)));
    for levels in [64, 600] {
        let error = depth_of(levels).unwrap_err();
        assert!(error.to_string().ends_with("the expression is nested too deeply"), "{error}");
    }
}

/// Where exact quotients cancel, the power of a denominator can be 0 although the denominator is not.
#[test]
fn a_denominator_whose_power_is_0_divides_nothing() {
    let nothing = "(P*(N/:M) - (N*P)/:M)";
    let root = format!("Q*(M/:(Q*Q))*S*(M/:(S*S))*{nothing}");
    let mut world = World::new();
    assert_eq!(world.dim(&format!("({root})**2")), Dim::Known(0));
    assert_ne!(world.dim(&root), Dim::Known(0));
    for rest in ["", " + 1/2", " + (1/R)**2", "*2"] {
        let text = format!("(1/({root}))**2{rest}");
        assert!(world.table.try_parse(&mut world.names, &text).is_err(), "{text}");
        assert_eq!(world.table.parse(&mut world.names, &text), Dim::Var(world.symbol(&text)));
    }
}

/// Texts that are cheap to write and could be dear to read.
#[test]
fn reading_takes_time_in_proportion() {
    let primes =
        [97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5, 3];
    let mut nested = "N".to_owned();
    for prime in primes {
        nested = format!("({nested})%{prime} + ({nested})%{}", prime + 1);
        if nested.len() > 1800 {
            break;
        }
    }
    let chain = primes.iter().fold("N".to_owned(), |text, prime| format!("(({text})%{prime})"));
    let wide = (0..16)
        .map(|row| {
            (0..24).map(|column| format!("x{row}{column}//{}", column + 2)).collect::<Vec<_>>().join("+")
        })
        .collect::<Vec<_>>();
    let start = std::time::Instant::now();
    for text in [nested, chain, format!("min({})", wide.join(","))] {
        let mut world = World::new();
        let _ = world.table.parse(&mut world.names, &text);
    }
    // Milliseconds in fact; a blow-up would take years.
    assert!(start.elapsed().as_secs() < 20);
}
