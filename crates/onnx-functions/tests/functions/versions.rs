//! Functions that import other operator set versions.

use onnx_functions::{Convert, FunctionReason, InlineOptions, inline_all};
use onnx_ir::{FunctionId, Model, OpsetImport};
use onnx_schema::op;
use onnx_types::Symbol;

use crate::{check, nodes, parse};

#[test]
fn versions_that_do_not_change_the_operators_may_differ() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[2,3] x) => (float[2,3] y) { y = my.G (x) }
        <domain: "my", opset_import: ["": 19]> G (p) => (q) { q = Abs (p) }"#,
        &["y = Abs (x)"],
        &[],
    );
    let mut model = parse(VERSIONS);
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
    let reason = "`Softmax` can have another meaning in version 20, which applies to the call, than in version 12, which the function imports";
    assert_eq!(
        (nodes(&model), kept),
        (vec!["a = my.F (x)".to_owned(), "y = Abs (a)".to_owned()], vec![reason.to_owned()])
    );
}

const VERSIONS: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[2,3] x) => (float[2,3] y) { a = my.F (x) y = my.G (a) }
    <domain: "my", opset_import: ["": 12]> F (p) => (q) { q = Softmax (p) }
    <domain: "my", opset_import: ["": 19]> G (p) => (q) { q = Abs (p) }"#;

/// Converts `Softmax` of a matrix from version 12 to 20, which normalizes the last axis: that is the default of 20.
struct Identical;

impl Convert for Identical {
    fn convert(
        &self,
        model: &mut Model,
        function: FunctionId,
        domain: Symbol,
        version: i64,
    ) -> Result<(), FunctionReason> {
        let body = model.function(function).body();
        if !model.nodes(body).all(|node| model.node(node).is(op::SOFTMAX)) {
            return Err("only `Softmax` is converted".into());
        }
        model.function_mut(function).opset_imports = vec![OpsetImport::new(domain, version)];
        Ok(())
    }
}

#[test]
fn other_versions_are_converted() {
    let mut model = parse(VERSIONS);
    let done = inline_all(&mut model, &InlineOptions::default().with_convert(&Identical as &dyn Convert));
    assert_eq!(done.unwrap().inlined(), 2);
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["a = Softmax (x)", "y = Abs (a)"]);
    // The converted copy of the function is gone as well.
    assert_eq!((model.functions().len(), model.graph_count()), (0, 1));
}

#[test]
fn a_conversion_that_fails_keeps_the_call() {
    let mut model = parse(&VERSIONS.replace("q = Softmax (p)", "r = Softmax (p) q = Neg (r)"));
    let options = InlineOptions::default().with_convert(&Identical as &dyn Convert);
    let done = inline_all(&mut model, &options).unwrap();
    let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
    assert_eq!(kept, ["only `Softmax` is converted"]);
    model.verify_sorted().unwrap();
    assert_eq!(model.functions().len(), 1);
}

#[test]
fn operator_sets_of_the_function_are_imported() {
    let (model, _) = check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[1,N] x) => (float[1,N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20, "ai.onnx.ml": 3]> F (p) => (q) {
            q = ai.onnx.ml.Scaler <offset = [0.5], scale = [2.0]> (p)
        }"#,
        &["y = ai.onnx.ml.Scaler <offset = [0.5], scale = [2.0]> (x)"],
        &[],
    );
    let imports: Vec<i64> = model.info().opset_imports.iter().map(OpsetImport::version).collect();
    assert_eq!(imports, [20, 1, 3]);
}
