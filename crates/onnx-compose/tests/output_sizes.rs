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
