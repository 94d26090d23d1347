//! Another user who can write to the same directories: links and files that are prepared, or put in the place of temporary files.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::models;
use crate::run::{Folder, onnx};

const CHAIN: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] x) => (float[2] y, float[2] b) <float[1] w0 = {1}, float[1] w1 = {2}> {
   a = Identity (x)
   b = Add (a, w0)
   y = Mul (b, w1)
}"#;

/// A model, which a command must not replace.
const VICTIM: &str = "<ir_version: 10> g () => () {}";

/// The commands that try models, which fail for every model.
fn trials(model: &str) -> [String; 2] {
    [
        format!("reduce {model} --match . -- sh try.sh {{}}"),
        format!("rewrite {model} --pass no-identities --bisect -- sh try.sh {{}}"),
    ]
}

#[test]
fn trials_are_in_a_directory_that_only_the_user_can_change() {
    // Writes the permissions of the directory and of the file, and the names of both.
    let script = r#"stat -c '%a %n' "$(dirname "$1")" "$1" >> log; echo no; exit 1"#;
    let folder = Folder::with("in.onnxtxt", CHAIN);
    folder.put("try.sh", script);
    let mut names = Vec::new();
    for command in trials("in.onnxtxt") {
        folder.put("log", "");
        onnx(&folder, &command);
        let log = String::from_utf8(folder.get("log")).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert!(lines.len() >= 2, "{command}: {log}");
        for pair in lines.chunks(2) {
            let [directory, file] = pair else { panic!("{log}") };
            assert!(directory.starts_with("700 ") && file.starts_with("600 "), "{command}: {log}");
            let name = directory.trim_start_matches("700 ");
            assert!(!std::path::Path::new(name).exists(), "{name} is left");
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2, "each command has a separate directory");
}

#[test]
fn what_takes_the_place_of_a_trial_is_not_followed() {
    // The file is replaced by a link to the file of another user, before the next trial.
    let script = r#"rm "$1"; ln -s "$PWD/victim.onnx" "$1"; echo no; exit 1"#;
    for model in ["in.onnxtxt", "external.onnx"] {
        let folder = Folder::with("in.onnxtxt", CHAIN);
        folder.put("external.onnx", models::external("w.data"));
        folder.put("w.data", [0; 2000]);
        folder.put("try.sh", script);
        folder.put("victim.onnx", VICTIM);
        for command in trials(model) {
            onnx(&folder, &command);
            assert_eq!(folder.get("victim.onnx"), VICTIM.as_bytes(), "{command}");
        }
        let names = folder.list();
        assert_eq!(names, ["external.onnx", "in.onnxtxt", "try.sh", "victim.onnx", "w.data"], "{model}");
    }
}

#[test]
fn the_file_of_a_trial_next_to_its_data_has_a_random_name() {
    let folder = Folder::with("external.onnx", models::external("w.data"));
    folder.put("w.data", [0; 2000]);
    folder.put("try.sh", r#"stat -c '%a %n' "$1" >> log; echo no; exit 1"#);
    for command in trials("external.onnx") {
        onnx(&folder, &command);
    }
    let log = String::from_utf8(folder.get("log")).unwrap();
    let mut names: Vec<&str> = log.lines().map(|line| line.strip_prefix("600 ").unwrap()).collect();
    names.dedup();
    assert_eq!(names.len(), 2, "{log}");
    let directory = folder.path().canonicalize().unwrap();
    assert!(names.iter().all(|name| std::path::Path::new(name).parent() == Some(&directory)), "{log}");
}

#[test]
fn links_with_the_names_of_files_of_a_set_are_not_followed() {
    for (command, names) in [
        ("extract in.onnxtxt --parts 2 -o out", &["out/part-1.onnx", "out/part-2.onnx"][..]),
        ("run in.onnxtxt -o out", &["out/output_0.pb", "out/output_1.pb"]),
        ("run in.onnxtxt -o out --to npy", &["out/y.npy", "out/b.npy"]),
        ("run in.onnxtxt --save-inputs out", &["out/input_0.pb"]),
        (
            "weights export in.onnxtxt -o out/w.safetensors --shard-size 4",
            &["out/w-00001-of-00002.safetensors", "out/w.safetensors.index.json"],
        ),
    ] {
        for name in names {
            for victim in ["victim.onnx", "victim.pb", "victim.npy", "victim.safetensors", "victim.json"] {
                let folder = Folder::with("in.onnxtxt", CHAIN);
                folder.put(victim, VICTIM);
                std::fs::create_dir(folder.path().join("out")).unwrap();
                symlink(folder.path().join(victim), folder.path().join(name)).unwrap();
                for force in ["", " --force"] {
                    onnx(&folder, &format!("{command}{force}")).exits(2).says("symbolic link");
                    assert_eq!(folder.get(victim), VICTIM.as_bytes(), "{command}");
                }
                // Nothing of the set is left either.
                let list = std::fs::read_dir(folder.path().join("out")).unwrap().count();
                assert_eq!(list, 1, "{command}");
            }
        }
    }
}

/// Files that other users may not read are not made readable on the way.
#[test]
fn sets_have_the_permissions_of_new_files() {
    let folder = Folder::with("in.onnxtxt", CHAIN);
    onnx(&folder, "extract in.onnxtxt --parts 2 -o out").exits(0);
    folder.put("new", "");
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("out/part-1.onnx"), mode("new"));
    std::fs::set_permissions(folder.path().join("out/part-1.onnx"), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    onnx(&folder, "extract in.onnxtxt --parts 2 -o out --force").exits(0);
    assert_eq!(mode("out/part-1.onnx") & 0o777, 0o600);
    assert_eq!(mode("out/part-2.onnx"), mode("new"));
}
