//! Text to graph to text, and to bytes and back.

use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_ir::{Model, Origin};
use onnx_text::{ParseOptions, PrintOptions, parse_function, parse_graph, parse_model, parse_node};
use onnx_text::{print_function, print_graph, print_model, print_node};

fn bytes(model: &Model) -> bytes::Bytes {
    encode(model, &EncodeOptions::default()).unwrap().into_bytes()
}

/// A text in its canonical form: it is printed as it was, also after a way through a file.
#[track_caller]
fn check(text: &str) {
    let model = parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    model.verify().unwrap();
    let full = PrintOptions::full();
    assert_eq!(print_model(&model, &full).unwrap().text, text);
    let file = bytes(&model);
    let read = decode(file.clone(), &DecodeOptions::default()).unwrap().model;
    assert_eq!(bytes(&read), file);
    assert_eq!(print_model(&read, &full).unwrap().text, text);
}

/// A node in its canonical form.
#[track_caller]
fn check_node(text: &str) {
    let (model, node) =
        parse_node(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print_node(&model, node, &PrintOptions::full()).unwrap().text, format!("{text}\n"));
    let file = bytes(&model);
    let read = decode(file.clone(), &DecodeOptions::default()).unwrap().model;
    assert_eq!(bytes(&read), file);
    let node = read.nodes(read.main_graph()).next().unwrap();
    assert_eq!(print_node(&read, node, &PrintOptions::full()).unwrap().text, format!("{text}\n"));
}

#[test]
fn headers() {
    check("g () => () {\n}\n");
    check("<\n   graph: none\n>\n");
    check(
        r#"<
   ir_version: 0,
   opset_import: ["": 17, "ai.onnx.ml": 3, "": -1],
   producer_name: "a \"b\" \\",
   producer_version: "",
   domain: "d",
   model_version: 9223372036854775807,
   doc_string: "two
lines, a tab	and a bell \x{07}",
   metadata_props: ["k": "v", "k": "w", "": ""],
   configuration: [{name: "pod", num_devices: 2, device: ["a", "b"]}, {name: "", num_devices: 0}, {}],
   unknown: ["a00601", "aa06021234"]
>
g (x) => (x) {
}
"#,
    );
}

#[test]
fn types() {
    for ty in [
        "float",
        "float[]",
        "float[1]",
        "int4[N,?,-3,\"a b\"]",
        "float6e3m2[0]",
        "float[N @\"DATA_BATCH\",3 @\"DATA_CHANNEL\"] @{denotation: \"IMAGE\"}",
        "?",
        "?0",
        "?0[]",
        "?0[2,?]",
        "seq(string)",
        "seq()",
        "optional(seq(float[2] @{denotation: \"x\"}) @{denotation: \"y\"})",
        "optional()",
        "map(int64, float[N])",
        "map(string)",
        "map(?0, ?)",
        "sparse_tensor(double[3,4])",
        "sparse_tensor(?0[])",
        "opaque()",
        "opaque(a.b)",
        "opaque(a.b, c)",
        "opaque(\"a-b\", \"\")",
    ] {
        check(&format!("g ({ty} x, y, \"float\") => ({ty} x) {{\n}}\n"));
        check_node(&format!("y = Cast <to = {ty}> ()"));
    }
}

#[test]
fn attributes() {
    for attribute in [
        "a = 1",
        "a = -9223372036854775808",
        "a = 1.0",
        "a = 0.1",
        "a = 1e-45",
        "a = 3.4028235e38",
        "a = -0.0",
        "a = inf",
        "a = -inf",
        "a = nan",
        "a = -nan",
        "a = nan(0x7f800001)",
        "a = nan(0xffc00001)",
        "a = \"text\"",
        "a = \"\\x{ff}\\x{fe}\"",
        "a = \"π\"",
        "a = \"\\x{e280ae}\"",
        "a = [1, 2]",
        "a: ints = []",
        "a: floats = []",
        "a = [1.0, nan, 2.5]",
        "a = [\"x\", \"\"]",
        "a: strings = []",
        "a: int = @b",
        "a = @b",
        "a: ints = @\"b c\"",
        "a = none",
        "a: tensor = none",
        "a @{type: 77} = none",
        "a @{type: 0} = none",
        "a @{type: ?} = 1",
        "a @{type: 1} = 1",
        "a @{type: 77} = @b",
        "\"a b\" = 1",
        "a @{doc_string: \"d\", present: [8], unknown: [\"f80601\"]} = [1]",
        "a = [float[2] {1, 2}, int8[1] n {3}]",
        "a: tensors = []",
        "a = [float[2], seq(int64)]",
        "a: type_protos = []",
        "a: graphs = []",
        "a: sparse_tensors = []",
        "a = sparse_tensor[3,4] = {values: float[2] {1, 2}, indices: int64[2] {0, 5}}",
        "a = [sparse_tensor = {}, sparse_tensor[3] = {} @{present: [3]}]",
    ] {
        check_node(&format!("y = Op <{attribute}> (x)"));
    }
}

#[test]
fn tensors() {
    for tensor in [
        "float {1}",
        "float[2] {1, 0.5}",
        "float[2] {}",
        "float[2] name {nan, -nan}",
        "float[2] \"a b\" {-0.0, nan(0x7fc00001)}",
        "double[2] {0.1, nan(0x7ff8000000000001)}",
        "int32[2] {-2147483648, 2147483647}",
        "int8[2] {-128, 127}",
        "bool[2] {0, 1}",
        "uint32[1] {4294967295}",
        "uint64[1] {18446744073709551615}",
        "int64[1] {-9223372036854775808}",
        "string[3] {\"a\", \"\", \"\\x{ff}\"}",
        "complex64[1] {1, -2}",
        "complex128[1] {1, -2}",
        "float16[5] {1.0, 65504.0, inf, nan(0x7e01), nan}",
        "bfloat16[2] {1.0, -0.0}",
        "float8e4m3fn[3] {448.0, nan, -nan}",
        "float8e4m3fnuz[2] {240.0, nan}",
        "float8e5m2[2] {-inf, 57344.0}",
        "float8e8m0[2] {1.0, nan}",
        "float6e2m3[2] {7.5, -0.125}",
        "float4e2m1[3] {18, 255}",
        "int4[3] {240, 15}",
        "uint2[5] {27, 3}",
        "float[2] = raw {1, 2.5}",
        "int16[2] = raw {-1, 32767}",
        "uint16[1] = raw {65535}",
        "float16[2] = raw {0.5, -inf}",
        "int4[3] = raw {-8, 7, -1}",
        "uint4[3] = raw {0, 15, 1}",
        "int2[5] = raw {-2, 1, 0, -1, 1}",
        "float4e2m1[3] = raw {6.0, -0.0, 0.5}",
        "float6e3m2[3] = raw {28.0, -0.0625, 0.0}",
        "bool[3] = raw {0, 1, 255}",
        "float[2] = raw \"0000803f\"",
        "float[0] = raw \"\"",
        "int4[1] = raw \"f1\"",
        "string[1] = raw \"6162\"",
        "float[2] = float_data {1}",
        "float[2] = float_data {}",
        "float[2] = int64_data {1, 2, 3}",
        "int8[1] = int32_data {300}",
        "int64[1] = int64_data \"8100\"",
        "?77[2] {}",
        "?77[2] = raw \"00\"",
        "float[2] = [\"location\": \"w.bin\", \"offset\": \"0\", \"x\": \"\"]",
        "float[2] = []",
        "float[2] {1, 2} @{doc_string: \"d\", metadata_props: [\"k\": \"v\"], segment: {begin: 0, end: 2}}",
        "float[2] {1, 2} @{external_data: [\"location\": \"x\"], present: [8, 12, 14]}",
        "float[2] {1, 2} @{packed_dims: 1, unpacked_data: 1, unknown: [\"f80601\"]}",
        "float {1} @{segment: {}}",
    ] {
        check_node(&format!("y = Constant <value = {tensor}> ()").replace("[8, 12, 14]", "[8,12,14]"));
    }
}

#[test]
fn nodes() {
    for node in [
        "y = Relu (x)",
        "[n] y = Relu (x)",
        "[\"a/b:0\"] y, \"\", \"z 1\" = ai.onnx.ml.Op (\"\", x, \"\")",
        " = Op ()",
        "\"\" =  ()",
        "y = \"a-b\".\"Op\" (x)",
        "y = \"my op\" (x)",
        "y = \"d\".\"\" (x)",
        "y = Op:f32 (x)",
        "y = Op:\"a b\" (x)",
        "y, y = Op (y)",
        "y = Op (x) @{doc_string: \"d\", metadata_props: [\"k\": \"v\"], present: [3,7], unknown: [\"f80601\"]}",
        "y = Op (x) @{metadata_props: [\"k\": \"v\" @{source: \"1201760a016b\"}]}",
        "y = Op (x) @{device_configurations: [{configuration_id: \"pod\", sharding_spec: [{tensor_name: \"x\", device: [0, -1], \
         present: [2], index_to_device_group_map: [{key: -1, value: [1, 2]}], sharded_dim: [{axis: 0, simple_sharding: [{dim: 4, \
         num_shards: 2}, {dim: \"N\", num_shards: 0}, {}]}]}], pipeline_stage: 0}, {}]}",
    ] {
        check_node(node);
    }
}

#[test]
fn graphs() {
    check(
        r#"<
   ir_version: 10
>
"main graph" (
   float[N,3] x @{doc_string: "in", metadata_props: ["k": "v"]},
   int64 n,
   a,
   b,
   c
) => (float[N] y, float[N] y)
<
   float[3] n = {1, 2, 3},
   sparse_tensor[3,4] s = {values: float[2] {1, 2}, indices: int64[2] {0, 5}},
   float[7] y,
   "int64",
   float[2] ghost
> @{doc_string: "g", quantization_annotation: [{tensor_name: "y", quant_parameter_tensor_names: ["SCALE_TENSOR": "s", "K": "none"]}, {}]} {
   y = If (x) <
      then_branch = "float" () => (z) {
         z = Add (x, x)
      },
      else_branch = inner (q) => (outer, x) {
         outer = Add (q, late)
         late = Add (q, q)
      }
   >
}
"#,
    );
}

#[test]
fn functions_and_training() {
    check(
        r#"<
   ir_version: 10,
   opset_import: ["": 17]
>
g (x) => (y) {
   y = local.f (x)
}

@training {
   initialization: init () => (w0) {
      w0 = Zeros ()
   },
   algorithm: step (l) => (w1) {
      w1 = Sub (x, l)
   },
   initialization_binding: ["w": "w0"],
   update_binding: ["w": "w1", "": "" @{present: [1,2]}],
   unknown: ["f80601"]
}

<
   domain: "local",
   overload: "",
   opset_import: ["": 17],
   doc_string: "d",
   metadata_props: ["k": "v"]
>
f <a, "b c", d = 1.0, e: ints = []> (x) => (y)
<
   float[N] t
> @{present: [1], unknown: ["f80601"]} {
   t = Relu <alpha: float = @d> (x)
   y = Relu (t)
}

f2 () => () {
}
"#
        .replace("@{present: [1], unknown", "@{unknown")
        .as_str(),
    );
}

#[test]
fn parts_stand_alone() {
    let options = ParseOptions::default();
    let graph = parse_graph("g (x) => (y) { y = Relu (x) }", &options).unwrap();
    let text = print_graph(&graph, graph.main_graph(), &PrintOptions::default()).unwrap().text;
    assert_eq!(text, "g (x) => (y) {\n   y = Relu (x)\n}\n");
    let (model, function) =
        parse_function("<domain: \"d\"> f <a> (x) => (y) { y = Relu (x) }", &options).unwrap();
    let text = print_function(&model, function, &PrintOptions::default()).unwrap().text;
    assert_eq!(text, "<\n   domain: \"d\"\n>\nf <a> (x) => (y) {\n   y = Relu (x)\n}\n");
}

#[test]
fn nodes_know_their_place() {
    let model =
        parse_graph("g (\"é\") => (y) {\n\n   \"é\" = Relu (x) y = Relu (x)\n}", &ParseOptions::default())
            .unwrap();
    let origins: Vec<_> = model.nodes(model.main_graph()).map(|node| model.node_origin(node)).collect();
    let at = |line, column| Origin::Text { line, column };
    assert_eq!(origins, [at(3, 4), at(3, 19)]);
    let input = model.graph(model.main_graph()).inputs()[0];
    assert_eq!(model.value_origin(input), at(1, 4));
}

#[test]
fn domains_may_be_spelled_in_many_ways() {
    let text = "g (x) => (y) {
        a = one.Op (x)
        [n] b = one.two.Op (a, x)
        c = one . two. Op (b)
        d = .Op (c)
        e = one.two .Op <k = 1> (d)
        f = one.two.Op <k = 1> (e)
        h = one.two.Op:o (f)
        i = \"one.two\".\"Op\" (h)
        j = one. # a word
            Op (i)
        y = Op (j)
    }";
    let model = parse_graph(text, &ParseOptions::default()).unwrap();
    let operators: Vec<_> = model
        .nodes(model.main_graph())
        .map(|node| {
            let node = model.node(node);
            [node.domain(), node.op(), node.overload()].map(|name| model.names()[name].to_owned()).join("|")
        })
        .collect();
    let expected = [
        "one|Op|",
        "one.two|Op|",
        "one.two|Op|",
        "|Op|",
        "one.two|Op|",
        "one.two|Op|",
        "one.two|Op|o",
        "one.two|Op|",
        "one|Op|",
        "|Op|",
    ];
    assert_eq!(operators, expected);
    let inputs: Vec<_> = model
        .nodes(model.main_graph())
        .map(|node| {
            model.node(node).inputs().flatten().map(|input| &model.names()[model.value(input).name()])
        })
        .map(|names| names.collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(inputs.join(" "), "x a,x b c d e f h i j");
}

#[test]
fn people_see_less() {
    let values = vec!["1"; 100].join(", ");
    let text = format!(
        "g () => () <float[100] w = raw {{{values}}}, float[2] v = raw {{1, 2}}, float[0] e = raw \"\"> {{}}"
    );
    let model = parse_graph(&text, &ParseOptions::default()).unwrap();
    let print = |options: &PrintOptions<'_>| print_graph(&model, model.main_graph(), options).unwrap().text;
    let digest = |_: &onnx_types::tensor::Tensor| Some("sha256:00".to_owned());
    let options = PrintOptions::default().with_digest(Some(&digest));
    assert_eq!(
        print(&options),
        "g () => ()\n<\n   float[100] w = {…100 elements, sha256:00},\n   float[2] v = {1, 2},\n   float[0] e = {}\n> {\n}\n"
    );
    let error = parse_graph(print(&options), &ParseOptions::default()).err().unwrap();
    assert_eq!(error.findings().diagnostics()[0].rule.slug, "elided-tensor");
}

/// Where a float is wanted, an integer is one, whatever its size.
#[test]
fn integers_of_any_size_are_floats_where_these_are_wanted() {
    let large = "123456789012345678901234567890";
    for (written, read) in [
        (format!("a = [1.0, {large}]"), vec![1.0, 1.234_567_9e29]),
        ("a : floats = [9223372036854775808]".to_owned(), vec![9.223_372e18]),
        ("a : floats = [-9223372036854775809, 2]".to_owned(), vec![-9.223_372e18, 2.0]),
    ] {
        let text = format!("g (x) => (y) {{ y = Op <{written}> (x) }}");
        let model =
            parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let node = model.nodes(model.main_graph()).next().map(|node| model.node(node));
        let values: Vec<_> =
            node.into_iter().flat_map(|node| node.attributes()).map(|one| one.value().clone()).collect();
        assert_eq!(values, [onnx_ir::AttrValue::Floats(read)], "{text}");
    }
    for written in
        [format!("a = {large}"), format!("a = [1, {large}]"), format!("a : floats = [1{}]", "0".repeat(40))]
    {
        let text = format!("g (x) => (y) {{ y = Op <{written}> (x) }}");
        assert!(parse_model(&text, &ParseOptions::default()).is_err(), "{text}");
    }
}
