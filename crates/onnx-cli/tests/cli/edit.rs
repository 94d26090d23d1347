//! `onnx edit`.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[1, 4] x, float[1, 4] z) => (float[1, 4] y) <int64[3] s = {1, 2, 2}, int64[2] t = {1, 4}, float[4] w = {1, 2, 3, 4}> {
   ["/layer.0/add"] a = Add (x, z)
   ["/layer.0/split"] b = Reshape (a, s)
   ["/layer.1/join"] c = Reshape (b, t)
   ["/layer.1/mul"] y = Mul (c, w)
}"#;

#[test]
fn a_batch_is_freed_and_bound() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "edit in.onnxtxt --set x[0],z[0]=batch -o free.onnx")
        .exits(0)
        .says("changed 1 -> batch, 2 constants");
    let text = onnx(&folder, "print free.onnx").exits(0).out;
    assert!(text.contains("(float[batch,4] x, float[batch,4] z) => (float[batch,4] y)"), "{text}");
    onnx(&folder, "compare in.onnxtxt free.onnx --rtol 0 --atol 0").exits(0);
    onnx(&folder, "run free.onnx --set batch=5").exits(0);
    onnx(&folder, "edit free.onnx --set batch=3 -o three.onnx").exits(0).says("batch = 3");
    let text = onnx(&folder, "print three.onnx").exits(0).out;
    assert!(text.contains("(float[3,4] x, float[3,4] z) => (float[3,4] y)"), "{text}");
    onnx(&folder, "edit in.onnxtxt --set x[0],z[0]=3 -o other.onnx").exits(0);
    onnx(&folder, "compare three.onnx other.onnx --rtol 0 --atol 0").exits(0);
}

#[test]
fn inputs_that_keep_the_old_size_are_named() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "edit in.onnxtxt --set x[0]=batch").exits(0);
    assert!(run.err.contains("other inputs keep the old size: `z[0]` = 1"), "{}", run.err);
    let report = onnx(&folder, "edit in.onnxtxt --set x[0]=3 --format json").exits(0).json();
    let fixed = serde_json::json!([{ "axis": "z[0]", "size": 1 }]);
    assert_eq!(report["result"]["models"][0]["fixed_axes"], fixed);
    let run = onnx(&folder, "edit in.onnxtxt --set x[0],z[0]=batch").exits(0);
    assert!(!run.err.contains("keep the old size"), "{}", run.err);
}

#[test]
fn a_size_beyond_a_limit_has_advice() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[seq, 2] x) => (float[a, 2] y)
        <float[3, 2] table = {1, 2, 3, 4, 5, 6}, int64[1] zero = {0}> {
            s = Shape <end = 1> (x) t = Slice (table, zero, s, zero) y = Add (x, t)
        }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "edit in.onnxtxt --set seq=4")
        .exits(1)
        .says("requires seq <= 3")
        .says("choose a size that the node allows")
        .lacks("simplify");
}

#[test]
fn what_fixes_a_size_is_named() {
    let text = MODEL
        .replace("float[4] w = {1, 2, 3, 4}", "float[1, 4] v = {1, 2, 3, 4}")
        .replace("(c, w)", "(c, v)");
    let folder = Folder::with("in.onnxtxt", text.replace("Mul (c, v)", "Concat <axis = 1> (c, z)"));
    let run = onnx(&folder, "edit in.onnxtxt --set x[0]=batch -o free.onnx").exits(1);
    assert!(run.err.contains("ONNX4031") && run.err.contains("/layer.1/mul"), "{}", run.err);
    assert!(run.err.contains("free them together"), "{}", run.err);
    assert!(!folder.path().join("free.onnx").exists());
    onnx(&folder, "edit in.onnxtxt --set q[0]=batch")
        .exits(2)
        .says("no input is called `q`")
        .says("the inputs are `x`");
    onnx(&folder, "edit in.onnxtxt --set x[2]=batch").exits(2).says("does not exist");
    onnx(&folder, "edit in.onnxtxt --set batch").exits(2).says("is not DIM=SIZE");
}

#[test]
fn names_change_by_name_pattern_and_prefix() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "edit in.onnxtxt --rename x=ids --rename /layer.*/**=/block.\\1/\\2 -o new.onnx")
        .exits(0)
        .says("changed 5 names");
    let text = onnx(&folder, "print new.onnx").exits(0).out;
    assert!(text.contains("float[1,4] ids") && text.contains("/block.1/mul"), "{text}");
    onnx(&folder, "edit new.onnx --rename ids=x --rename /block.*/**=/layer.\\1/\\2 -o old.onnx").exits(0);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("old.onnx"), read("in.onnx"));
    onnx(&folder, "edit in.onnxtxt --prefix p_ --names-of inputs,outputs -o p.onnx").exits(0);
    let text = onnx(&folder, "print p.onnx").exits(0).out;
    assert!(text.contains("(float[1,4] p_x, float[1,4] p_z) => (float[1,4] p_y)"), "{text}");
    onnx(&folder, "edit in.onnxtxt --rename x=y --rename w=s")
        .exits(1)
        .says("ONNX4030")
        .says("`w` cannot be called `s`");
    // Many elements with one new name are one finding.
    let run = onnx(&folder, "edit in.onnxtxt --rename **=x --names-of values,inputs,initializers").exits(1);
    assert_eq!(run.err.matches("ONNX4030").count(), 1, "{}", run.err);
    assert!(run.err.contains("more values"), "{}", run.err);
    onnx(&folder, "edit in.onnxtxt --rename q=r").exits(2).says("matches `q`");
    onnx(&folder, "edit in.onnxtxt --rename q").exits(2).says("is not OLD=NEW");
}

#[test]
fn inputs_and_outputs_change() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "edit in.onnxtxt --add-output b --inputs z,x,w -o new.onnx")
        .exits(0)
        .says("changed inputs (+`w`), outputs (+`b`)");
    let text = onnx(&folder, "print new.onnx").exits(0).out;
    assert!(text.contains("=> (float[1,4] y, float[1,2,2] b)"), "{text}");
    onnx(&folder, "edit in.onnxtxt --remove-input z").exits(1).says("is used and has no default");
    onnx(&folder, "run in.onnxtxt -o feeds --seed 1").exits(0);
    onnx(&folder, "edit in.onnxtxt --to-input w --add-input q=float[N,2] -o q.onnx").exits(0);
    onnx(&folder, "edit q.onnx --remove-input q -o r.onnx").exits(0).says("changed inputs (-`q`)");
    let text = onnx(&folder, "print r.onnx").exits(0).out;
    assert!(text.contains("(float[1,4] x, float[1,4] z, float[4] w)"), "{text}");
    onnx(&folder, "edit in.onnxtxt --remove-output x").exits(2).says("is not an output");
    onnx(&folder, "edit in.onnxtxt --add-input q").exits(2).says("is not NAME=TYPE");
    for (ty, wrong, right) in [
        ("float12[N]", "float12", "float16"),
        ("float32[N,2]", "float32", "float"),
        ("seq(flot[N])", "flot", "float"),
        ("map(int64,in32[x])", "in32", "int32"),
    ] {
        onnx(&folder, &format!("edit in.onnxtxt --add-input q={ty}"))
            .exits(2)
            .says(&format!("the type is not known: `{wrong}`"))
            .says(&format!("did you mean `{right}`?"));
    }
}

#[test]
fn descriptions_change_and_nothing_is_written_without_an_output() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "edit in.onnxtxt --metadata author=me --producer-name tool -o new.onnx")
        .exits(0)
        .says("2 descriptions");
    let text = onnx(&folder, "print new.onnx").exits(0).out;
    assert!(text.contains("author") && text.contains("tool"), "{text}");
    onnx(&folder, "edit new.onnx --remove-metadata author --in-place").exits(0);
    assert!(!onnx(&folder, "print new.onnx").exits(0).out.contains("author"));
    onnx(&folder, "edit in.onnxtxt").exits(0).says("nothing changes").says("would write");
    onnx(&folder, "edit in.onnxtxt --metadata author").exits(2).says("is not K=V");
}

#[test]
fn what_is_wrong_with_a_size_or_a_name_is_said() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    for (size, message) in [
        ("x[-1]=5", "axes count from 0"),
        ("x[0]=99999999999999999999", "`x[0]=99999999999999999999`: the number is too large for a size"),
        ("x[0]=-1", "`x[0]=-1`: a size cannot be negative"),
    ] {
        onnx(&folder, &format!("edit in.onnxtxt --set {size}")).exits(2).says(message);
    }
    let map = r#"<ir_version: 10, opset_import: ["": 21]>
    g (map(int64, float[2]) m, float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }"#;
    folder.put("map.onnxtxt", map);
    onnx(&folder, "edit map.onnxtxt --set m[0]=N").exits(2).says("`m` is not a tensor");
    onnx(&folder, "edit in.onnxtxt --rename /layer.0/ad=sum")
        .exits(2)
        .says("no name of the model matches `/layer.0/ad`")
        .says("did you mean `/layer.0/add`?");
    let called = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
    g (float[4] x) => (float[4] y) { y = my.F (x) }
    <domain: "my", opset_import: ["": 21]> F (p) => (q) { q = Neg (p) }"#;
    folder.put("called.onnxtxt", called);
    onnx(&folder, "edit called.onnxtxt --rename my.F=Relu").exits(1).says("an operator has this name");
}

#[test]
fn an_ambiguous_reshape_is_named_with_advice() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4, 1, 8] x) => (float[4, 8] y) <int64[2] s = {4, 8}> { ["flat"] y = Reshape (x, s) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "edit in.onnxtxt --set x[1]=N -o out.onnx")
        .exits(1)
        .says("Reshape `flat` has a constant target that does not determine which axis gets the freed size: axes 0 and 1")
        .says("compute the target from `Shape`");
    assert!(!folder.path().join("out.onnx").exists());
}

#[test]
fn setting_a_key_of_the_metadata_leaves_one_entry() {
    let text = r#"<ir_version: 10, opset_import: ["": 21], metadata_props: ["stride": "1", "a": "b", "stride": "32"]>
    g (float[N] x) => (float[N] y) { y = Relu (x) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "check in.onnxtxt").exits(1).says("ONNX2020");
    // The value of the last entry, that of the first, and another one.
    for value in ["32", "1", "64"] {
        onnx(&folder, &format!("edit in.onnxtxt --metadata stride={value} -o out.onnx --force"))
            .exits(0)
            .says("changed 1 description");
        onnx(&folder, "check out.onnx").exits(0);
        let text = onnx(&folder, "print out.onnx").exits(0).out;
        assert!(text.contains(&format!("[\"stride\": \"{value}\", \"a\": \"b\"]")), "{text}");
    }
    onnx(&folder, "edit out.onnx --metadata stride=64").exits(0).says("nothing changes");
}

/// The names of sizes are written into the metadata once, however often.
#[test]
fn inferred_names_of_sizes_are_written_once() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[N] x) => (float[M] y) { y = Concat <axis = 0> (x, x) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "infer in.onnxtxt -o once.onnx --symbols identifiers --merge override").exits(0);
    onnx(&folder, "infer once.onnx -o twice.onnx --symbols identifiers --merge override").exits(0);
    onnx(&folder, "check twice.onnx").exits(0);
}

#[test]
fn a_layout_and_a_type_of_one_output_are_both_changed() {
    let folder = Folder::with(
        "in.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[n,3,h,w] a) => (float[n,3,h,w] y) { y = Sub (a, a) }",
    );
    onnx(
        &folder,
        "edit in.onnxtxt --layout y=NHWC --type y=double --layout a=NHWC --type a=double -o out.onnxtxt",
    )
    .exits(0);
    let text = std::fs::read_to_string(folder.path().join("out.onnxtxt")).unwrap();
    assert!(text.contains("g (double[n,h,w,3] a) => (double[n,h,w,3] y)"), "{text}");
    onnx(&folder, "check out.onnxtxt --full").exits(0);
    for arguments in ["--layout y=NHWC --layout y=NCHW", "--layout a=NHWC --layout a=NHWC"] {
        let run = onnx(&folder, &format!("edit in.onnxtxt {arguments} -o twice.onnxtxt"));
        assert_ne!(run.code, 0, "{arguments}: {}", run.out);
    }
}

#[test]
fn types_and_layouts_are_changed_by_selectors() {
    let folder = Folder::with(
        "in.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]>
         g (float[N,3,4,4] \"past.0.key\", float[N,3,4,4] \"past.1.key\", float[N,3,4,4] x)
         => (float[N,3,4,4] \"present.0\", float[N,3,4,4] y) {
            \"past.inner\" = Add (\"past.0.key\", x)
            \"present.0\" = Relu (\"past.inner\")
            y = Add (\"past.1.key\", x)
         }",
    );
    let types = "edit in.onnxtxt --type past.**=float16 --type present.*=double -o out.onnxtxt";
    onnx(&folder, types).exits(0).says("`past.0.key` to float16").says("`past.1.key` to float16");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    let has = |part: &str| text.contains(part);
    assert!(has("float16[N,3,4,4] \"past.0.key\"") && has("float16[N,3,4,4] \"past.1.key\""), "{text}");
    assert!(
        has("float[N,3,4,4] x") && has("double[N,3,4,4] \"present.0\"") && has("float[N,3,4,4] y"),
        "{text}"
    );
    onnx(&folder, "edit in.onnxtxt --layout past.*.key=NHWC -o out.onnxtxt --force")
        .exits(0)
        .says("2 layouts");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert_eq!(text.matches("float[N,4,4,3] \"past.").count(), 2, "{text}");
    for option in
        ["--type past.inner=float16", "--layout past.inner=NHWC", "--type Add()=float16 --remove-output y"]
    {
        onnx(&folder, &format!("edit in.onnxtxt {option}"))
            .exits(2)
            .says("is not an input or output of the model");
    }
    onnx(&folder, "edit in.onnxtxt --type y=int64").exits(0).says("a cast that cuts off fractions");
}

const ACTIVATED: &str = r#"<ir_version: 9, opset_import: ["": 19, "com.acme": 1]>
g (float[N, 4] x) => (float[N, 4] y) {
   ["/act"] a = LeakyRelu <alpha = 0.5> (x)
   y = Relu (a)
}"#;

#[test]
fn operators_of_nodes_change_and_the_checker_decides() {
    let folder = Folder::with("in.onnxtxt", ACTIVATED);
    onnx(&folder, "edit in.onnxtxt --operator /act=Elu --operator Relu()=Tanh -o out.onnxtxt")
        .exits(0)
        .says("changed 2 operators");
    let text = onnx(&folder, "print out.onnxtxt").exits(0).out;
    assert!(text.contains("a = Elu <alpha = 0.5> (x)") && text.contains("y = Tanh (a)"), "{text}");
    // An attribute of the former operator has to go, and one of the new operator is known.
    onnx(&folder, "edit in.onnxtxt --operator /act=HardSigmoid --attribute /act.beta=0.25 -o out.onnxtxt")
        .exits(0);
    onnx(&folder, "edit in.onnxtxt --operator /act=Tanh -o none.onnxtxt").exits(1).says("ONNX2401");
    onnx(&folder, "edit in.onnxtxt --operator /act=Tanh --attribute /act.alpha= -o out.onnxtxt").exits(0);
    onnx(&folder, "edit in.onnxtxt --operator Relu()=Gelu -o none.onnxtxt")
        .exits(1)
        .says("version 19 of the ONNX operators has no `Gelu`")
        .says("it exists since version 20");
    onnx(&folder, "edit in.onnxtxt --operator Relu()=Gelu --import 20 -o out.onnxtxt").exits(0);
    onnx(&folder, "edit in.onnxtxt --operator Relu()=com.acme.Own:fast --ir-version 10 -o own.onnxtxt")
        .exits(0);
    assert!(onnx(&folder, "print own.onnxtxt").exits(0).out.contains("y = com.acme.Own:fast (a)"));
    onnx(&folder, "edit in.onnxtxt --operator Relu() -o none.onnxtxt").exits(2).says("is not SEL=OP");
    onnx(&folder, "edit in.onnxtxt --operator Conv()=Gelu -o none.onnxtxt").exits(2).says("`Conv()`");
    assert!(!folder.path().join("none.onnxtxt").exists());
    let report = onnx(&folder, "edit in.onnxtxt --operator Relu()=Tanh --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["operators"], 1);
}

#[test]
fn the_version_of_the_format_is_edited_too() {
    let folder = Folder::with("in.onnxtxt", ACTIVATED);
    onnx(&folder, "edit in.onnxtxt --ir-version 10 -o out.onnxtxt").exits(0).says("the IR version to 10");
    assert!(onnx(&folder, "print out.onnxtxt").exits(0).out.contains("ir_version: 10"));
    onnx(&folder, "edit in.onnxtxt --ir-version 99 -o none.onnxtxt")
        .exits(1)
        .says("cannot have IR version 99");
    assert!(!folder.path().join("none.onnxtxt").exists());
    onnx(&folder, "simplify in.onnxtxt --ir-version 8")
        .exits(2)
        .says("`onnx convert --ir-version`")
        .says("`onnx edit --ir-version`");
}

/// The layers of a model have the same reasons: one line says so.
#[test]
fn reasons_of_equal_nodes_are_one_line() {
    let layers: String = (0..12).map(|at| format!("q{at} = Squeeze (x, k)\n")).collect();
    let names: Vec<String> = (0..12).map(|at| format!("q{at}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[1, 4] x) => (float[1, 4] y) <int64[1] k = {{0}}> {{ {layers} s = Sum ({}) y = Unsqueeze (s, k) }}",
        names.join(", ")
    );
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "edit in.onnxtxt --set x[0]=batch -o none.onnxtxt").exits(1);
    assert!(run.err.matches("error[ONNX4031]").count() <= 4, "{}", run.err);
    assert!(run.err.contains("other nodes of the operator)"), "{}", run.err);
}

/// A tensor in the place of an input with variable sizes leaves the other inputs one size.
#[test]
fn tensors_in_the_place_of_inputs_fix_sizes() {
    let folder = Folder::with(
        "in.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[N, 2] x, float[N, 2] z) => (float[N, 2] y) { y = Add (x, z) }"#,
    );
    folder.put("z.npy", crate::run_models::floats("3, 2", &[0.5; 6]));
    onnx(&folder, "edit in.onnxtxt --remove-input z=z.npy -o out.onnxtxt")
        .exits(0)
        .says("the tensor in the place of `z` fits N=3 only")
        .says("`--set N=3` in addition");
    let run = onnx(&folder, "edit in.onnxtxt --remove-input z=z.npy --set N=3 -o fixed.onnxtxt").exits(0);
    assert!(!run.err.contains("in the place of"), "{}", run.err);
    assert!(onnx(&folder, "print fixed.onnxtxt").exits(0).out.contains("(float[3,2] x)"));
}

/// A branch may never run, and is still meant to be valid.
#[test]
fn branches_are_not_made_invalid() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (bool c, float[N, 8] x) => (y) <float[8, 4] w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}> {
   y = If (c) <then_branch = t () => (a) { a = MatMul (x, w) }, else_branch = e () => (b) { b = MatMul (x, w) }>
}
"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "edit in.onnxtxt --operator MatMul()=Add -o out.onnxtxt").exits(1).says("ONNX3021");
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(&folder, "edit in.onnxtxt --type x=bogus -o out.onnxtxt")
        .exits(2)
        .says("an element type: `x=int32`");
}

#[test]
fn sizes_that_become_one_are_named() {
    let text =
        MODEL.replace("float[1, 4]", "float[batch, seq]").replace("c = Reshape (b, t)", "c = Identity (a)");
    let text = text.replace("   [\"/layer.0/split\"] b = Reshape (a, s)\n", "");
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "edit in.onnxtxt --set batch=seq -o out.onnxtxt")
        .exits(0)
        .says("`batch` and `seq` are one size now, `seq`: the model runs only if they are equal");
    onnx(&folder, "edit in.onnxtxt --set batch=n -o other.onnxtxt").exits(0).lacks("one size");
}
