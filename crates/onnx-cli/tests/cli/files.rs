//! Files that are written: what is never lost, and what remains when the process is ended.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use onnx_codec::{
    DecodeOptions, EncodeOptions, FileSource, InlineDataOptions, ReadMode, decode, encode, inline,
};

use crate::models;
use crate::run::{Folder, command, onnx, onnx_with};

/// A model with its weights, as a reader of the file gets it.
fn whole(path: &Path) -> Vec<u8> {
    let source = FileSource::for_model(path).unwrap();
    let bytes = onnx_codec::file::read(path, ReadMode::Memory).unwrap();
    let mut model = decode(bytes, &DecodeOptions::default()).unwrap().model;
    inline(&mut model, &InlineDataOptions::default(), &source).unwrap_or_else(|error| panic!("{error}"));
    encode(&model, &EncodeOptions::default()).unwrap().to_vec()
}

/// A folder with `a.onnx`, and `b.onnx` whose weights are in `b.data`.
fn split() -> Folder {
    let folder = Folder::with("a.onnx", models::filled(1.0));
    onnx(&folder, "convert a.onnx -o b.onnx --weights external=b.data --threshold 1").exits(0);
    folder
}

/// Also by commands after which no weight of the model in memory is in the file any more.
#[test]
fn weights_of_the_input_are_not_overwritten_whatever_is_done_to_the_model() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,8] x) => (float[2,160] y) <
    float[8,160] w = {WEIGHTS}, float[8,160] unused = {WEIGHTS}
> { y = MatMul (x, w) }"#;
    let weights: Vec<String> = (1..=1280).map(|number| format!("{}.5", number)).collect();
    let folder = Folder::with("a.onnxtxt", text.replace("WEIGHTS", &weights.join(", ")));
    onnx(&folder, "convert a.onnxtxt --float16 -o half.onnx --weights external=half.data --threshold 1")
        .exits(0);
    onnx(
        &folder,
        "quantize a.onnxtxt --to int8 --weights-only -o q.onnx --weights external=q.data --threshold 1",
    )
    .exits(0);
    onnx(&folder, "convert a.onnxtxt -o m.onnx --weights external=m.data --threshold 1").exits(0);
    let commands = [
        ("convert IN --opset 22", "m"),
        ("convert IN --float16", "m"),
        ("convert IN --bfloat16", "m"),
        ("convert IN --float32", "half"),
        ("convert IN --dequantize", "q"),
        ("quantize IN --to int8 --weights-only", "m"),
        ("quantize IN --to int8 --dynamic", "m"),
        ("quantize IN --to uint8 --seed 0", "m"),
        ("simplify IN", "m"),
        ("rewrite IN --pass no-unused-initializers", "m"),
        ("edit IN --rename w=v", "m"),
        ("infer IN", "m"),
        ("inline IN", "m"),
        ("extract IN --outputs y", "m"),
    ];
    for (command, name) in commands {
        let data = format!("{name}.data");
        let before = folder.get(&data);
        let command = command.replace("IN", &format!("{name}.onnx"));
        let run = onnx(&folder, &format!("{command} -o out.onnx --weights external={data} --force"));
        assert!(folder.get(&data) == before, "{command} wrote over the weights of its input");
        run.exits(2).says("the input model has external data in it");
    }
}

#[test]
fn weights_that_a_model_uses_are_not_overwritten() {
    let folder = split();
    std::fs::hard_link(folder.path().join("b.onnx"), folder.path().join("hard.onnx")).unwrap();
    let (model, data, names) = (folder.get("b.onnx"), folder.get("b.data"), folder.list());
    for args in [
        "convert b.onnx -o c.onnx --weights external=b.data --align 4096",
        "convert b.onnx -o c.onnx --weights external=b.data --threshold 1500",
        "convert b.onnx -o c.onnx --weights external=b.onnx --threshold 1",
        "convert b.onnx -o c.json --weights external=b.data",
        "convert b.onnx -o b.data --to onnx",
        "convert b.onnx -o b.data --to onnx --weights embed",
        "convert b.onnx -o b.data --to json",
        "infer b.onnx -o b.data --to onnx",
        "infer b.onnx -o b.data --to onnxtxt",
        // The same file under another name is not the model that is replaced.
        "convert b.onnx -o hard.onnx --weights external=b.data --align 4096",
    ] {
        for force in ["", " --force"] {
            let run = onnx(&folder, &format!("{args}{force}")).exits(2).says("external data");
            assert!(!run.err.contains("--force"), "{args}: {}", run.err);
            assert!(folder.get("b.onnx") == model && folder.get("b.data") == data, "{args}");
            assert_eq!(folder.list(), names, "{args}");
        }
    }
    std::fs::remove_file(folder.path().join("hard.onnx")).unwrap();
    // Copies of the model may read the data as well.
    std::fs::copy(folder.path().join("b.onnx"), folder.path().join("copy.onnx")).unwrap();
    for name in ["b.onnx", "copy.onnx"] {
        let args = format!("convert {name} -o {name} --weights external=b.data --align 65536");
        onnx(&folder, &args).exits(2).says("other models may read").says("`--force` replaces it anyway");
        assert!(whole(&folder.path().join("b.onnx")) == models::filled(1.0));
        assert!(whole(&folder.path().join("copy.onnx")) == models::filled(1.0));
        // Writing the same contents cannot damage them.
        onnx(&folder, &format!("convert {name} -o {name} --weights external=b.data --threshold 1")).exits(0);
        assert!(folder.get("b.data") == data);
    }
    std::fs::remove_file(folder.path().join("copy.onnx")).unwrap();
    onnx(&folder, "convert b.onnx -o b.onnx --weights external=b.data --align 4096 --force").exits(0);
    assert!(whole(&folder.path().join("b.onnx")) == models::filled(1.0));
    assert_eq!(folder.list(), ["a.onnx", "b.data", "b.onnx"]);
}

#[test]
fn other_files_are_replaced_when_forced() {
    let folder = split();
    folder.put("notes.txt", "precious");
    folder.put("empty.onnx", "");
    folder.put("empty.data", "");
    folder.put("odd.data", models::small());
    for args in [
        "convert a.onnx -o empty.data --to onnx",
        "convert a.onnx -o odd.data --to onnx",
        "print a.onnx -o odd.data",
    ] {
        onnx(&folder, args).exits(2).says("exists and is not").says("`--force` replaces it anyway");
    }
    assert!(folder.get("odd.data") == models::small());
    for args in [
        "convert a.onnx -o c.onnx --weights external=empty.data",
        "convert a.onnx -o c.onnx --weights external=b.data",
    ] {
        onnx(&folder, args).exits(2).says("other models may read").says("`--force` replaces it anyway");
    }
    for args in [
        "convert a.onnx -o notes.txt --to onnx",
        "convert a.onnx -o notes.txt --to json",
        "infer a.onnx -o notes.txt --to onnx",
        "smith -o notes.txt --to onnx",
        "ops export --opset 21 -o notes.txt",
    ] {
        onnx(&folder, args).exits(2).says("exists and is not").says("`--force` replaces it anyway");
        assert_eq!(folder.get("notes.txt"), b"precious", "{args}");
        assert!(whole(&folder.path().join("b.onnx")) == models::filled(1.0), "{args}");
    }
    onnx_with(&folder, "convert - -o notes.txt --to onnx", b"<ir_version: 8> g () => () { }")
        .exits(2)
        .says("--force");
    onnx_with(&folder, "convert - --as node -o notes.txt --to onnx", b"y = Relu (x)")
        .exits(2)
        .says("--force");
    onnx(&folder, "convert a.onnx -o c.onnx --weights external=notes.txt --threshold 1 --force").exits(0);
    assert!(whole(&folder.path().join("c.onnx")) == models::filled(1.0));
    // Models in any form replace models in any form.
    for name in ["d.onnx", "d.json", "d.textproto", "d.onnxtxt"] {
        for to in ["onnx", "json", "textproto", "onnxtxt"] {
            onnx(&folder, &format!("convert a.onnx -o {name} --to {to}")).exits(0);
        }
    }
    onnx(&folder, "convert a.onnx -o empty.onnx").exits(0);
}

#[test]
fn weights_go_with_the_output() {
    let folder = split();
    std::fs::create_dir(folder.path().join("other")).unwrap();
    let expected = models::filled(1.0);
    onnx(&folder, "convert b.onnx -o other/c.onnx").exits(0);
    assert!(whole(&folder.path().join("other/c.onnx")) == expected);
    assert!(folder.get("other/c.onnx") == folder.get("b.onnx"), "locations stay");
    // The data is there already, and stays as it is.
    onnx(&folder, "infer b.onnx -o other/i.onnx").exits(0);
    folder.put("third/b.data", "other");
    onnx(&folder, "infer b.onnx -o third/i.onnx").exits(2).says("third/b.data").says("--force");
    onnx(&folder, "infer b.onnx -o other/c.onnx").exits(0);
    onnx(&folder, "check --data other/c.onnx").exits(0);
    // Into a stream they are embedded.
    assert!(onnx(&folder, "convert b.onnx -o -").exits(0).bytes == expected);
    // A directory below that of the model.
    folder.put("m/sub/w.data", [0; 2000]);
    folder.put("m/m.onnx", models::external("./sub/w.data"));
    onnx(&folder, "convert m/m.onnx -o other/m.onnx").exits(0);
    assert_eq!(folder.get("other/sub/w.data"), [0; 2000]);
    onnx(&folder, "check --data other/m.onnx").exits(0);
}

#[test]
fn a_stream_has_no_directory() {
    let folder = split();
    let external = folder.get("b.onnx");
    onnx_with(&folder, "convert - -o c.onnx", &external).exits(2).says("--data-dir");
    onnx_with(&folder, "convert - -o - --weights embed", &external).exits(2).says("--data-dir");
    onnx_with(&folder, "infer - --unknown", &external).exits(0);
    onnx_with(&folder, "check -", &external).exits(0);
    onnx_with(&folder, "check - --data", &external).exits(1).says("stream");
    let embedded = onnx_with(&folder, "convert - -o - --weights embed --data-dir .", &external).exits(0);
    assert!(embedded.bytes == models::filled(1.0));
    onnx_with(&folder, "check - --data --data-dir .", &external).exits(0);
    onnx_with(&folder, "convert - -o c.onnx --data-dir .", &external).exits(0);
    assert!(whole(&folder.path().join("c.onnx")) == models::filled(1.0));
    // Its data is protected nevertheless.
    onnx_with(&folder, "convert - -o d.onnx --weights external=b.data --data-dir .", &external).exits(2);
}

/// Runs a script with the command as `$0` and standard input.
#[cfg(target_os = "linux")]
fn shell(folder: &Folder, script: &str, stdin: &[u8]) -> std::process::Output {
    use std::io::Write as _;
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_onnx")])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn descriptors_and_pipes_are_streams() {
    let folder = split();
    let model = models::filled(1.0);
    for (script, place) in [
        (r#""$0" convert /dev/stdin -o /dev/stdout"#, ""),
        (r#""$0" convert /dev/fd/0 -o /dev/fd/1"#, ""),
        (r#""$0" convert /proc/self/fd/0 -o /proc/self/fd/1 | cat"#, ""),
        (r#""$0" convert - -o /dev/fd/3 3> out"#, "out"),
        (r#"printf x > out; "$0" convert - -o /dev/fd/3 3>> out; tail -c +2 out"#, ""),
        (r#"mkfifo pipe; cat pipe > out & "$0" convert - -o pipe --to onnx; wait; rm pipe"#, "out"),
        (
            r#"mkfifo pipe; cat a.onnx > pipe & "$0" -q convert pipe -o out.onnx --from onnx; rm pipe"#,
            "out.onnx",
        ),
        (r#""$0" infer a.onnx -o /dev/null; "$0" convert - -o /dev/null; cat a.onnx"#, ""),
        (r#"ln -s /dev/stdout link; "$0" convert - -o link --to onnx"#, ""),
    ] {
        let run = shell(&folder, script, &model);
        assert_eq!(String::from_utf8_lossy(&run.stderr), "", "{script}");
        let found = if place.is_empty() { run.stdout } else { folder.get(place) };
        assert!(found == model, "{script}: {} bytes", found.len());
    }
    // What is written to a descriptor by its path and by its number follows each other, in a file, too.
    for script in [
        r#"{ printf x >&3; "$0" convert - -o /dev/fd/3; printf y >&3; } 3> out; cat out"#,
        r#"{ printf x; "$0" convert - -o /dev/stdout; printf y; } > out; cat out"#,
        r#"{ printf x >&3; "$0" convert - -o /proc/self/fd/3; printf y >&3; } 3> out; cat out"#,
    ] {
        let run = shell(&folder, script, &model);
        assert_eq!(String::from_utf8_lossy(&run.stderr), "", "{script}");
        let found = run.stdout.strip_prefix(b"x").and_then(|rest| rest.strip_suffix(b"y"));
        assert!(found == Some(&model), "{script}: {} bytes", run.stdout.len());
    }
    // The directory of the descriptor is not that of the model, and neither is the current one.
    let external = folder.get("b.onnx");
    for script in [
        r#"cat | "$0" convert /dev/stdin -o c.onnx --weights embed"#,
        r#""$0" convert /dev/stdin -o c.onnx --weights embed < b.onnx"#,
        r#""$0" convert /proc/self/fd/0 -o c.onnx < b.onnx"#,
    ] {
        let run = shell(&folder, script, &external);
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.code() == Some(2) && err.contains("--data-dir"), "{script}: {err}");
    }
    let run = shell(&folder, r#""$0" convert /dev/stdin -o - --weights embed --data-dir . < b.onnx"#, &[]);
    assert!(run.stdout == model);
}

/// A stream may be connected to a file that the input is or reads.
#[test]
#[cfg(target_os = "linux")]
fn streams_into_files_of_the_input_are_refused() {
    let folder = split();
    let (model, data) = (folder.get("b.onnx"), folder.get("b.data"));
    std::fs::hard_link(folder.path().join("b.data"), folder.path().join("hard.data")).unwrap();
    for to in ["b.data", "hard.data", "b.onnx"] {
        for command in [
            "convert b.onnx -o - --to json",
            "convert b.onnx -o -",
            "convert b.onnx -o /dev/stdout",
            "convert b.onnx -o /proc/self/fd/1 --to onnxtxt",
            "infer b.onnx -o -",
            "print b.onnx",
            "print b.onnx --at main()",
            "print b.onnx -o /dev/fd/1",
            "info b.onnx --format json",
            "check b.onnx --format json",
            "debug verify b.onnx",
            "infer b.onnx --unknown",
            "infer b.onnx --guards=json",
        ] {
            let command = command.replace('(', "\\(").replace(')', "\\)");
            // Neither in the middle of the file nor at its end.
            for redirect in ["1<>", ">>"] {
                let run = shell(&folder, &format!(r#""$0" {command} {redirect} {to}"#), &[]);
                let err = String::from_utf8_lossy(&run.stderr).into_owned();
                assert_eq!(run.status.code(), Some(2), "{command} {redirect} {to}: {err}");
                assert!(err.contains("input model"), "{command} {redirect} {to}: {err}");
                assert!(folder.get("b.onnx") == model && folder.get("b.data") == data, "{command} {to}");
            }
        }
    }
    // The shell itself empties the file here; what was in it is not replaced by a model.
    let run = shell(&folder, r#""$0" convert b.onnx -o /dev/stdout > b.data"#, &[]);
    assert!(run.status.code() == Some(2) && folder.get("b.data").is_empty());
}

#[test]
#[cfg(unix)]
fn a_link_into_another_directory_takes_no_external_data() {
    let folder = split();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    onnx(&folder, "convert a.onnx -o real/m.onnx").exits(0);
    std::os::unix::fs::symlink("real/m.onnx", folder.path().join("link.onnx")).unwrap();
    let names = folder.list();
    for args in [
        "convert a.onnx -o link.onnx --weights external=w.data --threshold 1",
        "convert b.onnx -o link.onnx",
        "infer b.onnx -o link.onnx",
    ] {
        onnx(&folder, args).exits(2).says("it is a symbolic link into another directory");
        assert_eq!(folder.list(), names, "{args}");
        assert!(folder.get("real/m.onnx") == models::filled(1.0), "{args}");
    }
    onnx(&folder, "convert b.onnx -o link.onnx --weights embed").exits(0);
    assert!(folder.get("real/m.onnx") == models::filled(1.0));
}

/// Starts the command with the model on standard input, which it has not read yet.
fn start(folder: &Folder, args: &str) -> Child {
    command(args.split(' '))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The number of rounds of two writers: a few, or as many as one likes.
fn rounds() -> usize {
    std::env::var("ONNX_WRITER_PAIRS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// Two processes that write the same model and data file at the same time: the result is what one of them wrote.
#[test]
fn of_two_writers_one_wins() {
    let folder = Folder::with("a.onnx", models::filled(1.0));
    folder.put("b.onnx", models::filled(2.0));
    let expected = [models::filled(1.0), models::filled(2.0)];
    let mut wins = [0, 0];
    for round in 0..rounds() {
        if round % 2 == 0 {
            for name in folder.list().into_iter().filter(|name| name.starts_with("race")) {
                std::fs::remove_file(folder.path().join(name)).unwrap();
            }
        }
        let children = [("a.onnx", ""), ("b.onnx", " --align 65536")].map(|(name, align)| {
            // Without `--force`, the writer that is later finds the data of the other one, and gives up.
            let force = if round % 4 == 0 { "" } else { " --force" };
            let args = format!(
                "convert {name} -o race.onnx --weights external=race.data --threshold 1{align}{force}"
            );
            start(&folder, &args)
        });
        let mut statuses = children.map(|mut child| child.wait().unwrap().code());
        statuses.sort_unstable();
        let expected_statuses = if round % 4 == 0 { [Some(0), Some(2)] } else { [Some(0); 2] };
        assert_eq!(statuses, expected_statuses, "round {round}");
        let found = whole(&folder.path().join("race.onnx"));
        let winner = expected.iter().position(|model| *model == found);
        wins[winner.unwrap_or_else(|| panic!("round {round}: a mixed pair"))] += 1;
        assert_eq!(folder.list(), ["a.onnx", "b.onnx", "race.data", "race.onnx"], "round {round}");
    }
    assert_eq!(wins[0] + wins[1], rounds());
}

#[cfg(target_os = "linux")]
mod ended;
#[cfg(target_os = "linux")]
mod sets;
