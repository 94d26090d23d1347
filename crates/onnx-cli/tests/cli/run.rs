//! Running the command.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The same, if the exit code is this one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        if code >= 2 {
            self.explains_failures();
        }
        self
    }

    /// Asserts that every failure has a code and says how to proceed, on standard error and in a report as JSON. What is wrong
    /// with arguments is followed by their usage instead.
    #[track_caller]
    fn explains_failures(&self) {
        let is_usage = ["For more information, try '--help'", "\nUsage: onnx "];
        if is_usage.iter().any(|text| self.err.contains(text)) {
            return;
        }
        let errors: Vec<&str> = self.err.lines().filter(|line| line.starts_with("error")).collect();
        assert!(!errors.is_empty(), "{}\n{}", self.out, self.err);
        let is_coded = errors.iter().all(|line| line.starts_with("error[ONNX"));
        let is_explained = self.err.contains("= help: ") || self.err.contains("raise the limit");
        assert!(is_coded && is_explained, "{}", self.err);
        let Ok(report) = serde_json::from_str::<Value>(&self.out) else { return };
        for failure in report["failures"].as_array().into_iter().flatten() {
            assert!(failure["code"].is_string() && failure["help"].is_string(), "{report}");
        }
    }

    /// What both streams say.
    pub(crate) fn told(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The same, if both streams together hold the text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text) || self.err.contains(text), "{text}\n{}\n{}", self.out, self.err);
        self
    }

    /// The same, if neither stream holds the text.
    #[track_caller]
    pub(crate) fn lacks(self, text: &str) -> Self {
        assert!(!self.out.contains(text) && !self.err.contains(text), "{text}\n{}\n{}", self.out, self.err);
        self
    }
}

/// The command with its arguments, in surroundings that do not depend on those of the test.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx"));
    command.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
    command
}

/// Runs the command with arguments separated by spaces.
pub(crate) fn onnx(folder: &Folder, args: &str) -> Run {
    onnx_with(folder, args, &[])
}

/// Runs the command in an address space of this number of kilobytes.
#[cfg(target_os = "linux")]
pub(crate) fn limited(folder: &Folder, args: &str, space: u64) -> Run {
    let mut shell = Command::new("sh");
    let script = format!("ulimit -v {space}; exec \"$0\" {args}");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_onnx")]);
    finished(shell, folder, &[])
}

/// Runs the command with something on standard input.
pub(crate) fn onnx_with(folder: &Folder, args: &str, stdin: &[u8]) -> Run {
    finished(command(args.split_whitespace()), folder, stdin)
}

/// Runs the command with words that may have any characters.
pub(crate) fn onnx_words<'a>(folder: &Folder, words: impl Iterator<Item = &'a str>) -> Run {
    finished(command(words), folder, &[])
}

fn finished(mut command: Command, folder: &Folder, stdin: &[u8]) -> Run {
    let mut child = command
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early does not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().expect("the command was not killed"),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        bytes: output.stdout,
    }
}

/// Runs the command on a terminal that is `columns` wide, and returns its output.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(folder: &Folder, args: &str, columns: u16) -> String {
    use std::io::Read as _;

    let size = nix::pty::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = nix::pty::openpty(Some(&size), None).unwrap();
    let mut child = command(args.split_whitespace())
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(terminal.slave.try_clone().unwrap())
        .stderr(terminal.slave)
        .spawn()
        .unwrap();
    let (mut shown, mut part) = (Vec::new(), [0; 4096]);
    let mut master = std::fs::File::from(terminal.master);
    // The end of a terminal is an error.
    while let Ok(length @ 1..) = master.read(&mut part) {
        shown.extend_from_slice(&part[..length]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// A directory for one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A directory with one file.
    pub(crate) fn with(name: &str, contents: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.put(name, contents);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn put(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        path
    }

    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files, in order, whatever they are.
    #[cfg(target_os = "linux")]
    pub(crate) fn list_os(&self) -> Vec<std::ffi::OsString> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// The names of the files, in order.
    pub(crate) fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
