//! Models for the tests, written as protobuf text.

use onnx_formats::from_text;

/// The bytes of a text, whose fields are in the order of their numbers: those of a canonical writer.
fn encode(text: &str) -> Vec<u8> {
    from_text(text).unwrap().to_vec()
}

/// A text that stands for `count` zero bytes in protobuf text.
fn zeros(count: usize) -> String {
    "\\000".repeat(count)
}

/// `y = Relu (x + w)`, where `w` has 2,000 bytes.
pub(crate) fn small() -> Vec<u8> {
    encode(&format!(
        r#"ir_version: 8 producer_name: "test" producer_version: "1.0"
        graph {{
          node {{ input: "x" input: "w" output: "sum" name: "add" op_type: "Add" }}
          node {{ input: "sum" output: "y" name: "relu" op_type: "Relu" }}
          name: "main"
          initializer {{ dims: 500 data_type: 1 name: "w" raw_data: "{}" }}
          input {{ name: "x" type {{ tensor_type {{ elem_type: 1
            shape {{ dim {{ dim_param: "batch" }} dim {{ dim_value: 500 }} }} }} }} }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1
            shape {{ dim {{ dim_param: "batch" }} dim {{ dim_value: 500 }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#,
        zeros(2000)
    ))
}

/// A model whose only node is of an operator that does not exist.
pub(crate) fn wrong() -> Vec<u8> {
    encode(
        r#"ir_version: 8
        graph {
          node { input: "x" output: "y" op_type: "Rellu" }
          name: "main"
          input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
          output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
        }
        opset_import { version: 17 }"#,
    )
}

/// A model with an attribute of two values, which reading reports as ONNX1003.
pub(crate) fn odd() -> Vec<u8> {
    encode(
        r#"ir_version: 8
        graph {
          node { input: "x" output: "y" op_type: "Elu" attribute { name: "alpha" f: 1.5 i: 3 type: FLOAT } }
          name: "main"
          input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
          output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
        }
        opset_import { version: 17 }"#,
    )
}

/// A model with a function, nested graphs, a custom domain, constants of several types and no known release.
pub(crate) fn rich() -> Vec<u8> {
    encode(
        r#"ir_version: 8 domain: "com.example" model_version: 3 doc_string: "A model.\nOf two lines."
        graph {
          node { input: "x" output: "t" op_type: "Twice" domain: "local" }
          node { input: "t" output: "u" op_type: "Twice" domain: "local" }
          node { output: "c" op_type: "Constant"
            attribute { name: "value" t { data_type: 9 int32_data: 1 } type: TENSOR } }
          node { input: "c" output: "v" op_type: "If"
            attribute { name: "then_branch" g { node { input: "u" output: "p" op_type: "Relu" }
              name: "then" output { name: "p" } } type: GRAPH }
            attribute { name: "else_branch" g { node { input: "u" output: "q" op_type: "Gelu" }
              name: "else" output { name: "q" } } type: GRAPH } }
          node { input: "v" output: "y" op_type: "Fancy" domain: "com.vendor" }
          name: "main"
          initializer { dims: 3 data_type: 10 name: "half" raw_data: "\000\000\000\000\000\000" }
          input { name: "x" type { tensor_type { elem_type: 1
            shape { dim { dim_param: "2*n + 1" } dim { } dim { dim_value: 4 } } } } }
          output { name: "y" type { sequence_type { elem_type { tensor_type { elem_type: 7 } } } } }
        }
        opset_import { version: 17 } opset_import { domain: "local" version: 1 }
        opset_import { domain: "com.vendor" version: 2 }
        metadata_props { key: "task" value: "testing" }
        functions { name: "Twice" input: "a" output: "b"
          node { input: "a" input: "a" output: "b" op_type: "Add" } opset_import { version: 17 } domain: "local" }"#,
    )
}

/// A model whose names act on terminals.
pub(crate) fn hostile() -> Vec<u8> {
    encode(
        r#"ir_version: 8 producer_name: "\033]0;owned\007" doc_string: "\033[2J\330\234\302\255"
        graph {
          node { input: "\033[2J" output: "y\033[31m" name: "\033[0m\330\234\342\200\256" op_type: "Bell\007" domain: "\033[1m" }
          name: "\033[2Jmain"
          input { name: "\033[2J" type { tensor_type { elem_type: 1 shape { dim { dim_param: "\033[7m\342\200\213" } } } } }
          output { name: "y\033[31m" }
        }
        opset_import { version: 17 } opset_import { domain: "\033[1m" version: 2 }
        metadata_props { key: "\033[31m" value: "\342\200\256\330\234\342\201\246\357\273\277" }"#,
    )
}

/// A model whose weights are in the file `location`.
pub(crate) fn external(location: &str) -> Vec<u8> {
    encode(&format!(
        r#"ir_version: 8
        graph {{
          node {{ input: "w" output: "y" op_type: "Relu" }}
          name: "main"
          initializer {{ dims: 500 data_type: 1 name: "w"
            external_data {{ key: "location" value: "{location}" }} data_location: EXTERNAL }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 500 }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#
    ))
}

/// `y = x + w + v`, where all elements of `w` and `v` are the same, and `w` has 2,000 bytes and `v` 400.
pub(crate) fn filled(value: f32) -> Vec<u8> {
    let bytes: String = value.to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    encode(&format!(
        r#"ir_version: 8 producer_name: "test"
        graph {{
          node {{ input: "x" input: "w" output: "sum" op_type: "Add" }}
          node {{ input: "sum" input: "v" output: "y" op_type: "Concat" attribute {{ name: "axis" i: 0 type: INT }} }}
          name: "main"
          initializer {{ dims: 500 data_type: 1 name: "w" raw_data: "{}" }}
          initializer {{ dims: 100 data_type: 1 name: "v" raw_data: "{}" }}
          input {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 500 }} }} }} }} }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 600 }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#,
        bytes.repeat(500),
        bytes.repeat(100)
    ))
}

/// A model with a tensor of `count` floats, 1.0 each, in `raw_data` or `float_data`, with `data_location` written out,
/// or with all fields in `reversed` order.
pub(crate) fn stored(form: &str, count: usize) -> Vec<u8> {
    let raw = format!("raw_data: \"{}\"", "\\000\\000\\200?".repeat(count));
    let data = match form {
        "float_data" => "float_data: 1 ".repeat(count),
        "data_location" => format!("{raw} data_location: DEFAULT"),
        _ => raw,
    };
    let head = format!("dims: {count} data_type: 1 name: \"w\"");
    let tensor = match form {
        "reversed" => format!("{data} name: \"w\" data_type: 1 dims: {count}"),
        _ => format!("{head} {data}"),
    };
    encode(&format!(
        r#"ir_version: 8
        graph {{
          node {{ input: "w" output: "y" op_type: "Relu" }}
          name: "main"
          initializer {{ {tensor} }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: {count} }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#
    ))
}

/// `y = Reshape (x, shape)`.
pub(crate) fn reshape() -> Vec<u8> {
    encode(
        r#"ir_version: 8
        graph {
          node { input: "x" input: "shape" output: "y" op_type: "Reshape" }
          name: "main"
          initializer { dims: 1 data_type: 7 name: "shape" raw_data: "\377\377\377\377\377\377\377\377" }
          input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } }
          output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 6 } } } } }
        }
        opset_import { version: 17 }"#,
    )
}

/// A model whose weights are `count` floats in `w.data`.
#[cfg(target_os = "linux")]
pub(crate) fn external_of(count: u64) -> Vec<u8> {
    encode(&format!(
        r#"ir_version: 8
        graph {{
          node {{ input: "w" output: "y" op_type: "Relu" }}
          name: "main"
          initializer {{ dims: {count} data_type: 1 name: "w" data_location: EXTERNAL
            external_data {{ key: "location" value: "w.data" }} }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: {count} }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#
    ))
}

/// A model with many operators and inputs.
pub(crate) fn wide() -> Vec<u8> {
    let inputs: String = (0..100)
        .map(|i| format!(r#"input {{ name: "x{i}" type {{ tensor_type {{ elem_type: 1 }} }} }} "#))
        .collect();
    let nodes: String =
        (0..100).map(|i| format!(r#"node {{ input: "x{i}" output: "y{i}" op_type: "Op{i}" }} "#)).collect();
    encode(&format!(
        r#"ir_version: 8 graph {{ {nodes} name: "wide" {inputs} }} opset_import {{ version: 17 }}"#
    ))
}

/// A valid model in which each name, text and key contains `text`, which makes them different from one another.
#[expect(clippy::too_many_lines, reason = "one model, each field once")]
pub(crate) fn named(text: &str) -> Vec<u8> {
    let octal = |text: &str| text.bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let n = |prefix: &str| octal(&format!("{prefix}{text}"));
    let entry = |prefix: &str| {
        format!("metadata_props {{ key: \"{}\" value: \"{}\" }}", n(&format!("{prefix}k")), n(prefix))
    };
    let ty = format!(
        r#"type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_param: "{}" denotation: "{}" }} }} }} denotation: "{}" }}"#,
        n("dim"),
        n("axis"),
        n("kind")
    );
    encode(&format!(
        r#"ir_version: 10 producer_name: "{producer}" producer_version: "{version}" domain: "{domain}" doc_string: "{doc}"
        graph {{
          node {{ input: "{x}" input: "{w}" output: "{a}" name: "{node}" op_type: "Add" doc_string: "{doc}" {of_node} }}
          node {{ input: "{a}" output: "{b}" name: "{custom}" op_type: "{op}" domain: "{set}" doc_string: "{doc}"
            attribute {{ name: "{attribute}" s: "{value}" type: STRING doc_string: "{doc}" }} }}
          node {{ input: "{b}" output: "{y}" name: "{call}" op_type: "{function}" domain: "{own}" }}
          node {{ input: "{a}" output: "{i}" name: "{node}2" op_type: "Identity" }}
          node {{ input: "{a}" output: "{i}2" name: "{node}3" op_type: "Identity" }}
          name: "{graph}"
          initializer {{ dims: 1 data_type: 1 name: "{w}" doc_string: "{doc}" float_data: 1 {of_tensor} }}
          doc_string: "{doc}"
          input {{ name: "{x}" {ty} doc_string: "{doc}" }}
          output {{ name: "{y}" {ty} }}
          output {{ name: "{i}" {ty} }}
          output {{ name: "{i}2" {ty} }}
          value_info {{ name: "{a}" {ty} doc_string: "{doc}" {of_value} }}
          value_info {{ name: "{b}" {ty} }}
          quantization_annotation {{ tensor_name: "{a}"
            quant_parameter_tensor_names {{ key: "SCALE_TENSOR" value: "{w}" }} }}
          {of_graph}
        }}
        opset_import {{ version: 21 }}
        opset_import {{ domain: "{set}" version: 1 }}
        opset_import {{ domain: "{own}" version: 1 }}
        {of_model}
        functions {{
          name: "{function}" input: "{p}" output: "{q}"
          node {{ input: "{p}" output: "{q}" name: "{inner}" op_type: "Neg" }}
          doc_string: "{doc}" opset_import {{ version: 21 }} domain: "{own}"
          value_info {{ name: "{q}" {ty} }}
          {of_function}
        }}"#,
        producer = n("producer"),
        version = n("version"),
        domain = n("domain"),
        doc = n("doc"),
        x = n("x"),
        w = n("w"),
        a = n("a"),
        b = n("b"),
        y = n("y"),
        i = n("i"),
        node = n("node"),
        custom = n("custom"),
        op = n("Op"),
        set = n("set"),
        attribute = n("attribute"),
        value = n("value"),
        call = n("call"),
        function = n("Function"),
        own = n("own"),
        graph = n("graph"),
        p = n("p"),
        q = n("q"),
        inner = n("inner"),
        of_model = entry("model"),
        of_graph = entry("graph"),
        of_node = entry("node"),
        of_tensor = entry("tensor"),
        of_value = entry("value"),
        of_function = entry("function"),
    ))
}
