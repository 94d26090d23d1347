//! Sizes of outputs that follow those of inputs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use onnx_compose::{EditOptions, NewSize, SizeChange, SizeTarget, resize};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

/// The model with another size, as text without spaces and quotes.
fn resized(text: &str, target: &str, size: &str) -> String {
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let target = match target {
        "x[0]" => SizeTarget::Axis(model.find_value(model.main_graph(), "x").unwrap(), 0),
        name => SizeTarget::Variable(name.to_owned()),
    };
    let size = size.parse().map_or_else(|_| NewSize::Name(size.to_owned()), NewSize::Number);
    resize(&mut model, &[SizeChange { target, size }], &EditOptions::default()).unwrap();
    model.verify().unwrap();
    print_model(&model, &PrintOptions::default()).unwrap().text.replace([' ', '"'], "")
}

#[test]
fn sizes_of_outputs_follow_a_name() {
    for (input, output, (target, size), expected) in [
        // A name that no input has, and a size that is not declared.
        ("N", "M", ("N", "batch"), "float[2*batch,4]y,float[L]z"),
        ("N", "?", ("N", "batch"), "float[2*batch,4]y,float[L]z"),
        ("?", "M", ("x[0]", "batch"), "float[2*batch,4]y,float[L]z"),
        ("?", "M", ("x[0]", "3"), "float[6,4]y,float[L]z"),
        // What an output has otherwise is what the user states.
        ("N", "K", ("N", "batch"), "float[K,4]y,float[L]z"),
        ("N", "M", ("K", "length"), "float[M,4]y,float[length]z"),
    ] {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
             g (float[{input}, 4] x, float[K] k) => (float[{output}, 4] y, float[L] z) {{
               y = Concat <axis = 0> (x, x)
               z = Neg (k)
             }}"
        );
        let printed = resized(&text, target, size);
        assert!(printed.contains(expected), "{input}, {output}, {target}: {printed}");
    }
}

/// Sizes that become equal are named, and those that only exchange their names are not.
#[test]
fn sizes_that_become_one_are_named() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[N, M] x, float[\"2*K\", K] k) => (float[N, M] y, float[a, K] z) { y = Neg (x) z = Neg (k) }";
    for (changes, expected) in [
        (&[("N", "M")][..], "M: N, M"),
        (&[("N", "L"), ("M", "L")], "L: M, N"),
        (&[("N", "M"), ("M", "N")], ""),
        (&[("N", "M"), ("M", "L")], ""),
        (&[("N", "L")], ""),
        (&[("N", "3"), ("M", "3")], ""),
    ] {
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let change = |&(old, new): &(&str, &str)| SizeChange {
            target: SizeTarget::Variable(old.to_owned()),
            size: new.parse().map_or_else(|_| NewSize::Name(new.to_owned()), NewSize::Number),
        };
        let changes: Vec<SizeChange> = changes.iter().map(change).collect();
        let done = resize(&mut model, &changes, &EditOptions::default()).unwrap();
        let merged = done.merged.iter().map(|(name, sizes)| format!("{name}: {}", sizes.join(", ")));
        assert_eq!(merged.collect::<Vec<_>>().join("; "), expected, "{changes:?}");
    }
}
