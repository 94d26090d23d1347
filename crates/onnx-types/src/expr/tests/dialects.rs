//! Texts that exporters and tools write, and what they mean.

use super::World;
use crate::dim::Dim;
use crate::expr::{Dialect, ExprParseOptions};
use crate::symbol::Interner;

/// Strings of exported models (PyTorch, ONNX Runtime's and other inference scripts): the string, and the same number in
/// our notation, or `None` if the whole string is a name.
const FOUND: &[(&str, Option<&str>)] = &[
    ("batch", None),
    ("unk__12", None),
    ("Addlogits_dim_0", None),
    ("Addacc.3_dim_0", None),
    ("Concatpresent.0.key_dim_2", None),
    ("Ifacc.11_dim_1", None),
    ("((((((((samples//80)) - 3)//2)) - 1)//2)) + 1", Some("(samples - 80)//320")),
    ("(((((samples//80)) - 3)//2)) + 1", Some("(samples - 80)//160")),
    ("(((height - 1)//16)) + 1", Some("ceil(height/16)")),
    ("(((height - 1)//2)) + 1", Some("ceil(height/2)")),
    ("((samples//128)) - 1", Some("(samples - 128)//128")),
    ("((seq + 1)//2)", Some("ceil(seq/2)")),
    ("((total_seq*batch)//batch)", Some("total_seq")),
    ("(height//32)", Some("height//32")),
    ("197*batch", Some("batch*197")),
    ("4*seq", Some("seq*4")),
    ("Min(512, seq)", Some("min(seq, 512)")),
    ("Min(seq, k)", Some("min(k, seq)")),
    ("batch*seq", Some("seq*batch")),
    ("past_seq + seq", Some("seq + past_seq")),
    ("seq + past_seq", Some("past_seq + seq")),
];

#[test]
fn texts_of_exporters_are_read() {
    for &(text, meaning) in FOUND {
        let mut world = World::new();
        let dim = world.table.parse(&mut world.names, text);
        let expected = match meaning {
            Some(meaning) => world.dim(meaning),
            None => Dim::Var(world.symbol(text)),
        };
        assert_eq!(dim, expected, "`{text}` is {}", world.text(dim));
    }
}

#[test]
fn other_texts_are_names() {
    for text in [
        "a::b",
        "x.1",
        "batch size",
        "N-",
        "N +",
        "(N",
        "N)",
        "a b",
        "?",
        " ",
        "N..M",
        "é∂",
        "N=M",
        "N<M",
        "conv_f3_0(H,3,2)",
        "f()",
        "max()",
        "floor(N, 2)",
        "2N",
        "1e5",
        "N^2",
        "N&M",
        "N@M",
        "a[0]",
        "'a'",
        "N!",
        "0.1*N",
        "Mod(N/2, 3)",
        "max(N/M, 2)",
        "2**N",
        "N**-1",
        "int(N/2 - 3)",
        "None",
        "sequence-length",
        "N,M",
        "-5",
    ] {
        let mut world = World::new();
        let dim = world.table.parse(&mut world.names, text);
        // Two of these are differences of two names, or a name.
        if matches!(text, "None" | "sequence-length") {
            assert_ne!(dim, Dim::Unknown);
            continue;
        }
        assert_eq!(dim, Dim::Var(world.symbol(text)), "`{text}` is {}", world.text(dim));
        assert_eq!(world.table.text(dim, &world.names, Dialect::Python).as_deref(), Some(text));
    }
}

#[test]
fn errors_say_where() {
    let mut world = World::new();
    for (text, position) in
        [("N +", 3), ("N ? 2", 2), ("foo(N)", 0), ("N//0", 4), ("(N", 2), ("", 0), ("N M", 2)]
    {
        let error = world.table.try_parse(&mut world.names, text).unwrap_err();
        assert_eq!(error.position(), position, "`{text}`: {error}");
    }
}

#[test]
fn options_change_the_reading() {
    let mut world = World::new();
    let mut read = |text: &str, options| world.table.parse_with(&mut world.names, text, options);
    let default = ExprParseOptions::default();
    assert_eq!(read("5", default), Dim::Known(5));
    let literal = default.with_integers_are_names(true);
    let name = read("5", literal);
    assert!(matches!(name, Dim::Var(_)));
    let loose = default.with_juxtaposition(true);
    assert_eq!(read("2N", loose), read("2*N", default));
    assert_eq!(read("2(N+1)", loose), read("2*N + 2", default));
    // A symbol that looks like a number is quoted, so that it comes back as a symbol.
    assert_eq!(world.text(name), "`5`");
    let twice = world.table.mul(name, Dim::Known(2));
    assert_eq!(world.text(twice), "2*`5`");
    assert_eq!(world.dim("2*`5`"), twice);
}

#[test]
fn names_are_quoted_where_they_must() {
    let mut world = World::new();
    for (name, alone, inside) in [
        ("N", "N", "N + 1"),
        ("x.1", "x.1", "x.1 + 1"),
        ("a::b", "a::b", "`a::b` + 1"),
        ("batch size", "batch size", "`batch size` + 1"),
        ("a`b", "a`b", "`a``b` + 1"),
        ("a+b", "`a+b`", "`a+b` + 1"),
        ("max", "max", "max + 1"),
    ] {
        let dim = Dim::Var(world.symbol(name));
        assert_eq!(world.text(dim), alone);
        assert_eq!(world.table.parse(&mut world.names, alone), dim);
        let more = world.table.add(dim, Dim::Known(1));
        assert_eq!(world.text(more), inside);
        assert_eq!(world.dim(inside), more);
    }
}

#[test]
fn sympy_spelling() {
    let mut world = World::new();
    for (python, sympy) in [
        ("N//2", "floor(N/2)"),
        ("(N + 1)//2", "floor((N + 1)/2)"),
        ("N%8", "Mod(N, 8)"),
        ("min(N, 5)", "Min(N, 5)"),
        ("max(N - 1, 0)", "Max(N - 1, 0)"),
        ("N/:2", "CleanDiv(N, 2)"),
        ("N**2", "N**2"),
        ("3*(N//2) + 1", "3*floor(N/2) + 1"),
    ] {
        let dim = world.dim(python);
        let text = world.table.text(dim, &world.names, Dialect::Sympy);
        assert_eq!(text.as_deref(), Some(sympy));
        assert_eq!(world.dim(sympy), dim);
    }
}

#[test]
fn unknown_and_long_expressions_have_no_text() {
    let mut world = World::new();
    assert_eq!(world.table.text(Dim::Unknown, &world.names, Dialect::Python), None);
    let long = Dim::Var(world.symbol(&"n".repeat(5000)));
    assert!(world.table.text(long, &world.names, Dialect::Python).is_some());
    let more = world.table.add(long, Dim::Known(1));
    assert_eq!(world.table.text(more, &world.names, Dialect::Python), None);
}

/// The dimensions that inference is to find on the project's symbolic cases, in the notation of that list.
#[test]
fn expected_dimensions_of_the_symbolic_cases() {
    let loose = ExprParseOptions::default().with_juxtaposition(true);
    for (ideal, text) in [
        ("N + M", "N + M"),
        ("2N", "2*N"),
        ("64*S", "64*S"),
        ("N*S", "N*S"),
        ("N//2", "N//2"),
        ("S - 1", "S - 1"),
        ("min(S,5)", "min(S, 5)"),
        ("ceil(S/2)", "(S + 1)//2"),
        ("min(S,M)", "min(M, S)"),
        ("S//2", "S//2"),
        ("(H-1)//2+1", "(H + 1)//2"),
        ("ceil(H/2)", "(H + 1)//2"),
        ("2H", "2*H"),
        ("S + 2", "S + 2"),
        ("2*S", "2*S"),
        ("ceil((N-1)/2)", "N//2"),
        ("max(N,M)", "max(N, M)"),
        ("min(N,M)", "min(N, M)"),
        ("N%8", "N%8"),
        ("ceil(N/2)", "(N + 1)//2"),
        ("N*S*4", "4*N*S"),
        ("min(N,10)", "min(N, 10)"),
        ("C//4", "C//4"),
        ("W//2", "W//2"),
        ("P+S", "P + S"),
    ] {
        let mut names = Interner::new();
        for name in ["N", "M", "P", "S", "H", "W", "C"] {
            names.intern(name);
        }
        let mut table = crate::expr::ExprTable::new();
        let dim = table.try_parse_with(&mut names, ideal, loose).unwrap();
        assert_eq!(table.display(dim, &names).to_string(), text);
    }
}
