//! `onnx weights`.

use serde_json::Value;

use crate::models;
use crate::run::{Folder, onnx, onnx_with};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2, 3] x) => (float[2, 3] y)
<float[2, 3] w = {1, 2, 3, 4, 5, -6}, float16[20] h = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, int64[2] s = {2, 3}> {
   c = Constant <value = float[3] {1, inf, nan}> ()
   r = Reshape (x, s)
   a = Add (r, c)
   y = Mul (a, w)
}"#;

fn weights(report: &Value) -> &Vec<Value> {
    report["result"]["models"][0]["weights"].as_array().unwrap()
}

#[test]
fn weights_are_listed_without_being_read() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "weights list in.onnxtxt")
        .exits(0)
        .says("float[2, 3]")
        .says("4 tensors of 31 elements, 92 B");
    let report = onnx(&folder, "weights list in.onnxtxt --format json").exits(0).json();
    let names: Vec<&str> = weights(&report).iter().map(|weight| weight["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["w", "h", "s", "c"]);
    folder.put("split.onnx", models::external("missing.data"));
    onnx(&folder, "weights list split.onnx").exits(0).says("in missing.data");
    onnx(&folder, "weights list in.onnxtxt --at w,c").exits(0).says("2 tensors of 9 elements");
    onnx(&folder, "weights list in.onnxtxt --at x").exits(2).says("`x` selects no weight");
}

#[test]
fn elements_and_statistics_are_shown() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "weights show in.onnxtxt --at w").exits(0).says("1, 2, 3, 4, 5, -6");
    let all = onnx(&folder, "weights show in.onnxtxt").exits(0).out;
    assert!(all.contains("1, 2, 3, 4, 5, -6") && all.contains("int64[2]\n  2, 3\n"), "{all}");
    let run = onnx(&folder, "weights stats in.onnxtxt --at w").exits(0);
    assert!(run.out.contains("min -6, mean 1.5") && run.out.contains('█'), "{}", run.out);
    let report = onnx(&folder, "weights stats in.onnxtxt --sort anomaly --format json").exits(0).json();
    let found: Vec<(&str, &Value)> = weights(&report)
        .iter()
        .map(|weight| (weight["name"].as_str().unwrap(), &weight["anomalies"]))
        .collect();
    assert_eq!(found[0], ("c", &serde_json::json!(["nan", "infinite"])));
    assert_eq!(found[1], ("h", &serde_json::json!(["all-zero"])));
    assert_eq!(report["result"]["models"][0]["total"]["nans"], 1);
    assert_eq!(weights(&report)[0]["stats"]["max"], 1.0);
}

#[test]
fn weights_go_into_files_and_back() {
    let folder = Folder::with("in.onnxtxt", MODEL.replace(", inf, nan}", ", 2, 3}"));
    for (options, files) in [
        ("-o w.safetensors", &["w.safetensors"][..]),
        ("-o w.npz", &["w.npz"][..]),
        (
            "-o w.safetensors --shard-size 30",
            &[
                "w-00001-of-00003.safetensors",
                "w-00002-of-00003.safetensors",
                "w-00003-of-00003.safetensors",
                "w.safetensors.index.json",
            ],
        ),
    ] {
        onnx(&folder, &format!("weights export in.onnxtxt {options}")).exits(0);
        for file in files {
            assert!(folder.path().join(file).exists(), "{file}");
        }
        // Another model of the same structure gets the weights.
        onnx(&folder, "weights strip in.onnxtxt --min-elements 1 --everything -o bare.onnx --force").exits(0);
        let from = files.last().unwrap();
        onnx(&folder, &format!("weights import bare.onnx {from} -o back.onnx --force"))
            .exits(0)
            .says("replaced 4 tensors");
        onnx(&folder, "compare in.onnxtxt back.onnx --rtol 0 --atol 0").exits(0);
    }
    onnx(&folder, "weights export in.onnxtxt").exits(0).says("would write 1 file: 4 weights");
    onnx(&folder, "weights export in.onnxtxt -o w.npy --at c").exits(0);
    onnx(&folder, "weights import in.onnxtxt --replace c=w.npy -o out.onnx")
        .exits(0)
        .says("replaced 1 tensor");
    onnx(&folder, "weights import in.onnxtxt w.npy -o bad.onnx").exits(2).says("--replace NAME=FILE");
    onnx(&folder, "weights import in.onnxtxt --replace w=w.npy -o bad.onnx").exits(2).says("float[2, 3]");
    assert!(!folder.path().join("bad.onnx").exists());
    onnx(&folder, "weights import in.onnxtxt -o out.onnx").exits(2).says("nothing to import");
    folder.put("wrong.safetensors", [0xff; 16]);
    onnx(&folder, "weights import in.onnxtxt wrong.safetensors -o bad.onnx").exits(2).says("the header has");
    folder.put("other.safetensors", "something else");
    onnx(&folder, "weights export in.onnxtxt -o other.safetensors").exits(2).says("--force");
}

/// What has happened to a stripped model can have removed weights, or given them other names.
#[test]
fn weights_come_back_after_a_change_of_the_stripped_model() {
    let folder = Folder::with("in.onnxtxt", MODEL.replace(", inf, nan}", ", 2, 3}"));
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    onnx(&folder, "weights strip in.onnx --min-elements 3 -o bare.onnx").exits(0);
    onnx(&folder, "simplify bare.onnx -o small.onnx").exits(0);
    onnx(&folder, "edit bare.onnx --prefix p/ -o named.onnx").exits(0);
    for file in ["w.safetensors", "w.npz"] {
        onnx(&folder, &format!("weights export in.onnx -o {file}")).exits(0);
        let run = onnx(&folder, &format!("weights import small.onnx {file} -o back.onnx --force")).exits(0);
        run.says("the model has no weights of these names and types");
        onnx(&folder, "compare in.onnx back.onnx --rtol 0 --atol 0").exits(0);
        // Without a stripped weight, a name that the model lacks is a mistake.
        onnx(&folder, &format!("weights import back.onnx {file} -o bad.onnx"))
            .exits(2)
            .says("the model has no weight `");
    }
    for source in ["w.safetensors", "w.npz", "in.onnx"] {
        onnx(&folder, &format!("weights import named.onnx {source} -o bad.onnx"))
            .exits(2)
            .says("it has none of the stripped weights, such as `p/")
            .says("`onnx edit MODEL --remove-prefix p/ -o NEW`");
    }
    assert!(!folder.path().join("bad.onnx").exists());
}

#[test]
fn a_stripped_model_runs_on_generated_weights() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "weights strip in.onnxtxt --min-elements 3 --seed 5 -o bare.onnx").exits(0);
    assert!(run.err.contains("stripped 3 tensors of 76 B; 1 tensor of 16 B stay"), "{}", run.err);
    assert!(!onnx(&folder, "print bare.onnx").exits(0).out.contains("-6"));
    // Types are those of the model; so is the cost.
    onnx(&folder, "infer bare.onnx --strict").exits(0);
    onnx(&folder, "weights import bare.onnx --generate -o filled.onnx").exits(0).says("generated 3 tensors");
    let filled = onnx(&folder, "run filled.onnx").exits(0);
    let bare = onnx(&folder, "run bare.onnx").exits(0).says("are generated from the seed 5");
    assert_eq!(filled.out, bare.out);
    // It can be written elsewhere, and piped.
    folder.put("elsewhere/empty", "");
    onnx(&folder, "convert bare.onnx -o elsewhere/bare.onnx").exits(0);
    let piped = onnx(&folder, "convert bare.onnx -o -").exits(0);
    let back = onnx_with(&folder, "weights list -", &piped.bytes).exits(0);
    assert!(back.out.contains("in stripped-weights"), "{}", back.out);
}

#[test]
fn stripped_weights_of_one_type_stay_apart() {
    let model = |w: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 3] x) => (float[N, 3] y) <float[3] v = {{1, 2, 3}}, float[3] w = {{{w}}}> {{
   a = Sub (x, v)
   b = Sub (x, w)
   y = Mul (a, b)
}}"#
        )
    };
    let folder = Folder::with("equal.onnxtxt", model("1, 2, 3"));
    folder.put("different.onnxtxt", model("4, 5, 6"));
    onnx(&folder, "simplify equal.onnxtxt -o one.onnx").exits(0);
    onnx(&folder, "weights list one.onnx").exits(0).says("1 tensor of 3 elements");
    for name in ["equal", "different"] {
        onnx(&folder, &format!("weights strip {name}.onnxtxt --min-elements 1 -o {name}.onnx")).exits(0);
        onnx(&folder, &format!("simplify {name}.onnx -o two.onnx --force")).exits(0);
        onnx(&folder, "weights list two.onnx").exits(0).says("2 tensors of 6 elements");
        onnx(&folder, "find two.onnx Sub() --count").exits(0).says("2");
        onnx(&folder, "rewrite two.onnx --pass unique-constants -o again.onnx --force").exits(0);
        onnx(&folder, "weights list again.onnx").exits(0).says("2 tensors of 6 elements");
    }
}

#[test]
fn shards_are_replaced_together_or_not_at_all() {
    let folder = Folder::with("in.onnxtxt", MODEL.replace(", inf, nan}", ", 2, 3}"));
    let export = "weights export in.onnxtxt -o w.safetensors --shard-size 30 --force";
    onnx(&folder, export).exits(0);
    let contents = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_type().unwrap().is_file() && entry.file_name() != "in.onnxtxt")
            .map(|entry| {
                (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    let mut before = contents();
    // The last shard cannot be replaced, so none is.
    let last = before.iter().rfind(|(name, _)| name.ends_with(".safetensors")).unwrap().0.clone();
    std::fs::remove_file(folder.path().join(&last)).unwrap();
    std::fs::create_dir(folder.path().join(&last)).unwrap();
    before.retain(|(name, _)| *name != last);
    folder.put(
        "in.onnxtxt",
        MODEL.replace(", inf, nan}", ", 8, 9}").replace("{1, 2, 3, 4, 5, -6}", "{9, 9, 9, 9, 9, 9}"),
    );
    onnx(&folder, export).exits(2).says("directory");
    assert_eq!(contents(), before);
    std::fs::remove_dir(folder.path().join(&last)).unwrap();
    onnx(&folder, export).exits(0);
    assert_ne!(contents(), before);
    onnx(&folder, "weights import in.onnxtxt w.safetensors.index.json -o same.onnx").exits(0);
    onnx(&folder, "diff in.onnxtxt same.onnx").exits(0);
}

#[test]
fn only_weights_that_are_written_are_counted() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2] x) => (float[2] y, string[1] z) <float[2] w = {1, 2}, string[1] s = {"a"}> {
       y = Add (x, w)
       z = Identity (s)
    }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "weights export in.onnxtxt -o w.safetensors").exits(0).says("left out").says(": 1 weight,");
    onnx(&folder, "weights export in.onnxtxt -o w.pb")
        .exits(2)
        .says("a file `.pb` holds one weight, not 2 weights")
        .says("--at NAME");
}

/// Names of entries of an archive lead no careless program out of its directory, and come back as they are.
#[test]
fn names_in_an_archive_lead_nowhere() {
    let names = [
        "/tmp/x",
        "//host/x",
        "../../x",
        "a/../x",
        "..\\x",
        "\\x",
        "C:x",
        "50%",
        "%2Ftmp%2Fx",
        "a/b",
        "onnx::MatMul_1",
        "...",
    ];
    let weights: Vec<String> = names
        .iter()
        .map(|name| format!("float[1] \"{}\" = {{{}}}", name.replace('\\', "\\\\"), name.len()))
        .collect();
    let model = |text: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[1] x) => (float[1] y) <{text}> {{ y = Relu (x) }}"
        )
    };
    let folder = Folder::with("in.onnxtxt", model(&weights.join(", ")));
    onnx(&folder, "weights export in.onnxtxt -o w.npz").exits(0);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(folder.get("w.npz"))).unwrap();
    let mut entries: Vec<String> = (0..archive.len())
        .map(|index| archive.by_index(index).unwrap().name().unwrap().into_owned())
        .collect();
    entries.sort_unstable();
    let mut expected = [
        "/tmp/x.npy",
        "%2F%2Fhost%2Fx.npy",
        "%2E.%2F..%2Fx.npy",
        "a%2F..%2Fx.npy",
        "%2E.%5Cx.npy",
        "%5Cx.npy",
        "C%3Ax.npy",
        "50%.npy",
        "%252Ftmp%252Fx.npy",
        "a/b.npy",
        "onnx::MatMul_1.npy",
        "....npy",
    ];
    expected.sort_unstable();
    assert_eq!(entries, expected);
    folder.put("zeros.onnxtxt", model(&weights.join(", ").replace("= {", "= {100")));
    onnx(&folder, "weights import zeros.onnxtxt w.npz -o same.onnx").exits(0);
    onnx(&folder, "diff in.onnxtxt same.onnx").exits(0);
}

/// The caches of model hubs consist of links, so a link in the directory of an index is followed; a location outside is not.
#[test]
#[cfg(unix)]
fn shards_may_be_links_but_not_elsewhere() {
    let folder = Folder::with("in.onnxtxt", MODEL.replace(", inf, nan}", ", 2, 3}"));
    onnx(&folder, "weights export in.onnxtxt -o w.safetensors --shard-size 30").exits(0);
    let index = String::from_utf8(folder.get("w.safetensors.index.json")).unwrap();
    let shard = folder.list().into_iter().find(|name| name.starts_with("w-00001")).unwrap();
    std::fs::create_dir(folder.path().join("blobs")).unwrap();
    std::fs::rename(folder.path().join(&shard), folder.path().join("blobs/first")).unwrap();
    let import = "weights import in.onnxtxt w.safetensors.index.json -o same.onnx --force";
    onnx(&folder, import).exits(2);
    std::os::unix::fs::symlink("blobs/first", folder.path().join(&shard)).unwrap();
    onnx(&folder, import).exits(0);
    onnx(&folder, "diff in.onnxtxt same.onnx").exits(0);
    for elsewhere in ["../first", "/tmp/first", "blobs/../../first"] {
        folder.put("w.safetensors.index.json", index.replace(&shard, elsewhere));
        onnx(&folder, import).exits(2);
    }
}

/// What the writer aligns by default and what the checker calls a large tensor are the same.
#[test]
fn weights_as_they_are_written_are_aligned_for_the_checker() {
    let sizes = [512_usize, 131_073, 3, 131_071, 131_072];
    let weight = |(index, size): (usize, &usize)| {
        let elements = format!("{index}{}", ",1".repeat(size - 1));
        format!("double[{size}] w{index} = {{{elements}}}")
    };
    let weights: Vec<String> = sizes.iter().enumerate().map(weight).collect();
    let list = |text: fn(usize) -> String, between: &str| {
        (0..sizes.len()).map(text).collect::<Vec<_>>().join(between)
    };
    let outputs = list(|index| format!("double[n{index}] y{index}"), ", ");
    let nodes = list(|index| format!("y{index} = Neg (w{index})"), " ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g () => ({outputs}) <{}> {{ {nodes} }}",
        weights.join(", ")
    );
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt -o out.onnx --weights external").exits(0);
    onnx(&folder, "check out.onnx --notes").exits(0).lacks("ONNX2517");
    onnx(&folder, "convert in.onnxtxt -o apart.onnx --weights external --align 64").exits(0);
    onnx(&folder, "check apart.onnx --notes").exits(0).says("ONNX2517");
}
