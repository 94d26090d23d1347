//! Reshapes that change nothing.

use onnx_pass::passes::remove_reshapes;
use onnx_pass::{Exactness, Level};

use crate::{check, refuses, value};

#[test]
fn a_reshape_to_the_sizes_of_its_operand_is_removed() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,4] x) => (float[N,4] y) {
            a = Relu (x)
            all = Shape (a)
            zero = Constant <value = int64[1] {0}> ()
            n = Gather (all, zero)
            four = Constant <value = int64[1] {4}> ()
            s = Concat <axis = 0> (n, four)
            r = Reshape (a, s)
            y = Neg (r)
        }"#,
        remove_reshapes,
        &["a = Relu (x)", "y = Neg (a)"],
        &["tested in # runs (# attempts)"],
    );
}

#[test]
fn an_output_of_the_model_becomes_an_identity() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,M] x) => (float[N,M] y) {
            s = Shape (x)
            y = Reshape (x, s)
        }"#,
        remove_reshapes,
        &["y = Identity (x)"],
        &["tested in # runs (# attempts)"],
    );
}

#[test]
fn removing_any_reshape_is_refuted() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,M] x) => (float[P,4] y) {
            s = Constant <value = int64[2] {-1, 4}> ()
            r = Reshape (x, s)
            y = Neg (r)
        }"#,
        Exactness::Exact,
        |patch| {
            let (x, r) = (value(patch.model(), "x"), value(patch.model(), "r"));
            patch.tap(x);
            patch.replace(r, x);
        },
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2] {2.3450164794921875, 1.9286727905273438, 2.1505813598632813, 3.7490692138671875}",
            "r is float[1,4] before and float[2,2] after",
        ],
    );
}
