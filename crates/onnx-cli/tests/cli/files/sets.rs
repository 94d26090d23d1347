//! Sets of files: after a writer was ended at any moment, readers find the old ones or the new ones.

use super::ended::traced;
use super::*;

/// A chain of four nodes, each with a separate weight.
fn chain(weight: u8) -> String {
    let weights: Vec<String> = (0..4).map(|index| format!("float[1] w{index} = {{{weight}}}")).collect();
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[2] x) => (float[2] y, float[2] b) <{}> {{
          a = Add (x, w0)
          b = Mul (a, w1)
          c = Sub (b, w2)
          y = Div (c, w3)
        }}",
        weights.join(", ")
    )
}

/// Reads two files that belong together.
const READER: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] y, float[2] b) => (float[2] z) { z = Add (y, b) }"#;

/// A command that writes a set of files, and how the set is read.
struct Set {
    /// The command, which reads the model from standard input.
    args: &'static str,
    /// Where the files are.
    folder: &'static str,
    /// Which files belong to the set.
    is_file: fn(&str) -> bool,
    /// Reads the whole set.
    read: &'static str,
}

const SETS: [Set; 4] = [
    Set {
        args: "extract - --from onnxtxt --parts 3 -o out --force",
        folder: "out",
        is_file: |name| name.ends_with(".onnx"),
        read: "merge out/part-1.onnx out/part-2.onnx out/part-3.onnx --by-name -o read.onnx --force",
    },
    Set {
        args: "weights export - --from onnxtxt -o w.safetensors --shard-size 4 --force",
        folder: ".",
        is_file: |name| name.contains("safetensors"),
        read: "weights import base.onnxtxt w.safetensors.index.json -o read.onnx --force",
    },
    Set {
        args: "run - --from onnxtxt -o out --seed 1 --force",
        folder: "out",
        is_file: |name| name.ends_with(".pb"),
        read: "run reader.onnxtxt --feed y=out/output_0.pb --feed b=out/output_1.pb",
    },
    Set {
        args: "run - --from onnxtxt -o out --to npy --seed 1 --force",
        folder: "out",
        is_file: |name| name.ends_with(".npy"),
        read: "run reader.onnxtxt --feed y=out/y.npy --feed b=out/b.npy",
    },
];

impl Set {
    /// The files of the set with their contents.
    fn files(&self, folder: &Folder) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(folder.path().join(self.folder)).into_iter().flatten().flatten();
        let files = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
        let of_set = files.filter(|(name, _)| (self.is_file)(name) && !name.starts_with('.'));
        let mut files: Vec<(String, Vec<u8>)> =
            of_set.map(|(name, path)| (name, std::fs::read(path).unwrap())).collect();
        files.sort();
        files
    }
}

/// Whether a file belongs to a set that was not written completely.
fn is_marked(contents: &[u8]) -> bool {
    contents.starts_with(b"onnx: this file belongs to a set of files that was not written completely")
}

/// Kills the writer of a set before every system call. Returns how often readers find the old set, and the new one.
fn kill_everywhere(set: &Set, has_old: bool) -> [usize; 2] {
    let (old, new) = (chain(1), chain(2));
    let folder = || {
        let folder = Folder::with("base.onnxtxt", chain(3));
        folder.put("reader.onnxtxt", READER);
        if has_old {
            onnx_with(&folder, set.args, old.as_bytes()).exits(0);
        }
        folder
    };
    let before = set.files(&folder());
    let complete = folder();
    let run = traced(&complete, set.args, new.as_bytes(), usize::MAX);
    let after = set.files(&complete);
    assert!(before != after && after.len() > 1 && has_old != before.is_empty());
    let first = run.first.expect("a file was opened for writing");
    let mut counts = [0; 2];
    for last in first - 1..=run.calls {
        let folder = folder();
        traced(&folder, set.args, new.as_bytes(), last);
        let found = set.files(&folder);
        let valid: Vec<_> = found.iter().filter(|(_, contents)| !is_marked(contents)).collect();
        let is_of = |files: &[(String, Vec<u8>)]| valid.iter().all(|file| files.contains(file));
        // Programs that know nothing of journals find no two files of different sets at a time.
        assert!(is_of(&before) || is_of(&after), "{}: call {last}: mixed", set.args);
        if !found.is_empty() {
            onnx(&folder, set.read).exits(0);
        }
        let found = set.files(&folder);
        assert!(found == before || found == after, "{}: call {last}: {found:?}", set.args);
        counts[usize::from(found == after)] += 1;
        if found == after {
            // Neither the journal nor a file of the set is left. A mark can have the temporary name by which it replaces a file.
            let names = folder.list();
            let is_hidden =
                |name: &&String| name.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
            let is_other = |name: &String| !is_marked(&std::fs::read(folder.path().join(name)).unwrap());
            let mut hidden = names.iter().filter(is_hidden);
            assert!(!hidden.any(is_other), "{}: call {last}: {names:?}", set.args);
        }
        // Whatever is left, the next writer succeeds.
        onnx_with(&folder, set.args, new.as_bytes()).exits(0);
        assert_eq!(set.files(&folder), after, "{}: call {last}", set.args);
    }
    counts
}

#[test]
fn a_writer_of_a_set_may_be_killed_at_every_system_call() {
    for (index, set) in SETS.iter().enumerate() {
        let [old, new] = kill_everywhere(set, true);
        assert!(old > 0 && new > 2, "{}: {old} {new}", set.args);
        // Nothing but the first file is different for a set that replaces nothing.
        if index == 0 {
            let [none, new] = kill_everywhere(set, false);
            assert!(none > 0 && new > 2, "{}: {none} {new}", set.args);
        }
    }
}

/// A set whose last file cannot be replaced stays as it is, and no directory is left that would be empty.
#[test]
fn a_set_is_written_as_a_whole_or_not_at_all() {
    for set in &SETS {
        let folder = Folder::with("base.onnxtxt", chain(3));
        onnx_with(&folder, set.args, chain(1).as_bytes()).exits(0);
        let mut before = set.files(&folder);
        let (last, _) = before.pop().unwrap();
        let path = folder.path().join(set.folder).join(&last);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        onnx_with(&folder, set.args, chain(2).as_bytes()).exits(2).says("directory");
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(set.files(&folder), before, "{}", set.args);
    }
}

/// No file of a set and no directory is left when the disk is full. The size of files is limited instead.
#[test]
fn a_full_disk_leaves_no_directory() {
    for set in SETS.iter().filter(|set| set.folder != ".") {
        let folder = Folder::new();
        let mut shell = Command::new("sh");
        let script = r#"ulimit -f 0; trap "" XFSZ; exec "$0" "$@""#;
        shell.args(["-c", script, env!("CARGO_BIN_EXE_onnx")]).args(set.args.split(' '));
        let mut child = shell
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), chain(1).as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2), "{}", set.args);
        assert!(folder.list().is_empty(), "{}: {:?}", set.args, folder.list());
    }
}
