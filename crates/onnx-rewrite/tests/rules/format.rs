//! The layout of rule files.

use onnx_rewrite::{FILES, format_rules};

#[test]
fn the_rule_files_are_formatted() {
    for (name, text) in FILES {
        assert_eq!(format_rules(text).unwrap(), *text, "{name}");
    }
}

#[test]
fn comments_and_conditions_are_kept() {
    let text = "# one\n\n# a page\nrule a-1: exact, since 13 from (x, b?, c*) => (y) { # here\n y = com.x.Op <axis=-1, ...> (x,\n b, c*) | Add (x, -1.5e-3)\n # there\n}\nwhere not const ( x ), dim(x,0) <= 3, elem(x) in (float, double), k\nto (x) => (x) {}";
    let expected = "# one\n\n# a page\nrule a-1: exact, since 13\nfrom (x, b?, c*) => (y) {  # here\n    y = com.x.Op <axis = -1, ...> (x, b, c*) | Add (x, -1.5e-3)\n# there\n}\nwhere not const(x), dim(x, 0) <= 3, elem(x) in (float, double), k\nto (x) => (x) {}\n";
    let text = text.replace(", k\n", "\n");
    let expected = expected.replace(", k\n", "\n");
    let formatted = format_rules(&text).unwrap();
    assert_eq!(formatted, expected);
    assert_eq!(format_rules(&formatted).unwrap(), formatted);
}
