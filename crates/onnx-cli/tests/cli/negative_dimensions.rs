//! A negative number in the place of a size, as old exporters write it, is a size that is not known.

use crate::run::{Folder, onnx};

/// A model that flattens all but the first axis, with these first sizes of the input and the output.
fn model(input: &str, output: &str) -> String {
    format!(
        r#"ir_version: 8
        graph {{
          node {{ input: "x" output: "s" op_type: "Shape" }}
          node {{ input: "s" input: "i" output: "n" op_type: "Gather" }}
          node {{ input: "n" input: "c" output: "t" op_type: "Concat" attribute {{ name: "axis" i: 0 type: INT }} }}
          node {{ input: "x" input: "t" output: "y" op_type: "Reshape" }}
          name: "g"
          initializer {{ dims: 1 data_type: 7 int64_data: 0 name: "i" }}
          initializer {{ dims: 1 data_type: 7 int64_data: 8 name: "c" }}
          input {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ {input} }} dim {{ dim_value: 2 }} dim {{ dim_value: 4 }} }} }} }} }}
          output {{ name: "y" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ {output} }} dim {{ dim_value: 8 }} }} }} }} }}
        }}
        opset_import {{ version: 17 }}"#
    )
}

fn folder(number: i64) -> Folder {
    let size = format!("dim_value: {number}");
    let folder = Folder::with("in.textproto", model(&size, &size));
    onnx(&folder, "convert in.textproto -o in.onnx").exits(0);
    folder
}

#[test]
fn every_command_reads_it_as_unknown() {
    for number in [-1, -7, i64::MIN] {
        let folder = folder(number);
        let open = Folder::with("in.textproto", model("", ""));
        onnx(&open, "convert in.textproto -o in.onnx").exits(0);
        onnx(&folder, "check in.onnx").exits(0).says("ONNX2903").says(&number.to_string());
        for command in [
            "run in.onnx --seed 1",
            "compare in.onnx in.onnx",
            "cost in.onnx --set x[0]=3",
            "infer in.onnx",
            "simplify in.onnx -o out.onnx --force",
            "edit in.onnx --set x[0]=N -o out.onnx --force",
            "edit in.onnx --set x[0]=5 -o out.onnx --force",
            "extract in.onnx --outputs y -o out.onnx --force",
            "convert in.onnx --opset 18 -o out.onnx --force",
        ] {
            let expected = onnx(&open, command);
            let found = onnx(&folder, command).exits(0);
            assert_eq!(found.out, expected.exits(0).out, "{command}");
        }
    }
}

#[test]
fn it_is_written_as_it_was_read() {
    let folder = folder(-1);
    onnx(&folder, "convert in.onnx -o text.onnxtxt").exits(0);
    let text = onnx(&folder, "print in.onnx --at main()").exits(0).out;
    assert!(text.contains("(float[-1,2,4] x) => (float[-1,8] y)"), "{text}");
    onnx(&folder, "convert text.onnxtxt -o again.onnx").exits(0);
    assert!(folder.get("again.onnx") == folder.get("in.onnx"));
}

#[test]
fn check_and_infer_remove_it() {
    let folder = folder(-1);
    folder.put("fixed.onnx", folder.get("in.onnx"));
    onnx(&folder, "check fixed.onnx --fix").exits(0).says("ONNX2903");
    let text = onnx(&folder, "print fixed.onnx --at main()").exits(0).out;
    assert!(text.contains("(float[?,2,4] x) => (float[?,8] y)"), "{text}");
    onnx(&folder, "infer in.onnx -o inferred.onnx").exits(0);
    for file in ["fixed.onnx", "inferred.onnx"] {
        assert!(!onnx(&folder, &format!("check {file}")).exits(0).err.contains("ONNX2903"));
    }
}
