//! No text panics, recurses without bound or takes much time, in a small stack.

use onnx_text::{
    ParseOptions, PrintOptions, parse_function, parse_graph, parse_model, parse_node, print_model,
};
use proptest::prelude::*;

/// Runs with the stack that the crate promises to do with.
fn in_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

fn parse_all(text: &[u8]) {
    let options = ParseOptions::default();
    let _ = parse_graph(text, &options);
    let _ = parse_function(text, &options);
    let _ = parse_node(text, &options);
    if let Ok(model) = parse_model(text, &options) {
        model.verify().unwrap();
        for options in [PrintOptions::full(), PrintOptions::default(), PrintOptions::compat()] {
            print_model(&model, &options).unwrap();
        }
    }
}

#[test]
fn deep_texts() {
    in_small_stack(|| {
        for open in [
            "seq(",
            "optional(",
            "map(int64, ",
            "(",
            "[",
            "{",
            "<",
            "@{",
            "a <",
            "a = b <c = ",
            "[\"",
            "y = A <b = g () => () {",
        ] {
            for prefix in ["", "g (", "y = Op <a = ", "g () => () {"] {
                parse_all(format!("{prefix}{}", open.repeat(20_000)).as_bytes());
            }
        }
        // As deep as it is allowed.
        let open = "y = A () <b = g () => () {".repeat(63);
        let close = "}>".repeat(63);
        let text = format!("g () => () {{{open}{close}}}");
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let full = print_model(&model, &PrintOptions::full()).unwrap().text;
        parse_model(&full, &ParseOptions::default()).unwrap();
        let types = format!("g ({}float{} x) => () {{}}", "seq(".repeat(62), ")".repeat(62));
        parse_model(&types, &ParseOptions::default()).unwrap();
    });
}

/// Pieces of valid text, so that random ones get further than the first byte.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "g",
        "x",
        "y",
        "=",
        "=>",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        "[",
        "]",
        ",",
        ":",
        "@",
        "@{",
        "?",
        "\"",
        "\"a\"",
        "\\",
        "-",
        "1",
        "2.5",
        "1e9",
        "nan",
        "inf",
        "float",
        "float[2]",
        "int4[3]",
        "seq",
        "seq(float)",
        "sparse_tensor",
        "map",
        "Relu",
        "Relu (x)",
        "y = Relu (x)",
        "g (x) => (y)",
        "{1, 2}",
        "raw",
        "splat",
        "int32_data",
        "none",
        "\n",
        "#",
        "é",
        "\u{feff}",
        "@training",
        "present",
        "unknown",
        "source",
        "ir_version",
        "opset_import",
        "float_data {1}",
        "nan(0x7f)",
        "\\x{",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.join(" ").into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        parse_all(&bytes);
    }

    #[test]
    fn any_words(text in soup()) {
        parse_all(&text);
    }

    #[test]
    fn damaged_models(at in 0_usize..700, bytes: [u8; 2], cut: bool) {
        let text = include_str!("sample.onnxtxt");
        let mut damaged = text.as_bytes().to_vec();
        let at = at % damaged.len();
        if cut {
            damaged.remove(at);
        } else {
            damaged.splice(at..at + 1, bytes);
        }
        parse_all(&damaged);
    }

    #[test]
    fn floats_survive(bits: u32, wide: u64, half: u16) {
        let value = f32::from_bits(bits);
        let text = format!("g () => () <float[1] a = raw \"{}\", double[1] b = raw \"{}\", float16[1] c = raw \"{}\"> {{}}",
            hex(&value.to_le_bytes()), hex(&f64::from_bits(wide).to_le_bytes()), hex(&half.to_le_bytes()));
        let model = parse_graph(&text, &ParseOptions::default()).unwrap();
        let full = print_model(&model, &PrintOptions::full()).unwrap().text;
        prop_assert!(!full.contains('"'), "{}", full);
        let again = parse_model(&full, &ParseOptions::default()).unwrap();
        let bytes = |model| onnx_codec::encode(model, &onnx_codec::EncodeOptions::default()).unwrap().into_bytes();
        prop_assert_eq!(bytes(&model), bytes(&again));
    }

    #[test]
    fn strings_survive(content: Vec<u8>, name: String) {
        let text = format!("g () => () <string[1] a = string_data {{\"\\x{{{}}}\"}}> {{}}", hex(&content));
        let mut model = parse_graph(&text, &ParseOptions::default()).unwrap();
        let main = model.main_graph();
        let name = model.intern(&name);
        model.set_graph_name(main, name);
        let full = print_model(&model, &PrintOptions::full()).unwrap().text;
        let again = parse_model(&full, &ParseOptions::default()).unwrap();
        let bytes = |model| onnx_codec::encode(model, &onnx_codec::EncodeOptions::default()).unwrap().into_bytes();
        prop_assert_eq!(bytes(&model), bytes(&again));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
