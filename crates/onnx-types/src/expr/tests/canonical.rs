//! Different notations of one number are one dimension.

use super::World;
use crate::dim::Dim;
use crate::expr::{Bounds, ExprTable};
use crate::symbol::Symbol;

/// Texts of one meaning each.
const GROUPS: &[&[&str]] = &[
    // Collection and multiplying out.
    &["N + M", "M + N", "N + 2*M - M"],
    &["M", "N + M - N", "M*N - N*M + M"],
    &["2*N", "N + N", "4*N/2", "floor(2.0*N)", "int(floor(2.0*N))"],
    &["N*S", "S*N", "(N*S*64)//64"],
    &["64*N*S", "S*N*64", "N*64*S"],
    &["N + N*S", "N*(S + 1)", "(N*(S + 1)**2)//(S + 1)"],
    &["N**2 + 2*N + 1", "(N + 1)**2", "(N + 1)*(N + 1)"],
    // Floor and ceiling.
    &["N//2", "floor(N/2)", "FloorDiv(N, 2)", "floor(0.5*N)", "(N//2)", "N - (N + 1)//2", "N - ceiling(N/2)"],
    &["(S + 1)//2", "ceil(S/2)", "ceiling(S/2)", "-floor(-S/2)", "-(-S//2)", "floor(S/2 + 1/2)", "S - S//2"],
    &["(H + 1)//2", "(H - 1)//2 + 1", "floor(H/2 - 1/2) + 1", "(((H - 1)//2)) + 1"],
    &["H//2", "ceiling(H/2 - 3/2) + 1", "(H - 2)//2 + 1", "ceil((H - 3)/2) + 1"],
    &["N//2", "ceiling((N-1)/2)", "-floor(1/2 - N/2)"],
    &["N + 1", "(2*N + 3)//2", "(4*N + 7)//4"],
    &["N//6", "N//2//3", "N//3//2", "floor(floor(N/2)/3)"],
    &["(H + 3)//4", "((H - 1)//2 + 1 - 1)//2 + 1", "(((H - 1)//4)) + 1", "ceil(ceil(H/2)/2)"],
    &["(samples + 80)//160 - 1", "((((((((samples//80)) - 3)//2)))))//1 + 1"],
    &["N//2", "(2*N)//4", "(2*N + 1)//4"],
    &["N", "(total*N)//total", "(N*S*64)//(S*64)", "N*S/S", "CleanDiv(N*S, S)"],
    &["N//16", "(N*S*4)//(S*64)"],
    &["(N + S - 1)//S", "ceil(N/S)", "-floor(-N/S)", "-(-N//S)", "CeilDiv(N, S)", "(N - 1)//S + 1"],
    &["N//(M*S)", "N//M//S", "N//S//M"],
    // Remainders.
    &["N%8", "Mod(N, 8)", "PythonMod(N, 8)", "(N + 8)%8", "(9*N)%8", "N - 8*(N//8)", "(N%16)%8"],
    &["2*(N%4)", "(2*N)%8"],
    &["0", "(8*N)%8", "N*S%S", "(N%2)//2"],
    &["N", "8*(N//8) + N%8", "N//2 + (N + 1)//2"],
    &["N%2", "(N + 1)//2 - N//2", "(N%2)%4"],
    // Exact division.
    &["N/:2", "N/2", "CleanDiv(N, 2)", "N - N/:2"],
    &["N", "2*(N/:2)", "(N/:2)/:3*6", "(N/:S)*S", "M*(N/:M)", "(N*M/:(S*2))*2*S/:M"],
    &["N/:6", "N/:2/:3"],
    // Minimum and maximum.
    &["min(S, 5)", "Min(5, S)", "min(5, S, 7)", "min(min(S, 9), 5)", "min(S, S, 5)", "min(5, S, 2*S)"],
    &["max(N, M)", "Max(M, N)", "max(max(N, 0), M)", "max(M, min(N, M), N)"],
    &["N", "max(N, 0)", "max(N, N//2)", "max(0, N, min(N, M))", "min(N, N + M)", "max(N, min(N, 5))"],
    &["S//2", "min(S, S//2)", "min(S//2, (S + 1)//2)"],
    &["2*min(N, M)", "min(2*N, 2*M)"],
    &["max(N - 1, 0)", "Max(0, N - 1)"],
    // Broadcast.
    &["bcast(N, M)", "N^M", "M^N", "N^M^N", "bcast(M, 1, N)"],
    &["N", "bcast(N, N)", "bcast(N, 1)"],
    &["4", "bcast(N, 4)", "bcast(4, M, N)"],
    &["0", "bcast(N, 0)"],
    &["2*N", "bcast(2*N, M)"],
    &["N + 2", "bcast(N + 2, M)"],
    &[
        "S",
        "bcast(S, min(S, 512))",
        "bcast(min(512, S), S, min(S, 7))",
        "bcast(S, max(S, 1))",
        "bcast(S, S*S)",
    ],
    &["S", "bcast(S, min(S, 1))", "bcast(2*S - 1, S)", "min(S, (-1)%S) + max(S - (-1)%S, 0)"],
    &["(N + 1)//2", "bcast((N + 1)//2, min((N + 1)//2, S + 1))"],
    &["12", "(12*bcast(S, min(S, 512)))/:S"],
    &["bcast(S, M)", "bcast(S, min(S, 512), M)"],
    &["S - 1", "(-1)%S"],
    // Selection.
    &["N", "select(M, N, N)", "select(M + 1, N, 7)", "where(0, 3, N)"],
];

#[test]
fn spellings_coincide() {
    for group in GROUPS {
        let mut world = World::new();
        for name in ["N", "M", "S", "H"] {
            world.symbol(name);
        }
        let first = world.dim(group[0]);
        for text in *group {
            let dim = world.dim(text);
            assert_eq!(dim, first, "`{text}` is {}, not {}", world.text(dim), world.text(first));
        }
    }
}

#[test]
fn texts_are_short() {
    let mut world = World::new();
    for name in ["N", "M", "S"] {
        world.symbol(name);
    }
    for text in [
        "N + M",
        "S - 1",
        "5 - N",
        "-N",
        "2*N + 3",
        "64*N*S",
        "N//2",
        "(N + 1)//2",
        "N//2 + 1",
        "2*(N//2)",
        "N%8",
        "min(S, 5)",
        "max(N - 1, 0)",
        "bcast(N, M)",
        "N/:2",
        "N//(M*S)",
        "(N*M)//S",
        "N**2",
        "select(N, M, 0)",
        "N*(M//2)",
    ] {
        world.check(&[text]);
    }
}

#[test]
fn nothing_is_assumed_about_empty_tensors() {
    let mut world = World::new();
    // Each pair differs for 0 or 1 somewhere.
    for (a, b) in [
        ("bcast(N, M)", "max(N, M)"),
        ("bcast(N, min(N, 0))", "N"),
        ("bcast(N, min(N, M))", "N"),
        ("bcast(N, max(N, 2))", "N"),
        ("bcast(N + 0*M, N*M)", "N"),
        ("(-2)%S", "S - 2"),
        ("max(N, 1)", "N"),
        ("N//2*2", "N"),
        ("min(N, 1)", "1"),
        ("(N + 1)//2", "N//2"),
        ("N//N", "0"),
        ("ceil(N/2)", "N//2 + 1"),
    ] {
        assert_ne!(world.dim(a), world.dim(b), "`{a}` and `{b}`");
    }
}

#[test]
fn bounds_are_tight_enough() {
    let mut world = World::new();
    for (text, lo, hi) in [
        ("7", Some(7), Some(7)),
        ("N", Some(0), None),
        ("N - 1", Some(-1), None),
        ("-N", None, Some(0)),
        ("N*M + 3", Some(3), None),
        ("N%8", Some(0), Some(7)),
        ("N - N//2", Some(0), None),
        ("N - N//4", Some(0), None),
        ("min(N, 5)", Some(0), Some(5)),
        ("max(N, 5)", Some(5), None),
        ("N - min(N, 5)", Some(0), None),
        ("min(N, M) - N", None, Some(0)),
        ("max(N, M) - M", Some(0), None),
        ("N//M", Some(0), None),
        ("N - N//M", Some(0), None),
        ("N - N%M", Some(0), None),
        ("bcast(N, M)", Some(0), None),
    ] {
        let dim = world.dim(text);
        assert_eq!(world.table.bounds(dim), Bounds::new(lo, hi), "`{text}`");
    }
}

#[test]
fn known_bounds_license_conclusions() {
    let mut world = World::new();
    let (n, m) = (Dim::Var(world.symbol("N")), Dim::Var(world.symbol("M")));
    let positive = |_: Symbol| Bounds::new(Some(1), Some(512));
    let table = &mut world.table;
    assert_ne!(table.max(n, Dim::Known(1)), n);
    assert_eq!(table.max_in(n, Dim::Known(1), &positive), n);
    assert_eq!(table.min_in(n, Dim::Known(512), &positive), n);
    let product = table.mul(n, m);
    assert_eq!(table.bounds_in(product, &positive), Bounds::new(Some(1), Some(512 * 512)));
    assert!(table.proves_le_in(n, product, &|_| Bounds::new(Some(1), Some(1))));
    assert!(!table.proves_le(n, product));
}

#[test]
fn divisibility_is_seen() {
    let mut world = World::new();
    for (k, text, expected) in [
        (2, "2*N", true),
        (2, "2*N + 1", false),
        (4, "2*N", false),
        (4, "2*max(2*N, 4)", true),
        (6, "2*max(2*N, 4)", false),
        (64, "64*N*S + 128", true),
        (1, "N", true),
        (0, "N", false),
        (3, "6*(N//2) + 9", true),
    ] {
        let dim = world.dim(text);
        assert_eq!(world.table.divides(k, dim), expected, "{k} and `{text}`");
    }
    for (a, b, expected) in [
        ("4*N", "1", true),
        ("4*N", "8", false),
        ("N + 1", "N", true),
        ("N", "N", false),
        ("2*M + 1", "6*K", true),
        ("2*M + 1", "3*K", false),
        ("4*N*S", "2*M + 3", true),
        ("2*(N//2)", "3", true),
        ("N//2", "1", false),
        ("3", "4", true),
    ] {
        let (left, right) = (world.dim(a), world.dim(b));
        assert_eq!(world.table.never_equal(left, right), expected, "`{a}` and `{b}`");
        assert_eq!(world.table.never_equal(right, left), expected, "`{b}` and `{a}`");
    }
    for (a, b, expected) in [
        ("64*N*S", "16*S", Some("4*N")),
        ("N*S + N", "S + 1", Some("N")),
        ("N*S + 1", "S", None),
        ("N", "2", None),
        ("0", "N", Some("0")),
        ("-4*N", "-2", Some("2*N")),
    ] {
        let (a, b) = (world.dim(a), world.dim(b));
        let expected = expected.map(|text| world.dim(text));
        assert_eq!(world.table.quotient(a, b), expected);
    }
}

#[test]
fn a_reshape_gives_back_what_it_took() {
    let mut world = World::new();
    // [B, S, 64] as [B, -1, 4, 16]: the missing size is the quotient of all by the rest.
    let (all, rest) = (world.dim("B*S*64"), world.dim("B*4*16"));
    assert_eq!(world.table.exact_div(all, rest), world.dim("S"));
    // [N] as [-1, 2] and back.
    let n = world.dim("N");
    let half = world.table.exact_div(n, Dim::Known(2));
    assert_eq!(world.table.mul(half, Dim::Known(2)), n);
}

#[test]
fn a_floor_of_exact_quotients_has_one_form() {
    let mut world = World::new();
    // -e is 3*e - N*N where e is N*(N/:4), so the numerator is flipped, and is a multiple of the divisor again.
    let quotient = world.dim("(N/:-4)*N//2");
    let text = world.text(quotient);
    world.check(&[&text]);
    assert_eq!(world.table.substitute(quotient, &|_| None), quotient);
}

#[test]
fn substitution_specialises() {
    let mut world = World::new();
    let (n, s) = (world.symbol("N"), world.symbol("S"));
    for (text, expected) in [
        ("N*S + 1", "S + 1"),
        ("min(N, S)//2", "min(S, 1)//2"),
        ("bcast(N, S)", "S"),
        ("select(N, S, 4)", "S"),
        ("(S + N)//2", "(S + 1)//2"),
        ("S//N", "S"),
        ("S%N", "0"),
    ] {
        let (dim, expected) = (world.dim(text), world.dim(expected));
        let found = world.table.substitute(dim, &|name| (name == n).then_some(Dim::Known(1)));
        assert_eq!(found, expected, "`{text}`");
    }
    let dim = world.dim("S//N + 2");
    assert_eq!(world.table.symbols(dim), [n, s]);
    let zero = world.table.substitute(dim, &|name| (name == n).then_some(Dim::Known(0)));
    assert_eq!(zero, Dim::Unknown);
}

#[test]
fn numbering_does_not_depend_on_the_hash_seed() {
    let build = || {
        let mut world = World::new();
        for text in ["N*(M + 2)//3", "min(N, M*4, 7)", "bcast(N, M%5) + M**3"] {
            world.dim(text);
        }
        (0..world.table.len() as u32)
            .map(|index| world.text(Dim::Expr(crate::expr::ExprId::from_index(index))))
            .collect::<Vec<_>>()
    };
    assert_eq!(build(), build());
}

#[test]
fn numbers_never_touch_the_table() {
    let mut table = ExprTable::new();
    let (a, b) = (Dim::Known(7), Dim::Known(-2));
    assert_eq!(table.add(a, b), Dim::Known(5));
    assert_eq!(table.sub(a, b), Dim::Known(9));
    assert_eq!(table.mul(a, b), Dim::Known(-14));
    assert_eq!(table.floor_div(a, b), Dim::Known(-4));
    assert_eq!(table.ceil_div(a, b), Dim::Known(-3));
    assert_eq!(table.modulo(a, b), Dim::Known(-1));
    assert_eq!(table.exact_div(a, b), Dim::Unknown);
    assert_eq!(table.min(a, b), b);
    assert_eq!(table.max(a, b), a);
    assert_eq!(table.bcast(a, Dim::Known(1)), a);
    assert_eq!(table.bcast(a, b), Dim::Unknown);
    assert_eq!(table.neg(a), Dim::Known(-7));
    assert_eq!(table.pow(b, 3), Dim::Known(-8));
    assert_eq!(table.sum(&[a, b, a]), Dim::Known(12));
    assert_eq!(table.product(&[a, b]), Dim::Known(-14));
    assert!(table.is_empty());
}
