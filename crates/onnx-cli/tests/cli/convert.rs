//! `onnx convert`.

use std::io::Read as _;
use std::process::Stdio;

use crate::models;
use crate::run::{Folder, command, onnx, onnx_with};

#[test]
fn round_trips_give_the_same_bytes() {
    for model in [models::small(), models::rich(), models::odd(), models::hostile()] {
        let folder = Folder::with("in.onnx", &model);
        for between in ["model.textproto", "model.json", "model.pbtxt", "model.pb", "model.onnx"] {
            // One of the models is not decoded completely, and still loses nothing.
            let status = i32::from(model == models::odd());
            onnx(&folder, &format!("convert in.onnx -o {between} --keep-going")).exits(status);
            onnx(&folder, &format!("convert {between} -o back.onnx --keep-going")).exits(status);
            assert!(folder.get("back.onnx") == model, "{between}");
        }
    }
}

#[test]
fn files_of_a_directory_have_the_extension_of_their_format() {
    let folder = Folder::with("in/a.onnx", models::small());
    onnx(&folder, "convert in -o out/ --to json").exits(0);
    onnx(&folder, "convert in/a.onnx -o out/ --to=textproto").exits(0);
    onnx(&folder, "convert out/a.json -o again/ --to onnx").exits(0);
    onnx(&folder, "check out/a.json out/a.textproto again/a.onnx").exits(0);
}

#[test]
fn weights_go_out_and_come_back() {
    let model = models::small();
    let folder = Folder::with("in.onnx", &model);
    onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data").exits(0);
    assert_eq!(folder.get("w.data"), [0; 2000]);
    assert!(folder.get("out.onnx").len() < 1000);
    onnx(&folder, "check out.onnx").exits(0);
    onnx(&folder, "convert out.onnx -o back.onnx --weights embed").exits(0);
    assert!(folder.get("back.onnx") == model);
    onnx(&folder, "convert out.onnx -o back.onnx --weights embed --no-map").exits(0);
    assert!(folder.get("back.onnx") == model);
    // In place, over the files that the weights are mapped from.
    onnx(&folder, "convert out.onnx -o out.onnx --weights external=w.data --align 4096").exits(0);
    onnx(&folder, "convert out.onnx -o out.onnx --weights embed").exits(0);
    assert!(folder.get("out.onnx") == model);
    // Through text.
    onnx(&folder, "convert in.onnx -o t.textproto --weights external=t.data").exits(0);
    onnx(&folder, "convert t.textproto -o back.onnx --weights embed").exits(0);
    assert!(folder.get("back.onnx") == model);
}

/// What `--weights embed` restores and what it cannot, as the README lists it.
#[test]
fn inlined_tensors_have_their_elements_in_the_common_form() {
    let out_and_in = |model: &[u8]| {
        let folder = Folder::with("in.onnx", model);
        onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data").exits(0);
        assert!(folder.path().join("w.data").exists());
        onnx(&folder, "convert out.onnx -o back.onnx --weights embed").exits(0);
        folder.get("back.onnx")
    };
    let raw = models::stored("raw_data", 300);
    assert!(out_and_in(&raw) == raw);
    // Nothing in a tensor with external data tells these apart from the common form.
    let default = models::stored("data_location", 300);
    assert!(default != raw && out_and_in(&default) == raw);
    let typed = models::stored("float_data", 300);
    assert!(typed != raw && out_and_in(&typed) == raw);
    // Fields of such a tensor are in the order of their numbers.
    let reversed = models::stored("reversed", 300);
    assert!(reversed != raw && reversed.len() == raw.len() && out_and_in(&reversed) == raw);
    // A tensor that stays in the model keeps its form.
    for form in ["float_data", "data_location"] {
        let folder = Folder::with("in.onnx", models::stored(form, 100));
        onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data").exits(0);
        onnx(&folder, "convert out.onnx -o back.onnx --weights embed").exits(0);
        onnx(&folder, "convert in.onnx -o joined.onnx").exits(0);
        assert!(folder.get("back.onnx") == folder.get("joined.onnx"), "{form}");
    }
}

#[test]
fn moving_shape_operands_is_mentioned() {
    let folder = Folder::with("in.onnx", models::reshape());
    let run = onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data --threshold 0").exits(0);
    assert!(run.err.contains("1 small tensor of integers") && run.err.contains("onnxruntime"), "{}", run.err);
    let run = onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data").exits(0);
    run.says("nothing was moved").says("help: `--threshold SIZE` moves smaller tensors, too");
    // Commands without the option do not name it as theirs.
    for command in ["edit in.onnx --metadata a=b", "simplify in.onnx", "infer in.onnx"] {
        let run = onnx(&folder, &format!("{command} -o other.onnx --weights external=w.data")).exits(0);
        run.says("nothing was moved")
            .says("help: `onnx convert MODEL -o NEW --weights external --threshold SIZE`");
    }
}

#[test]
fn advice_about_incomplete_files_names_options_that_the_command_has() {
    let folder = Folder::with("odd.onnx", models::odd());
    onnx(&folder, "convert odd.onnx -o new.onnx")
        .exits(1)
        .says("`--keep-going` works with what could be decoded");
    for command in [
        "hash odd.onnx",
        "run odd.onnx",
        "diff odd.onnx odd.onnx",
        "compare odd.onnx odd.onnx",
        "weights import odd.onnx --generate -o new.onnx",
    ] {
        let run = onnx(&folder, command).exits(1);
        run.says("help: `onnx convert MODEL -o NEW --keep-going` writes what could be decoded");
    }
}

#[test]
#[cfg(unix)]
fn a_link_out_of_the_directory_is_refused_with_advice_for_users() {
    let folder = Folder::with("w.data", vec![0; 2000]);
    std::fs::create_dir(folder.path().join("m")).unwrap();
    folder.put("m/in.onnx", models::external("w.data"));
    std::os::unix::fs::symlink("../w.data", folder.path().join("m/w.data")).unwrap();
    let run = onnx(&folder, "convert m/in.onnx -o out.onnx --weights embed").exits(2);
    let run = run.says("a symbolic link to a file outside the directory of the model; copy the file there");
    assert!(!run.err.contains("containment"), "{}", run.err);
}

/// One line on standard error tells what was written, unless the user wants errors only.
#[test]
fn what_was_written_is_summarized() {
    let folder = Folder::with("in.onnx", models::small());
    let size = |name: &str| format!("{} B", folder.get(name).len());
    for (args, name, line) in [
        ("convert in.onnx -o out.onnx --weights external=w.data", "out.onnx", "; 2.0 kB in w.data"),
        ("convert in.onnx -o out.json --weights external=v.data", "out.json", "; 2.0 kB in v.data"),
        ("infer out.onnx -o typed.onnx", "typed.onnx", ""),
        ("print out.onnx --full -o out.onnxtxt", "out.onnxtxt", ""),
        ("convert out.onnxtxt -o parsed.onnx", "parsed.onnx", ""),
        ("smith --nodes 2 --seed 3 -o smith.onnx", "smith.onnx", ""),
    ] {
        let run = onnx(&folder, args).exits(0);
        let expected = format!("wrote {name}: ");
        assert!(run.err.starts_with(&expected) && run.err.ends_with(&format!("{line}\n")), "{}", run.err);
        assert!(run.err.contains(&size(name)) || run.err.contains("kB"), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        for quiet in ["-q", "--quiet"] {
            let run = onnx(&folder, &format!("{args} {quiet}")).exits(0);
            assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""), "{args}");
        }
    }
    // Warnings are left out as well, errors are not.
    onnx(&folder, "-q convert in.onnx -o out.onnx --weights external=w.data --threshold 4K").exits(0);
    let warned = onnx(&folder, "convert in.onnx -o x.onnx --weights external=w.data --threshold 4K").exits(0);
    assert!(warned.err.contains("warning") && warned.err.contains("wrote x.onnx"));
    let run = onnx(&folder, "convert in.onnx -o x.onnx --weights external=w.data --threshold 4K -q").exits(0);
    assert_eq!(run.err, "");
    let run = onnx(&folder, "convert missing.onnx -o x.onnx -q").exits(2);
    assert_eq!(
        run.err,
        "error[ONNX8001]: missing.onnx: cannot be read: No such file or directory\n   = help: check the name and the permissions of the file\n"
    );
    // Times are figures, and so not a part of what is the same for the same input.
    let run = onnx(&folder, "convert in.onnx -o v.onnx -v").exits(0);
    assert!(run.err.starts_with("read in.onnx: ONNX, ") && run.err.ends_with(" ms\n"), "{}", run.err);
    onnx(&folder, "convert in.onnx -o v.onnx -v -q").exits(2);
    // Streams have no summary.
    assert_eq!(onnx(&folder, "convert in.onnx -o -").exits(0).err, "");
}

#[test]
fn small_tensors_stay() {
    let folder = Folder::with("in.onnx", models::small());
    onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data --threshold 4K")
        .exits(0)
        .says("nothing was moved");
    assert_eq!(folder.list(), ["in.onnx", "out.onnx"]);
    onnx(&folder, "convert in.onnx -o out.onnx --threshold 4K").exits(2).says("--weights external");
    onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data --weights embed").exits(2);
    onnx(&folder, "convert in.onnx -o out.onnx --weights inline").exits(2).says("`external=NAME`");
    onnx(&folder, "convert in.onnx -o out.onnx --weights external=w.data --threshold much")
        .exits(2)
        .says("is not a size");
}

#[test]
fn streams_are_models_too() {
    let model = models::small();
    let folder = Folder::new();
    let text = onnx_with(&folder, "convert - -o - --to textproto", &model).exits(0);
    assert!(text.out.starts_with("ir_version: 8\n"), "{}", text.out);
    let back = onnx_with(&folder, "convert - -o - --from textproto", text.out.as_bytes()).exits(0);
    assert!(back.bytes == model);
    let json = onnx_with(&folder, "convert - -o - --to json", &model).exits(0);
    json.json();
    onnx_with(&folder, "convert - -o - --weights external=w", &model)
        .exits(2)
        .says("external data needs a file");
    assert!(folder.list().is_empty());
}

#[test]
fn weights_that_are_missing_are_mentioned() {
    let folder = Folder::with("in.onnx", models::external("w.data"));
    std::fs::create_dir(folder.path().join("other")).unwrap();
    let run = onnx(&folder, "convert in.onnx -o other/out.onnx").exits(0).says("there is no such file");
    assert!(run.out.is_empty());
    let run = onnx(&folder, "convert in.onnx -o out.onnx").exits(0);
    assert_eq!(run.err, format!("wrote out.onnx: 1 node, {} B\n", folder.get("out.onnx").len()));
    onnx(&folder, "convert in.onnx -o one.onnx --weights embed").exits(2).says("w.data");
    onnx(&folder, "convert in.onnx -o -").exits(2).says("w.data");
    // Taken over into another directory.
    folder.put("w.data", [0; 2000]);
    onnx(&folder, "convert in.onnx -o other/out.onnx --weights external=o.data").exits(0);
    assert_eq!(folder.get("other/o.data"), [0; 2000]);
}

#[test]
fn losses_are_mentioned() {
    let mut model = models::small();
    // Field 1000 with a varint, which no model has.
    model.extend([0xc0, 0x3e, 0x01]);
    let folder = Folder::with("in.onnx", &model);
    onnx(&folder, "convert in.onnx -o out.json").exits(0).says("JSON leaves out the model: field 1000");
    onnx(&folder, "convert in.onnx -o out.onnx").exits(0);
    assert!(folder.get("out.onnx") == model);
}

#[test]
fn failures_leave_everything_as_it_was() {
    let model = models::small();
    let folder = Folder::with("in.onnx", &model);
    folder.put("cut.onnx", &model[..100]);
    folder.put("old.onnx", "old");
    std::fs::create_dir(folder.path().join("directory.onnx")).unwrap();
    let before = folder.list();
    for args in [
        "convert cut.onnx -o old.onnx",
        "convert missing.onnx -o old.onnx",
        "convert in.onnx -o nowhere/out.onnx",
        "convert in.onnx -o nowhere/out.json",
        "convert in.onnx -o directory.onnx",
        "convert in.onnx -o out.unknown",
        "convert in.onnx -o old.onnx --weights external=../w.data",
        "convert in.onnx -o old.onnx --weights external=old.onnx",
        "convert in.onnx -o old.onnx --weights external=nowhere/w.data",
        "convert in.onnx -o old.json --weights external=old.json",
        "convert in.onnx -o old.onnx --weights external=w.data --align 3",
    ] {
        onnx(&folder, args).exits(2).says("error");
        assert_eq!(folder.list(), before, "{args}");
        assert_eq!(folder.get("old.onnx"), b"old", "{args}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with("in.onnx", models::small());
    for args in
        ["convert in.onnx -o - --to textproto", "info in.onnx", "explain --list rules", "convert --help"]
    {
        let mut child = command(args.split(' '))
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(err, "", "{args}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let folder = Folder::with("in.onnx", models::small());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output =
        command(["convert", "in.onnx", "-o", "-"]).current_dir(folder.path()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

/// A model that protobuf readers cannot open is not written unless that is wanted.
#[test]
#[cfg(target_os = "linux")]
fn two_gibibytes_are_reported_before_they_are_written() {
    let folder = Folder::with("in.onnx", models::external_of(1 << 29));
    let data = std::fs::File::create(folder.path().join("w.data")).unwrap();
    data.set_len(1 << 31).unwrap();
    for args in ["convert in.onnx -o out.onnx --weights embed", "convert in.onnx -o -", "infer in.onnx -o -"]
    {
        let run = onnx(&folder, args).exits(2).says("protobuf readers open at most 2147483647");
        assert!(run.bytes.is_empty() && run.err.contains("--weights external"), "{args}: {}", run.err);
        assert_eq!(folder.list(), ["in.onnx", "w.data"], "{args}");
    }
}

/// Where weights are, by `--weights`.
#[test]
fn weights_are_where_they_are_wanted() {
    let folder = Folder::with("in.onnx", models::small());
    std::fs::create_dir(folder.path().join("other")).unwrap();
    onnx(&folder, "convert in.onnx -o a.onnx --weights external").exits(0).says("; 2.0 kB in a.onnx.data");
    onnx(&folder, "infer in.onnx -o i.onnx --weights external=i.data").exits(0).says("; 2.0 kB in i.data");
    assert_eq!(folder.get("i.data"), folder.get("a.onnx.data"));
    onnx(&folder, "infer a.onnx -o e.onnx --weights embed").exits(0);
    onnx(&folder, "infer in.onnx -o typed.onnx").exits(0);
    assert!(folder.get("e.onnx") == folder.get("typed.onnx"));
    // References are kept even where they lead nowhere, which is mentioned.
    onnx(&folder, "convert a.onnx -o other/k.onnx --weights keep").exits(0).says("in another directory");
    onnx(&folder, "check other/k.onnx --allow external-file-unreadable").exits(0);
    assert!(!folder.path().join("other/a.onnx.data").exists());
    onnx(&folder, "convert a.onnx -o other/c.onnx").exits(0);
    assert_eq!(folder.get("other/a.onnx.data"), folder.get("a.onnx.data"));
    // A pipe without the weights, and a consumer that is given their directory.
    let piped = onnx(&folder, "convert a.onnx -o - --weights keep").exits(0);
    assert!(piped.bytes == folder.get("a.onnx"));
    let back = onnx_with(&folder, "convert - -o - --data-dir . --weights embed", &piped.bytes);
    assert!(back.exits(0).bytes == folder.get("in.onnx"));
    onnx(&folder, "smith --op MatMul -o s.onnx --weights external --timeout 9s").exits(2);
    onnx(&folder, "smith --op MatMul -o s.onnx --weights embed").exits(0);
}

#[test]
fn models_become_newer() {
    let text = "<ir_version: 6, opset_import: [\"\": 11]>
g (float[N, 2, 3] x) => (float[N, 2, 3] y, float[2, 3] z) {
  y = Softmax (x)
  s = ReduceMax <axes = [0], keepdims = 1> (y)
  z = Squeeze <axes = [0]> (s)
}";
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 18 -o out.onnxtxt").exits(0);
    assert!(ran.err.contains("ai.onnx 11 -> 18: changed 2 nodes, replaced 1 node"), "{}", ran.err);
    let out = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    for part in ["\"\": 18", "Flatten", "Softmax <axis = -1>", "ReduceMax <keepdims = 1> (y, "] {
        assert!(out.contains(part), "{part}: {out}");
    }
    onnx(&folder, "check out.onnxtxt --full").exits(0);
    onnx(&folder, "compare in.onnxtxt out.onnxtxt").exits(0);
    // Versions that do not exist, or of a domain that is not imported.
    for (opset, message) in [("99", "no version 99"), ("ai.onnx.ml=3", "does not import")] {
        let ran = onnx(&folder, &format!("convert in.onnxtxt --opset {opset} -o none.onnx")).exits(2);
        assert!(ran.err.contains(message), "{}", ran.err);
        assert!(!folder.path().join("none.onnx").exists());
    }
}

#[test]
fn all_nodes_without_an_equivalent_are_reported() {
    let text = "<ir_version: 4, opset_import: [\"\": 6]>
g (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) {
  y = Dropout (x)
  z = Dropout (x)
}";
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 13 -o out.onnx").exits(1);
    assert_eq!(ran.err.matches("ONNX4007").count(), 2, "{}", ran.err);
    assert!(!folder.path().join("out.onnx").exists());
    ran.says("to version 7, on the way to version 13")
        .says("6, which the model imports, is the newest version");
    let few = onnx(&folder, "convert in.onnxtxt --opset 13 --max-findings 1").exits(1);
    assert_eq!(few.err.matches("error[ONNX4007]").count(), 1, "{}", few.err);
    few.says("2 errors");
    let few = onnx(&folder, "convert in.onnxtxt --opset 13 --max-findings 1 --format json").exits(1).json();
    assert_eq!(few["counts"]["dropped"], 1);
}

#[test]
fn a_refused_plan_is_summarized_as_not_possible() {
    let folder = Folder::with("in.onnxtxt", NORMALIZED.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 8 --format json").exits(1);
    let ran = ran.says("17 -> 8: not possible, 1 node without an equivalent");
    assert!(!ran.err.contains("expanded"), "{}", ran.err);
    let ran = onnx(&folder, "convert in.onnxtxt --opset 8").exits(1);
    ran.says("version 9 is the oldest version of ai.onnx that is possible");
}

#[test]
fn an_operator_set_has_one_version() {
    let folder = Folder::with("in.onnxtxt", NORMALIZED.as_bytes());
    onnx(&folder, "convert in.onnxtxt --opset 13 --opset ai.onnx=12").exits(2).says("two versions");
}

const NORMALIZED: &str = "<ir_version: 9, opset_import: [\"\": 17]>
g (float[N, 4] x, float[4] scale) => (float[N] z) {
  y = LayerNormalization (x, scale)
  e = Erf (y)
  axes = Constant <value_ints = [-1]> ()
  z = ReduceSum <keepdims = 0> (e, axes)
}";

#[test]
fn models_become_older() {
    let folder = Folder::with("in.onnxtxt", NORMALIZED.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 11 --ir-version 6 -o out.onnxtxt").exits(0);
    assert!(ran.err.contains("expanded 1 node"), "{}", ran.err);
    let out = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    for part in ["ir_version: 6", "\"\": 11", "ReduceSum <keepdims = 0, axes = [-1]>"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("LayerNormalization"), "{out}");
    onnx(&folder, "check out.onnxtxt --full").exits(0);
    onnx(&folder, "compare in.onnxtxt out.onnxtxt").exits(0);
}

#[test]
fn a_conversion_without_output_is_a_plan() {
    let folder = Folder::with("in.onnxtxt", NORMALIZED.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 11").exits(0);
    for part in ["ai.onnx 17 -> 11", "possible", "LayerNormalization 17 -> 17", "ReduceSum 13 -> 1"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let ran = onnx(&folder, "convert in.onnxtxt --opset 8").exits(1);
    assert!(ran.out.contains("not possible, 1 node without an equivalent"), "{}", ran.out);
    assert!(ran.err.contains("ONNX4045") && ran.err.contains("version 9 introduced"), "{}", ran.err);
    let ran = onnx(&folder, "info in.onnxtxt --versions").exits(0);
    assert!(ran.out.contains("the oldest possible version is 9"), "{}", ran.out);
    assert!(ran.out.contains("no `Erf`"), "{}", ran.out);
}

#[test]
fn a_conversion_that_keeps_going_ends_at_the_nearest_version() {
    let folder = Folder::with("in.onnxtxt", NORMALIZED.as_bytes());
    onnx(&folder, "convert in.onnxtxt --opset 8 -o out.onnxtxt").exits(1);
    assert!(!folder.path().join("out.onnxtxt").exists());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 8 --keep-going -o out.onnxtxt").exits(1);
    assert!(ran.err.contains("ONNX4045"), "{}", ran.err);
    let out = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(out.contains("\"\": 9"), "{out}");
    onnx(&folder, "compare in.onnxtxt out.onnxtxt").exits(0);
}

#[test]
fn functions_get_the_version_of_the_model() {
    let text = r#"<ir_version: 9, opset_import: ["": 13, "my": 1]>
g (float[2, 3] x) => (float[2, 3] y) { y = my.F (x) }
<domain: "my", opset_import: ["": 20]> F (p) => (q) { q = Gelu (p) }"#;
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    let ran = onnx(&folder, "convert in.onnxtxt --opset 13").exits(0);
    assert!(ran.out.contains("Gelu 20 -> 20"), "{}", ran.out);
    let ran = onnx(&folder, "info in.onnxtxt --versions").exits(0);
    assert!(ran.out.contains("imported; in functions of other versions 1 node expanded"), "{}", ran.out);
    onnx(&folder, "convert in.onnxtxt --opset 13 -o out.onnxtxt").exits(0).says("13 -> 13: expanded 1 node");
    let out = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(out.contains("Erf") && !out.contains(": 20"), "{out}");
    // The function cannot have the version of the model, so nothing changes.
    let text = text.replace("Gelu (p)", "StringConcat (p, p)").replace("float", "string");
    folder.put("in.onnxtxt", &text);
    onnx(&folder, "convert in.onnxtxt --opset 13 -o no.onnxtxt").exits(1).says("ONNX4045");
    let ran = onnx(&folder, "convert in.onnxtxt --opset 12 --keep-going -o same.onnxtxt").exits(1);
    assert!(ran.err.contains("stays at 13; 12 is not possible"), "{}", ran.err);
    assert!(String::from_utf8(folder.get("same.onnxtxt")).unwrap().contains("StringConcat"));
}

#[test]
fn imports_that_do_not_tell_what_nodes_mean_are_findings() {
    for (imports, reason) in [
        ("\"\": 29", "the model imports version 29 of `ai.onnx`"),
        ("\"\": 11, \"ai.onnx\": 13", "the model imports `ai.onnx` in version 11 and in version 13"),
    ] {
        let text = format!(
            "<ir_version: 9, opset_import: [{imports}]> g (float[2, 3] x) => (float[2, 3] y) {{ y = Softmax (x) }}"
        );
        let folder = Folder::with("in.onnxtxt", text.as_bytes());
        let ran = onnx(&folder, "convert in.onnxtxt --opset 12 -o out.onnxtxt").exits(1);
        assert!(ran.err.contains("error[ONNX4007]") && ran.err.contains(reason), "{}", ran.err);
        assert!(!folder.path().join("out.onnxtxt").exists());
        let report = onnx(&folder, "convert in.onnxtxt --opset 12 --format json").exits(1);
        assert_eq!(report.json()["counts"]["errors"], 1);
        onnx(&folder, "info in.onnxtxt --versions").exits(2).says(reason);
    }
}

#[test]
fn functions_alone_can_import_an_operator_set() {
    let text = r#"<ir_version: 8, opset_import: ["my": 1]>
g (float[2, 3] x) => (float[2, 3] y) { y = my.F (x) }
<domain: "my", opset_import: ["": 18]> F (p) => (q) { q = Softmax <axis = 1> (p) }"#;
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    let ran = onnx(&folder, "info in.onnxtxt --versions").exits(0);
    assert!(ran.out.contains("ai.onnx 18") && ran.out.contains("18  imported"), "{}", ran.out);
    onnx(&folder, "convert in.onnxtxt --opset 13 -o out.onnxtxt").exits(0).says("ai.onnx 18 -> 13");
    let out = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(out.contains(r#""": 13"#) && !out.contains(r#""": 18"#), "{out}");
}

#[test]
fn a_standard_operator_does_not_take_the_place_of_a_function() {
    let text = r#"<ir_version: 9, opset_import: ["": 17]>
g (float[2, 3] x) => (float[2, 3] y) { y = Gelu (x) }
<domain: "", opset_import: ["": 17]> Gelu (p) => (q) { q = Neg (p) }"#;
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    let reason = "the standard operator of that name would take its place";
    onnx(&folder, "convert in.onnxtxt --opset 20").exits(1).says(reason);
    onnx(&folder, "convert in.onnxtxt --opset 20 -o out.onnxtxt").exits(1).says(reason);
    let ran = onnx(&folder, "info in.onnxtxt --versions").exits(0);
    assert!(ran.out.contains("20  no `Gelu` `y`: it calls a function of the model"), "{}", ran.out);
}

#[test]
fn a_refused_version_of_the_format_is_an_error() {
    let text = r#"<ir_version: 10, opset_import: ["": 18, "a": 1]>
g (float[2] x) => (float[2] y) { y = a.F (x) }
<domain: "a", opset_import: ["": 18]> F (p) => (q) { q = Neg (p) }"#;
    let folder = Folder::with("in.onnxtxt", text.as_bytes());
    for (version, code) in [(7, "ONNX2030"), (0, "ONNX2001"), (99, "ONNX2002")] {
        let ran =
            onnx(&folder, &format!("convert in.onnxtxt --ir-version {version} -o out.onnxtxt")).exits(1);
        for part in [&format!("error[{code}]"), &format!("the model cannot have IR version {version}")] {
            assert!(ran.err.contains(part.as_str()), "{part}: {}", ran.err);
        }
        assert!(!folder.path().join("out.onnxtxt").exists());
    }
    onnx(&folder, "convert in.onnxtxt --ir-version 8 -o out.onnxtxt").exits(0);
}

#[test]
fn the_version_of_the_format_that_a_conversion_needs_is_said() {
    let model = "<ir_version: 8, opset_import: [\"\": 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "convert in.onnxtxt --opset 19").exits(0).says("IR version 8 -> 9");
    let ran = onnx(&folder, "convert in.onnxtxt --opset 19 --format json").exits(0).json();
    assert!(ran.to_string().contains("\"ir_version\":9"), "{ran}");
    onnx(&folder, "convert in.onnxtxt --opset 19 -o out.onnxtxt")
        .exits(0)
        .says("ai.onnx 17 -> 19: no node changes; IR version 8 -> 9");
    assert!(String::from_utf8_lossy(&folder.get("out.onnxtxt")).contains("ir_version: 9"));
    let ran = onnx(&folder, "convert in.onnxtxt --opset 18 -o out.onnxtxt").exits(0);
    assert!(!ran.err.contains("IR version"), "{}", ran.err);
}
