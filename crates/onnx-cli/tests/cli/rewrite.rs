//! `onnx rewrite`.

use serde_json::Value;

use crate::run::{Folder, onnx, onnx_with};

/// Two identities, a sum of constants that rounds, and a twin.
const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N] x) => (float[N] y) <float a = {0.1}, float b = {0.3}> {
   ["first"] h = Identity (x)
   ["second"] k = Identity (h)
   ["sum"] s = Div (a, b)
   ["one"] p = Exp (k)
   ["two"] q = Exp (k)
   r = Add (p, q)
   y = Mul (r, s)
}
"#;

/// A size that is known only under a guard.
const GUARDED: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N] x, float[M] z) => (float[A] y) <int64[1] one = {1}, int64[1] all = {2147483647}> {
   a = Slice (x, one, all)
   s = Shape (a)
   e = Exp (a)
   t = Shape (e)
   c = ConstantOfShape (s)
   d = ConstantOfShape (t)
   y = Add (c, d)
}
"#;

fn text_of(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.get(name)).unwrap()
}

#[test]
fn nothing_is_written_without_an_output() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass no-identities").exits(0);
    assert!(run.told().contains("2 edits") && run.told().contains("7 -> 5 nodes"), "{}", run.told());
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    assert_eq!(text_of(&folder, "in.onnxtxt"), MODEL);
}

#[test]
fn passes_run_in_order_and_what_they_did_is_reported() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let args = "rewrite in.onnxtxt --pass no-identities,unique-subexpressions -o out.onnxtxt";
    let run = onnx(&folder, &format!("{args} -v")).exits(0);
    assert!(run.told().contains("no-identities: 2 edits, -2 nodes"), "{}", run.told());
    assert!(run.told().contains("unique-subexpressions: 1 edit, -1 nodes"), "{}", run.told());
    let text = text_of(&folder, "out.onnxtxt");
    assert!(!text.contains("Identity") && text.matches("Exp (").count() == 1, "{text}");
    let json = onnx(&folder, &format!("{args} --force --format json")).exits(0).json();
    let model = &json["result"]["models"][0];
    assert_eq!(model["nodes"]["before"], 7);
    assert_eq!(model["nodes"]["after"], 4);
    assert_eq!(model["edits"], 3);
    // Passes that others rely on are in the list.
    let names: Vec<&str> =
        model["passes"].as_array().unwrap().iter().map(|pass| pass["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["no-identities", "sorted", "unique-subexpressions"]);
}

#[test]
fn the_journal_has_every_edit() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities --prove --journal edits.json").exits(0);
    let journal: Value = serde_json::from_slice(&folder.get("edits.json")).unwrap();
    let edits = journal["edits"].as_array().unwrap();
    assert_eq!(edits.len(), 2, "{journal}");
    for (edit, source) in edits.iter().zip(["first", "second"]) {
        assert_eq!(edit["pass"], "no-identities");
        assert_eq!(edit["sources"][0]["op"], "Identity");
        assert_eq!(edit["sources"][0]["name"], source);
        assert_eq!(edit["class"], "exact");
    }
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities --journal dry.json --dry-run").exits(0);
    assert_eq!(folder.list(), ["edits.json", "in.onnxtxt"]);
}

#[test]
fn the_journal_replaces_no_other_file() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    folder.put("other.onnxtxt", MODEL);
    let files = ["in.onnx", "other.onnxtxt"];
    let before = files.map(|name| folder.get(name));
    for name in files {
        for args in ["", "-o out.onnx ", "--force -o out.onnx "] {
            if args.contains("--force") && name == "other.onnxtxt" {
                continue;
            }
            onnx(&folder, &format!("rewrite in.onnx --pass no-identities {args}--journal {name}")).exits(2);
        }
    }
    for args in ["-o new.onnx --journal new.onnx", "--report r.json --journal r.json", "--journal -"] {
        let run = onnx(&folder, &format!("rewrite in.onnx --pass no-identities {args}")).exits(2);
        assert!(
            run.told().contains("`--journal` takes the name of a file that is not the input"),
            "{}",
            run.told()
        );
    }
    assert!(files.map(|name| folder.get(name)) == before);
    assert!(!folder.list().contains(&"new.onnx".to_owned()));
}

#[test]
fn exact_edits_do_not_round() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass folded-constants -o out.onnxtxt").exits(0);
    assert!(run.told().contains("7 -> 6 nodes"), "{}", run.told());
    // A division rounds to nearest everywhere: the bits are the same, and so the edit is exact.
    let exact = onnx(&folder, "rewrite in.onnxtxt --pass folded-constants --exact -o exact.onnxtxt").exits(0);
    assert!(exact.told().contains("7 -> 6 nodes"), "{}", exact.told());
    let rounding = MODEL.replace("Div (a, b)", "Pow (a, b)");
    folder.put("pow.onnxtxt", rounding);
    let run = onnx(&folder, "rewrite pow.onnxtxt --pass folded-constants").exits(0);
    assert!(run.told().contains("7 -> 6 nodes"), "{}", run.told());
    let run = onnx(&folder, "rewrite pow.onnxtxt --pass folded-constants --exact -v").exits(0);
    assert!(
        run.told().contains("class rounding are not allowed") && run.told().contains("7 -> 7 nodes"),
        "{}",
        run.told()
    );
}

#[test]
fn edits_that_depend_on_guards_are_made_on_request() {
    let folder = Folder::with("in.onnxtxt", GUARDED);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass known-elements -vv").exits(0);
    assert!(
        run.told().contains("known under guards only") && run.told().contains("0 edits"),
        "{}",
        run.told()
    );
    onnx(&folder, "rewrite in.onnxtxt --pass known-elements --assume guards -o out.onnxtxt").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("onnx.pass.assumed.0") && text.contains("1 <= N"), "{text}");
    assert_eq!(text.matches("Shape (").count(), 3, "{text}");
}

#[test]
fn proofs_are_counted_and_can_be_required() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities").exits(0).says("2 not compared by value");
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities --prove").exits(0).says("2 edits (2 proved)");
    onnx(&folder, "rewrite in.onnxtxt --pass folded-constants --prove").exits(0).says("1 edit (1 tested)");
}

/// A graph with an operator that a runtime lacks.
const HARD_SWISH: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N] x) => (float[N] z) { y = HardSwish (x)  z = HardSwish (y) }
"#;

/// Replaces the operator by others, which costs more.
const WITHOUT_HARD_SWISH: &str = "rule hardswish-away: rounding
from (x) => (y) { y = HardSwish (x) }
to (x) => (y) {
    h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)
    y = Mul (x, h)
}
";

#[test]
fn rules_that_a_user_names_are_applied_whatever_they_cost() {
    let folder = Folder::with("in.onnxtxt", HARD_SWISH);
    folder.put("r.onnxrules", WITHOUT_HARD_SWISH);
    onnx(&folder, "rewrite in.onnxtxt --rules r.onnxrules --prove -o out.onnxtxt")
        .exits(0)
        .says("2 edits (2 tested)");
    let text = text_of(&folder, "out.onnxtxt");
    assert!(!text.contains("HardSwish") && text.matches("HardSigmoid").count() == 2, "{text}");
    let check = onnx(&folder, "check r.onnxrules --notes").exits(0);
    assert!(
        check.out.contains("note[ONNX6005]") && check.out.contains("onnx rewrite --rules"),
        "{}",
        check.out
    );
    onnx(&folder, "simplify in.onnxtxt --rules r.onnxrules")
        .exits(1)
        .says("`onnx rewrite --rules FILE` applies");
}

/// A rule whose right side has its left side in it, and two rules that are each other's inverse, are applied once to each node
/// of the model, in whatever number of rounds.
#[test]
fn rules_that_make_their_own_left_side_end() {
    let folder = Folder::with(
        "in.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[N] x) => (float[N] z) { y = Neg (x)  z = Neg (y) }",
    );
    folder.put(
        "r.onnxrules",
        "rule grow: exact from (x) => (y) { y = Neg (x) } to (x) => (y) { y = Neg (Neg (Neg (x))) }",
    );
    for repeat in ["", "--pass no-identities --repeat"] {
        let args = format!("rewrite in.onnxtxt {repeat} --rules r.onnxrules -o out.onnxtxt --force");
        onnx(&folder, &args).exits(0).says("2 edits");
        assert_eq!(text_of(&folder, "out.onnxtxt").matches("Neg (").count(), 6);
    }
    folder.put(
        "two.onnxrules",
        "rule there: rounding from (x) => (y) { y = Neg (x) } to (x) => (y) { y = Sub (0, x) }
         rule back: rounding from (x) => (y) { y = Sub (0, x) } to (x) => (y) { y = Neg (x) }",
    );
    onnx(&folder, "rewrite in.onnxtxt --rules two.onnxrules -o out.onnxtxt --force").exits(0).says("4 edits");
    let text = text_of(&folder, "out.onnxtxt");
    assert_eq!((text.matches("Neg (").count(), text.matches("Sub (").count()), (2, 0), "{text}");
}

#[test]
fn nodes_of_a_plugin_need_a_declaration_or_the_word_of_the_user() {
    let folder = Folder::with(
        "in.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]>
         g (float[N,3,4,4] x, float[3] s, float[3] b) => (float[N,3,4,4] z) { y = InstanceNormalization (x, s, b)  z = Relu (y) }",
    );
    folder.put(
        "r.onnxrules",
        "rule plugin: rounding from (x, s, b) => (y) { y = InstanceNormalization (x, s, b) }
         to (x, s, b) => (y) { y = com.acme.Norm (x, s, b) }",
    );
    let args = "rewrite in.onnxtxt --rules r.onnxrules -o out.onnxtxt --force";
    let refused = onnx(&folder, args).exits(0);
    assert!(
        refused.told().contains("0 edits") && refused.told().contains("of which nothing says"),
        "{}",
        refused.told()
    );
    assert!(
        refused.told().contains("`--accept-untested`") && refused.told().contains("--ops FILE"),
        "{}",
        refused.told()
    );
    onnx(&folder, &format!("{args} --accept-untested")).exits(0).says("1 edit (1 not compared by value)");
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("\"com.acme\": 1") && text.contains("com.acme.Norm (x, s, b)"), "{text}");
    folder.put(
        "acme.textproto",
        "magic: \"ONNXOPSET\"\nir_version: 10\ndomain: \"com.acme\"\nopset_version: 3\n\
         operator { op_type: \"Norm\" since_version: 1 status: STABLE }\n",
    );
    let formal = |name: &str| format!(r#"{{"name":"{name}","type":"T"}}"#);
    let signatures = |deterministic: bool| {
        let inputs = [formal("x"), formal("s"), formal("b")].join(",");
        format!(
            r#"{{"format":"onnx-signatures-1","domain":"com.acme","opset_version":3,"operators":[{{"name":"Norm","since_version":1,"inputs":[{inputs}],"outputs":[{}],"types":[{{"variable":"T","allowed":["tensor(float)"]}}],"attributes":[],"deterministic":{deterministic}}}]}}"#,
            formal("y")
        )
    };
    folder.put("acme.signatures.json", signatures(true));
    onnx(&folder, &format!("{args} --ops acme.textproto")).exits(0).says("1 edit");
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("\"com.acme\": 3") && text.contains("com.acme.Norm (x, s, b)"), "{text}");
    // With a proof, its values cannot be compared: no kernel computes it.
    onnx(&folder, &format!("{args} --ops acme.textproto --prove"))
        .exits(0)
        .says("`--accept-untested` makes such edits");
    // What a document declares as random is never made.
    folder.put("acme.signatures.json", signatures(false));
    onnx(&folder, &format!("{args} --ops acme.textproto --accept-untested")).exits(0).says("0 edits");
}

#[test]
fn unknown_passes_are_named() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass no-identities,no-pass -o out.onnx").exits(2);
    assert!(run.told().contains("`no-pass`"), "{}", run.told());
    assert!(run.told().contains("onnx explain --list passes"), "{}", run.told());
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(&folder, "rewrite in.onnxtxt").exits(2).says("--pass");
}

#[test]
fn a_model_is_rewritten_in_place_and_through_streams() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "convert in.onnxtxt -o a.onnx").exits(0);
    let run = onnx_with(&folder, "rewrite - --pass no-identities -o -", &folder.get("a.onnx")).exits(0);
    onnx(&folder, "rewrite a.onnx --pass no-identities --in-place").exits(0);
    assert!(run.bytes == folder.get("a.onnx"));
    onnx(&folder, "rewrite a.onnx --pass no-identities --in-place -o b.onnx").exits(2);
    onnx(&folder, "check --full a.onnx").exits(0);
    assert_eq!(folder.list(), ["a.onnx", "in.onnxtxt"]);
}

#[test]
fn external_weights_are_read_and_written() {
    let list = ["1.5"; 512].join(", ");
    let model = format!(
        r#"<ir_version: 10, opset_import: ["": 20]>
g (float[512] x) => (float[512] y) <float[512] a = {{{list}}}, float[512] b = {{{list}}}> {{
   h = Identity (x)
   p = Add (h, a)
   y = Mul (p, b)
}}
"#
    );
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "convert in.onnxtxt -o a.onnx --weights external=a.data").exits(0);
    let args = "rewrite a.onnx --pass unique-constants,no-identities --weights external=b.data";
    onnx(&folder, &format!("{args} -o b.onnx")).exits(0);
    assert_eq!(folder.list(), ["a.data", "a.onnx", "b.data", "b.onnx", "in.onnxtxt"]);
    // One of the equal tensors is left.
    assert!(folder.get("b.data").len() < folder.get("a.data").len());
    onnx(&folder, "check --full b.onnx").exits(0);
    onnx(&folder, "rewrite a.onnx --pass no-identities -o c.onnx --weights embed").exits(0);
    onnx(&folder, "check --full c.onnx").exits(0);
}

#[test]
fn only_the_selected_nodes_are_edited() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass no-identities --only first -o out.onnxtxt").exits(0);
    assert!(run.told().contains("1 edit") && run.told().contains("7 -> 6 nodes"), "{}", run.told());
    let text = text_of(&folder, "out.onnxtxt");
    assert!(!text.contains("first") && text.contains("second"), "{text}");
    // Both sources of an edit must be selected.
    let args = "rewrite in.onnxtxt --pass unique-subexpressions";
    onnx(&folder, &format!("{args} --only one")).exits(0).says("7 -> 7 nodes");
    onnx(&folder, &format!("{args} --only one --only two")).exits(0).says("7 -> 6 nodes");
    onnx(&folder, &format!("{args} --only main()")).exits(0).says("7 -> 6 nodes");
    onnx(&folder, &format!("{args} --only none")).exits(2).says("no node of the model matches `none`");
    onnx(&folder, &format!("{args} --only near(")).exits(2).says("of the selector");
    // A pass that edits the model as a whole is refused, unless it has nothing to do.
    onnx(&folder, "rewrite in.onnxtxt --pass short-names --only one")
        .exits(0)
        .says("edits the model as a whole");
}

#[cfg(unix)]
#[test]
fn bisection_names_the_first_edit_after_which_a_command_fails() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let search = |script: &str| {
        folder.put("try.sh", script);
        onnx(
            &folder,
            "rewrite in.onnxtxt --pass no-identities,unique-subexpressions --bisect -- sh try.sh {}",
        )
    };
    // The second edit removes the last `Identity`.
    let run = search("grep -q Identity \"$1\"").exits(0);
    let found = "edit 2 is the first after which the command fails: no-identities at `Identity` (second)";
    assert!(run.told().contains(found), "{}", run.told());
    assert_eq!(search("grep -q Identity \"$1\"").exits(0).told(), run.told());
    let run = search("exit 0").exits(0);
    assert!(
        run.told().contains("the command succeeds on the input, and after 3 edits (2 trials)"),
        "{}",
        run.told()
    );
    let run = search("exit 1").exits(2);
    assert!(
        run.told().contains("the command fails on the model as it is before the first edit"),
        "{}",
        run.told()
    );
    let run = search("exit 125").exits(2);
    assert!(run.told().contains("cannot try the model"), "{}", run.told());
    let run = search("exit 127").exits(2);
    assert!(run.told().contains("the command `sh` ended with status 127"), "{}", run.told());
    let run =
        onnx(&folder, "rewrite in.onnxtxt --pass no-identities --bisect -- no-such-program {}").exits(2);
    assert!(run.told().contains("the command `no-such-program` cannot be run"), "{}", run.told());
    // No model is left behind.
    assert_eq!(folder.list(), ["in.onnxtxt", "try.sh"]);
}

#[test]
fn the_journal_has_the_sources_of_every_node() {
    let folder = Folder::with("in.onnxtxt", TWO_STEPS);
    let args =
        "rewrite in.onnxtxt --pass known-elements --journal edits.json --journal-metadata -o out.onnxtxt";
    onnx(&folder, args).exits(0);
    let journal: Value = serde_json::from_slice(&folder.get("edits.json")).unwrap();
    let nodes = journal["nodes"].as_array().unwrap();
    let made: Vec<&Value> = nodes.iter().filter(|node| !node["pass"].is_null()).collect();
    assert_eq!(made.len(), 1, "{journal}");
    assert_eq!(made[0]["op"], "Reshape");
    assert_eq!(made[0]["pass"], "known-elements");
    assert_eq!(made[0]["sources"][0]["name"], "reshape");
    let kept = nodes.iter().find(|node| node["op"] == "Exp").unwrap();
    assert_eq!((kept["pass"].is_null(), &kept["sources"][0]["name"]), (true, &Value::from("exp")));
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("known-elements") && text.contains("Reshape reshape"), "{text}");
}

/// A `Reshape` whose operand becomes a constant.
const TWO_STEPS: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N,4] x) => (float[N,2,2] y) <int64[2] two = {2,2}, int64[1] zero = {0}, int64[1] one = {1}> {
   ["exp"] e = Exp (x)
   ["shape"] s = Shape (e)
   ["batch"] n = Slice (s, zero, one)
   ["concat"] c = Concat <axis = 0> (n, two)
   ["reshape"] y = Reshape (e, c)
}
"#;

#[test]
fn opposite_and_misspelled_passes_are_refused() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass value-info,no-value-info --repeat").exits(2);
    assert!(
        run.told().contains("the passes `value-info` and `no-value-info` undo each other"),
        "{}",
        run.told()
    );
    onnx(&folder, "rewrite in.onnxtxt --pass value-info,no-value-info").exits(0);
    let run = onnx(&folder, "rewrite in.onnxtxt --pass no-identites").exits(2);
    assert!(run.told().contains("did you mean `no-identities`?"), "{}", run.told());
}

/// A rule that is wrong for -0.0: its edit is refused, and its claim is a file that reproduces the refutation.
#[test]
fn a_refuted_edit_has_a_reproducer() {
    let folder = Folder::with("in.onnxtxt", ADDS_ZERO);
    let rule = "rule add-zero: exact\nfrom (x) => (y) { y = Add (x, 0.0) }\nto (x) => (x) {}\n";
    folder.put("wrong.onnxrules", rule);
    let args = "rewrite in.onnxtxt --rules wrong.onnxrules --prove --reproducers refuted";
    let run = onnx(&folder, &format!("{args} -o out.onnxtxt")).exits(0);
    assert!(
        run.told()
            .contains("the edit `add-zero` at Add (first) was refused (values): the results differ; x = "),
        "{}",
        run.told()
    );
    assert!(!run.told().contains("\\n"), "{}", run.told());
    assert!(text_of(&folder, "out.onnxtxt").contains("Add ("));
    let run = onnx(&folder, "check refuted/add-zero-1.onnxtxt --prove").exits(1);
    assert!(
        run.out.contains("ONNX6005") && run.out.contains("is -0.0 before and 0.0 after")
            || run.out.contains("is 0.0 before and -0.0 after"),
        "{}",
        run.out
    );
    // Without the defect, the claim holds.
    let fixed = text_of(&folder, "refuted/add-zero-1.onnxtxt").replace("Add (", "Sub (");
    folder.put("fixed.onnxtxt", &fixed);
    onnx(&folder, "check fixed.onnxtxt --prove").exits(0);
    onnx(&folder, "check in.onnxtxt --prove").exits(2).says("not a claim");
    // Nothing is written without the option, or in a dry run.
    let other = Folder::with("in.onnxtxt", ADDS_ZERO);
    other.put("wrong.onnxrules", rule);
    onnx(&other, &format!("{args} --dry-run")).exits(0);
    assert_eq!(other.list(), ["in.onnxtxt", "wrong.onnxrules"]);
}

const ADDS_ZERO: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[3] x) => (float[3] y) <float zero = {0}> {
   [first] s = Add (x, zero)
   y = Neg (s)
}
"#;

/// Any JSON object is the user's, unless it is a journal or a report.
#[test]
fn journals_and_reports_replace_only_their_like() {
    let model = "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[2] y) { y = Neg (x) }";
    let folder = Folder::with("m.onnxtxt", model);
    folder.put("package.json", "{\"name\": \"mine\"}");
    for command in [
        "simplify m.onnxtxt --journal package.json",
        "simplify m.onnxtxt --report package.json --format json",
        "infer m.onnxtxt --report package.json --format json",
    ] {
        onnx(&folder, command).exits(2).says("package.json");
    }
    assert_eq!(folder.get("package.json"), b"{\"name\": \"mine\"}");
    for _ in 0..2 {
        onnx(&folder, "simplify m.onnxtxt --journal journal.json --report r.json --format json").exits(0);
    }
}
