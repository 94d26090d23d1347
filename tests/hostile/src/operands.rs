//! Operands and attributes that once brought other tools down, each under the number of its report: sizes that overflow,
//! divisors that are 0, ranks that are too large or too small, and inputs that are not there.
//!
//! `edges_in_every_attribute_and_operand_are_survived` of onnx-shape-infer tries every boundary value in every
//! attribute and operand of every operator; this module contains the named cases, with the diagnostics of each.

use super::Case;

const MIN: &str = "-9223372036854775808";
const MAX: &str = "9223372036854775807";

/// A model of these nodes at operator set 18, with inputs of several kinds.
fn model(nodes: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 18]>\n\
         g (float[2,3,4,4] x, float[N] v, float s, int64[K] k, float u, seq(float[2]) q, float[0] e, bool c) => (z)\n\
         <int64[2] big = {{{MAX}, {MAX}}}, int64[2] least = {{{MIN}, -1}}, int64 zero = {{0}}, int64[0] none = {{}}>\n\
         {{\n{nodes}\n}}\n"
    )
}

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        named().into_iter().map(|(name, nodes, found)| Case::text(name, model(&nodes), found)).collect();
    cases.extend(ranks());
    cases
}

/// Cases by the number of their report: their nodes, and what inference finds.
fn named() -> Vec<(String, String, &'static [&'static str])> {
    let mut cases: Vec<(String, String, &'static [&'static str])> = Vec::new();
    let mut add =
        |id: &str, nodes: String, found: &'static [&'static str]| cases.push((id.to_owned(), nodes, found));
    let quiet: &[&str] = &[];
    let size: &[&str] = &["size-too-large"];
    let attribute: &[&str] = &["attribute-value-not-allowed"];
    let (axis, rank): (&[&str], &[&str]) = (&["axis-beyond-rank"], &["rank-not-allowed"]);
    for (name, nodes, found) in [
        ("Reshape", "z = Reshape (x, big)".to_owned(), quiet),
        ("Tile", format!("r = Constant <value_ints = [{MAX}, {MAX}, 2, 2]> () z = Tile (x, r)"), size),
        (
            "Pad",
            format!("p = Constant <value_ints = [{MAX}, 0, 0, 0, {MAX}, 0, 0, 0]> () z = Pad (x, p)"),
            size,
        ),
        ("ConstantOfShape", "z = ConstantOfShape (big)".to_owned(), quiet),
        ("Expand", "z = Expand (s, big)".to_owned(), quiet),
        ("Div", "z = Div (least, least)".to_owned(), quiet),
        (
            "Conv",
            format!("z = Conv <pads = [{MAX}, {MAX}, {MAX}, {MAX}], strides = [{MAX}, 1]> (x, x)"),
            size,
        ),
        (
            "MaxPool",
            format!("z = MaxPool <kernel_shape = [{MIN}, {MAX}], strides = [0, {MIN}]> (x)"),
            attribute,
        ),
        ("Col2Im", "z = Col2Im (x, big, big)".to_owned(), rank),
        ("Gather", format!("i = Constant <value_int = {MIN}> () z = Gather <axis = {MIN}> (x, i)"), axis),
        ("DepthToSpace", format!("z = DepthToSpace <blocksize = {MIN}> (x)"), attribute),
        ("Flatten", format!("z = Flatten <axis = {MIN}> (x)"), axis),
    ] {
        add(&format!("#7822-{name}"), nodes, found);
    }
    add("#8322-split-0", "a, b = Split <num_outputs = 0> (x) z = Relu (a)".to_owned(), attribute);
    add("#8322-blocksize-0", "z = DepthToSpace <blocksize = 0> (x)".to_owned(), attribute);
    add("#8322-stride-0", "z = MaxPool <kernel_shape = [1, 1], strides = [0, 0]> (x)".to_owned(), attribute);
    add("#8322-group-0", "z = Conv <group = 0> (x, x)".to_owned(), attribute);
    add("#8322-range-0", "z = Range (zero, zero, zero)".to_owned(), &["input-value-not-allowed"]);
    add("#8322-mod-0", "z = Mod (big, zero)".to_owned(), quiet);
    add("#7879-scalar-einsum", "z = Einsum <equation = \"ij,jk->ik\"> (s, s)".to_owned(), rank);
    add("#7055-rank-too-small", "z = Conv (v, v)".to_owned(), rank);
    add("#7302-missing-type", "y = Op () z = MatMul (y, y)".to_owned(), quiet);
    add("#7916-too-few-inputs", "z = Gemm (v)".to_owned(), rank);
    add("#8305-no-inputs", "z = Concat <axis = 0> ()".to_owned(), &["part-missing"]);
    add("#6180-sequence", "z = Relu (q)".to_owned(), quiet);
    add("#6185-empty-names", "z = Clip (\"\", \"\", \"\")".to_owned(), quiet);
    add("#6211-shadow", "z = If (c) <then_branch = t () => (x) <float x = {1}> { w = Relu (x) }, else_branch = e () => (x) { x = Relu (v) }>".to_owned(), quiet);
    add(
        "#7738-slice-0",
        "a = Constant <value_ints = [5]> () b = Constant <value_ints = [2]> () z = Slice (e, a, b)"
            .to_owned(),
        quiet,
    );
    add("#8177-onehot-empty-depth", "z = OneHot (k, none, v)".to_owned(), &["sizes-differ"]);
    add("#8177-two-where-one", "z = OneHot (k, big, v)".to_owned(), &["sizes-differ"]);
    cases
}

/// Ranks that are taken from lengths: a shape of 10^9 axes in a few bytes.
fn ranks() -> Vec<Case> {
    let mut cases = Vec::new();
    for rank in ["1024", "1025", "100000000", "1000000000"] {
        let model = |nodes: &str| {
            format!(
                "<ir_version: 10, opset_import: [\"\": 18]>\n\
                 g (int64[{rank}] r, float s, float[2] x) => (z) {{ {nodes} }}\n"
            )
        };
        for (name, nodes) in [
            ("Reshape", "z = Reshape (x, r)"),
            ("Expand", "z = Expand (x, r)"),
            ("ConstantOfShape", "z = ConstantOfShape (r)"),
            ("Tile", "z = Tile (x, r)"),
            ("Unsqueeze", "z = Unsqueeze (x, r)"),
            ("Col2Im", "z = Col2Im (x, r, r)"),
            ("Resize", "z = Resize (x, \"\", \"\", r)"),
            ("RandomNormal", "z = RandomNormal <shape = [9223372036854775807, 9223372036854775807]> ()"),
        ] {
            let found: &[&str] = match (name, rank) {
                ("Col2Im", _) => &["rank-not-allowed"],
                ("Tile" | "Resize", "1024") => &["input-value-not-allowed"],
                _ => &[],
            };
            cases.push(Case::text(format!("rank{rank}-{name}"), model(nodes), found));
        }
    }
    cases.push(Case::text("expand4TB", "<ir_version: 10, opset_import: [\"\": 18]>\ng (float s) => (float[] z) { d = Constant <value_ints = [1048576, 1048576]> () z = Expand (s, d) }", &[]));
    cases.push(Case::text("cos4TB", "<ir_version: 10, opset_import: [\"\": 18]>\ng (float s) => (float[] z) { d = Constant <value_ints = [1048576, 1048576]> () y = ConstantOfShape (d) z = Cos (y) }", &[]));
    cases
}
