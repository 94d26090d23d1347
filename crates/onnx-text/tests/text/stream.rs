//! Printing into a stream gives the same text as printing into a string, in pieces of bounded size.

use std::io::{self, Write};

use onnx_ir::{AttrValue, Model};
use onnx_text::{ParseOptions, PrintOptions, WriteError, parse_model, print_model, print_model_to};
use onnx_types::tensor::Tensor;

/// Keeps the text, and notes the largest piece; fails after a number of pieces.
#[derive(Default)]
struct Pieces {
    text: Vec<u8>,
    largest: usize,
    count: usize,
    fail_after: Option<usize>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += 1;
        if self.fail_after.is_some_and(|most| self.count > most) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.text.extend_from_slice(bytes);
        self.largest = self.largest.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A model with large tensors of many types, as initializers and in attributes, where a name or an equals sign precedes
/// the elements or not.
fn large() -> Model {
    let count = 20_000;
    let list = |element: &str| vec![element; count].join(", ");
    let braces = |element: &str| format!("{{{}}}", list(element));
    let tensors = [
        ("float", braces("1.5")),
        ("double", braces("-1e-300")),
        ("int64", braces("-7")),
        ("uint8", braces("200")),
        ("int4", format!("raw {{{}}}", list("-3"))),
        ("float16", braces("0.1")),
        ("string", braces("\"a\"")),
    ];
    let mut text = String::from("<ir_version: 10, opset_import: [\"\": 21]>\ng () => (y) <\n");
    let initializers: Vec<_> = (tensors.iter().enumerate())
        .map(|(index, (ty, elements))| format!("   {ty}[{count}] w{index} = {elements}"))
        .collect();
    text.push_str(&initializers.join(",\n"));
    text.push_str(">\n{\n");
    for (index, (ty, elements)) in tensors.iter().enumerate() {
        for name in ["", "named "] {
            text.push_str(&format!(
                "   c = Constant <value: tensor = {ty}[{count}] {name}= {elements}> ()\n"
            ));
        }
        text.push_str(&format!("   y{index} = Relu (c)\n"));
    }
    text.push_str("}\n");
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // Elements that are not printed as such begin with a word.
    let graph = model.main_graph();
    let name = model.intern("raw");
    let tensor = Tensor::vector(&vec![1.5_f32; count]);
    model.add_initializer(graph, name, tensor);
    model
}

#[test]
fn a_stream_gets_the_same_text_in_pieces() {
    let model = large();
    for options in [PrintOptions::full(), PrintOptions::compat(), PrintOptions::default()] {
        let printed = print_model(&model, &options).unwrap();
        let mut pieces = Pieces::default();
        let left_out = print_model_to(&model, &options, &mut pieces).unwrap();
        assert!(pieces.text == printed.text.as_bytes());
        assert_eq!(left_out.counts(), printed.left_out.counts());
        assert!(pieces.largest < 1 << 18, "{}", pieces.largest);
        assert!(pieces.count > pieces.text.len() / (1 << 18));
    }
}

#[test]
fn a_stream_that_fails_ends_the_printing() {
    let model = large();
    for fail_after in [0, 1, 5] {
        let mut pieces = Pieces { fail_after: Some(fail_after), ..Pieces::default() };
        let error = print_model_to(&model, &PrintOptions::full(), &mut pieces).unwrap_err();
        let WriteError::Io(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(pieces.count, fail_after + 1, "nothing is written after a failure");
    }
}

/// Bytes that no element type explains are printed as digits, and defaults of functions continue the list of names.
#[test]
fn digits_and_defaults_are_passed_on_as_well() {
    let digits = "0a".repeat(300_000);
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng () => () {{\n}}\n<domain: \"d\", opset_import: [\"\": 21]>\nf <a, \
         b: tensor = float[2] = raw \"{digits}\"> (x) => (y) {{\n   y = Relu (x)\n}}\n"
    );
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(
        model.function(model.functions()[0]).defaults.first().map(|default| default.value()),
        Some(AttrValue::Tensor(_))
    ));
    let printed = print_model(&model, &PrintOptions::full()).unwrap().text;
    let mut pieces = Pieces::default();
    print_model_to(&model, &PrintOptions::full(), &mut pieces).unwrap();
    assert!(pieces.text == printed.as_bytes() && pieces.largest < 1 << 18);
    model = parse_model(&printed, &ParseOptions::default()).unwrap();
    assert!(print_model(&model, &PrintOptions::full()).unwrap().text == printed);
}
