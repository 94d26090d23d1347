//! Elided tensors come back from the model that a text was printed from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_ir::Model;
use onnx_text::{ElidedTensorSource, ParseError, ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Execution, Interrupt};

const TEXT: &str = r#"<
   ir_version: 10,
   opset_import: ["": 21]
>
g (float[3] x) => (float[3] y)
<
   float[3] w = {1, 2, 3},
   sparse_tensor[9] s = {values: float[3] {4, 5, 6}, indices: int64[3] {0, 1, 2}}
> {
   a = Constant <value = float[3] {7, 8, 9}> ()
   b = com.x.Two <l = [float[3] {10, 11, 12}, float[3] {13, 14, 15}], m = float[3] {16, 17, 18}> (a)
   c = If (x) <then_branch = t () => (d)
      <float[3] v = {19, 20, 21}>
   {
      d = Constant <value = float[3] {22, 23, 24}> ()
   }>
   y = com.x.Sparse <s = sparse_tensor[9] = {values: float[3] {25, 26, 27}, indices: int64[3] {3, 4, 5}}> (c, w)
}
"#;

fn print(model: &Model, elide_above: u64) -> String {
    print_model(model, &PrintOptions::default().with_elide_above(elide_above)).unwrap().text
}

fn parse(text: &str, elided_source: Option<&ElidedTensorSource<'_>>) -> Result<Model, ParseError> {
    parse_model(text, &ParseOptions::default().with_elided_source(elided_source))
}

#[test]
fn every_tensor_comes_back() {
    let original = parse(TEXT, None).unwrap_or_else(|error| panic!("{error}"));
    let (whole, elided) = (print(&original, 100), print(&original, 2));
    assert_eq!(elided.matches("{\u{2026}3 elements}").count(), 11, "{elided}");
    let elided_source = ElidedTensorSource::new(&original, None);
    let parsed = parse(&elided, Some(&elided_source)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(print(&parsed, 100), whole);
}

#[test]
fn no_tensor_takes_the_place_of_another() {
    let original = parse(TEXT, None).unwrap_or_else(|error| panic!("{error}"));
    let elided_source = ElidedTensorSource::new(&original, None);
    let elided = print(&original, 2);
    for (old, new) in [
        ("float[3] w =", "float[3] other ="),
        ("[9] s =", "[9] w ="),
        ("a = Constant", "other = Constant"),
        ("<l = [", "<n = ["),
        ("<l = [", "<l = [float[3] {\u{2026}3 elements}, "),
        ("float[3] v =", "int64[3] v ="),
        ("float[3] v =", "float[1,3] v ="),
    ] {
        let edited = elided.replacen(old, new, 1);
        assert_ne!(edited, elided, "{old}");
        assert!(parse(&edited, Some(&elided_source)).is_err(), "{edited}");
    }
}

#[test]
fn the_interrupt_is_checked_before_each_digest() {
    let original = parse(TEXT, None).unwrap_or_else(|error| panic!("{error}"));
    let digests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&digests);
    let digest = |_: &Tensor| {
        digests.fetch_add(1, Ordering::Relaxed);
        Some("sha256:00".to_owned())
    };
    let options = PrintOptions::default().with_elide_above(2).with_digest(Some(&digest));
    let elided = print_model(&original, &options).unwrap().text;
    digests.store(0, Ordering::Relaxed);
    let elided_source = ElidedTensorSource::new(&original, Some(&digest));
    let interrupt = Interrupt::when(move || count.load(Ordering::Relaxed) > 0);
    let options = ParseOptions::default()
        .with_execution(Execution::default().with_interrupt(interrupt))
        .with_elided_source(&elided_source);
    assert!(parse_model(&elided, &options).unwrap_err().stopped().is_some());
    assert_eq!(digests.load(Ordering::Relaxed), 1);
}
