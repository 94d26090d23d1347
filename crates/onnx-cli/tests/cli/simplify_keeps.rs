//! What `onnx simplify` keeps: the number formats of a model, what runtimes fuse, the size of the file, and values of callers.

use crate::run::{Folder, onnx};

/// The simplified model as text.
fn simplified(text: &str, options: &str) -> String {
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, &format!("simplify in.onnxtxt {options} -o out.onnxtxt")).exits(0);
    String::from_utf8(folder.get("out.onnxtxt")).unwrap()
}

fn count(text: &str, op: &str) -> usize {
    text.matches(&format!(" = {op} ")).count()
}

/// `DequantizeLinear` of a constant has the type in which a target computes, also behind operators that move or convert it.
#[test]
fn dequantized_weights_stay_quantized() {
    // Elements of 4 bits are written as the bytes that hold two of them.
    let bodies = [
        ("int8[2,2] q = {1, 2, 3, 4}, float s = {0.5}", "w = DequantizeLinear (q, s)"),
        ("int8[2,2] q = {1, 2, 3, 4}, float[2] s = {0.5, 0.25}", "w = DequantizeLinear <axis = 0> (q, s)"),
        (
            "int4[4,2] q = {33, 67, 101, 135}, float[2,2] s = {0.5, 0.25, 1, 2}",
            "d = DequantizeLinear <axis = 0, block_size = 2> (q, s) t = Transpose (d) w = MatMul (t, d)",
        ),
        (
            "int8[2,2] q = {1, 2, 3, 4}, float16 s = {0.5}",
            "d = DequantizeLinear (q, s) w = Cast <to = 1> (d)",
        ),
        (
            "uint8[2,2] q = {1, 2, 3, 4}, float s = {0.5}",
            "d = DequantizeLinear (q, s) w = Transpose <perm = [1, 0]> (d)",
        ),
        (
            "int8[4] q = {1, 2, 3, 4}, float s = {0.5}, int64[2] k = {2, 2}",
            "d = DequantizeLinear (q, s) w = Reshape (d, k)",
        ),
        ("float8e4m3fn[2,2] q = {1, 2, 3, 4}, float s = {0.5}", "w = DequantizeLinear (q, s)"),
    ];
    for (constants, body) in bodies {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[N,2] x) => (float[N,2] y) < {constants} > {{ {body} y = MatMul (x, w) }}"
        );
        assert_eq!(count(&simplified(&text, ""), "DequantizeLinear"), 1, "{body}");
    }
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[N,2] x) => (float[N,2] y) < int8[2,2] q = {1, 2, 3, 4}, float s = {0.5} > {
            w = DequantizeLinear (q, s) y = MatMul (x, w) }";
    assert_eq!(count(&simplified(text, "--fold-quantized"), "DequantizeLinear"), 0);
}

/// The summary has a sentence about the nodes that stay for one reason.
#[test]
fn nodes_that_stay_have_a_reason() {
    let (mut constants, mut nodes) = ("float s = {0.5}".to_owned(), String::new());
    for index in 0..8 {
        constants.push_str(&format!(", int8[2,2] q{index} = {{1, 2, 3, {index}}}"));
        nodes.push_str(&format!("w{index} = DequantizeLinear (q{index}, s)\n"));
        nodes.push_str(&format!("h{} = MatMul (h{index}, w{index})\n", index + 1));
    }
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[N,2] h0) => (float[N,2] h8) < {constants} > {{ {nodes} }}"
    );
    let folder = Folder::with("in.onnxtxt", text);
    let reason = "it converts a weight in a narrow format to the type in which its users compute";
    let text = format!("8 nodes stay, each because {reason}, such as `");
    onnx(&folder, "simplify in.onnxtxt").exits(0).says(&text);
    onnx(&folder, "simplify in.onnxtxt --brief").exits(0).lacks("nodes stay");
}

/// A constant that another use keeps is not replaced by a copy.
#[test]
fn shared_weights_stay_shared() {
    let weights = (0..600).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    for (op, what) in [("Transpose", "Transpose (e)"), ("Cast", "Cast <to = 11> (e)")] {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]>
            g (int64[N] i) => (float[N,20] h, T y) < float[30,20] e = {{{weights}}} > {{
                h = Gather (e, i)
                t = {what}
                y = Identity (t)
            }}"
        )
        .replace("T y", if op == "Cast" { "double[30,20] y" } else { "float[20,30] y" });
        assert_eq!(count(&simplified(&text, ""), op), 1);
    }
    // What one number describes stays described.
    let text = "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[300,300] x) => (float[300,300] y) < int64[2] s = {300, 300} > {
            z = ConstantOfShape <value = float[1] {2.5}> (s)
            y = Pow (z, x)
        }";
    let found = simplified(text, "");
    assert!(found.len() < 1000, "{found}");
}

/// `Pow`, which runtimes look for in a normalization, and the factor that closes an activation.
#[test]
fn patterns_of_runtimes_stay() {
    let text = "<ir_version: 8, opset_import: [\"\": 13]>
        g (float[N,8] x) => (float[N,8] y) < float two = {2}, float e = {1e-5} > {
            m = ReduceMean <axes = [-1]> (x)
            d = Sub (x, m)
            p = Pow (d, two)
            v = ReduceMean <axes = [-1]> (p)
            w = Add (v, e)
            s = Sqrt (w)
            y = Div (d, s)
        }";
    assert_eq!(count(&simplified(text, ""), "Pow"), 1);
}

/// Initializers that are inputs block edits, since callers can give other values: one note says so, and how to allow them.
#[test]
fn values_that_callers_can_give_are_named_once() {
    let text = "<ir_version: 3, opset_import: [\"\": 8]>
        g (float[2] x, float[2] a = {1, 1}, float[2] b = {0, 0}) => (float[2] y) {
            p = Mul (x, a)
            y = Add (p, b)
        }";
    let folder = Folder::with("in.onnxtxt", text);
    let told = onnx(&folder, "simplify in.onnxtxt").exits(0).told();
    assert_eq!(told.matches("no-initializer-inputs").count(), 1, "{told}");
}

/// Values of unknown operators have sizes that nothing tells; proofs choose them.
#[test]
fn edits_next_to_unknown_sizes_are_proved() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>
        g (string[N] x) => (string[N] y) {
            a = Identity (x)
            b = my.Join (a, x)
            c = StringConcat (b, x)
            y = Identity (c)
        }";
    assert_eq!(count(&simplified(text, "--prove"), "Identity"), 0);
}
