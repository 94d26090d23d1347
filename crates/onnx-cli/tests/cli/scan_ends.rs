//! `onnx scan` that ends early, and is continued: every file has one row.

use serde_json::Value;

use crate::run::{Folder, onnx};

const GOOD: &str =
    "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }";

/// A directory with models, `models/0.onnx` and so on.
fn folder(models: usize) -> Folder {
    let folder = Folder::with("good.onnxtxt", GOOD);
    onnx(&folder, "convert good.onnxtxt -o good.onnx").exits(0);
    let model = folder.get("good.onnx");
    for index in 0..models {
        folder.put(&format!("models/{index}.onnx"), &model);
    }
    folder
}

/// The paths of the rows in a file.
#[track_caller]
fn paths(folder: &Folder, file: &str) -> Vec<String> {
    let text = String::from_utf8(folder.get(file)).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let path = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!((&row["ok"], &row["stage"]), (&true.into(), &"done".into()), "{row}");
        row["path"].as_str().unwrap().to_owned()
    };
    text.lines().map(path).collect()
}

/// A name on the command line that does not exist is an error, as for other commands; the others have rows.
#[test]
fn what_does_not_exist_is_an_error() {
    let folder = folder(2);
    let missing = "missing: cannot be read: No such file or directory";
    let run = onnx(&folder, "scan missing").exits(2).says(missing);
    assert_eq!(run.out, "");
    onnx(&folder, "check missing").exits(2).says(missing);
    let run =
        onnx(&folder, "scan models missing missing good.onnx/x.onnx -o rows.jsonl").exits(2).says(missing);
    assert_eq!(run.err.matches(missing).count(), 1, "{}", run.err);
    assert!(run.err.contains("good.onnx/x.onnx: cannot be read"), "{}", run.err);
    assert_eq!(paths(&folder, "rows.jsonl").len(), 2);
    onnx(&folder, "scan model").exits(2).says("did you mean `models`?");
    // A file that had its row may be gone.
    std::fs::remove_file(folder.path().join("models/1.onnx")).unwrap();
    onnx(&folder, "scan models/0.onnx models/1.onnx -o rows.jsonl --resume").exits(0).says("0 rows");
}

/// A row is that of the file that its path names, however it is written.
#[test]
fn rows_are_compared_by_the_files_that_they_name() {
    let folder = folder(3);
    let root = folder.path().canonicalize().unwrap().display().to_string();
    let spellings =
        ["models", "./models", "models/", &format!("{root}/models"), "models/../models", ".//models/."];
    for form in ["jsonl", "csv"] {
        for (first, then) in spellings.iter().zip(spellings.iter().cycle().skip(1)) {
            onnx(&folder, &format!("scan {first} -o rows.{form} --force")).exits(0);
            let rows = folder.get(&format!("rows.{form}"));
            let scan = format!("scan {then} -o rows.{form} --resume");
            onnx(&folder, &scan).exits(0).says("0 rows").says("3 rows present before");
            assert_eq!(folder.get(&format!("rows.{form}")), rows, "{first} {then}");
        }
    }
    // Other files with the same names are others.
    for index in 0..3 {
        folder.put(&format!("other/models/{index}.onnx"), folder.get("good.onnx"));
    }
    onnx(&folder, "scan models -o rows.jsonl --force").exits(0);
    onnx(&folder, "scan other/models -o rows.jsonl --resume").exits(0).says("3 rows: ").lacks("present");
    assert_eq!(paths(&folder, "rows.jsonl").len(), 6);
}

/// One row is missing at a time: it is that file which is scanned, whatever the others are called.
#[cfg(unix)]
#[test]
fn links_and_files_do_not_take_rows_of_each_other() {
    let folder = folder(2);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link("models", "linked");
    link("0.onnx", "models/link.onnx");
    onnx(&folder, "scan models linked -o rows.jsonl").exits(0);
    let all = paths(&folder, "rows.jsonl");
    assert_eq!(all.len(), 6);
    let text = String::from_utf8(folder.get("rows.jsonl")).unwrap();
    for missing in 0..6 {
        let kept = text.lines().enumerate().filter(|(index, _)| *index != missing);
        folder.put("rows.jsonl", kept.map(|(_, line)| format!("{line}\n")).collect::<String>());
        onnx(&folder, "scan models linked -o rows.jsonl --resume").exits(0).says("1 row: ");
        let mut again = paths(&folder, "rows.jsonl");
        again.sort();
        let mut all = all.clone();
        all.sort();
        assert_eq!(again, all);
    }
}

/// Ctrl-C reports what was done and how to continue, and the file that was being read has no row.
#[cfg(target_os = "linux")]
mod signals {
    use std::io::Read as _;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill, killpg};
    use nix::unistd::Pid;

    use super::*;

    /// A model that takes seconds.
    fn add_slow(folder: &Folder) {
        let mut text = GOOD.split('{').next().unwrap().to_owned() + "{ v0 = Neg (x)\n";
        for index in 0..120_000 {
            text.push_str(&format!("v{} = Neg (v{index})\n", index + 1));
        }
        folder.put("slow.onnxtxt", text + "y = Neg (v120000) }");
    }

    fn started(folder: &Folder, args: &str) -> Child {
        let scan = crate::run::command(args.split_whitespace());
        // A shell starts programs in the background with this signal ignored, and what they start inherits that.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(scan.get_program()).args(scan.get_args());
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // The group of a terminal.
        command.process_group(0).spawn().unwrap()
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_raw(i32::try_from(child.id()).unwrap())
    }

    #[track_caller]
    fn wait_for(what: &str, is_true: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_true() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the command said, and the signal that ended it.
    fn ended(mut child: Child) -> (String, Option<i32>) {
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (text, child.wait().unwrap().signal())
    }

    fn lines(folder: &Folder, file: &str) -> usize {
        std::fs::read(folder.path().join(file))
            .map_or(0, |text| text.iter().filter(|&&byte| byte == b'\n').count())
    }

    #[test]
    fn a_scan_that_is_interrupted_says_how_to_continue() {
        let folder = folder(5);
        add_slow(&folder);
        for (signal, flag, help) in [
            (Signal::SIGINT, "", "the same command with `--resume` continues it"),
            (Signal::SIGTERM, " --force", "`--resume` in the place of `--force` continues it"),
        ] {
            let scan = "scan models slow.onnxtxt -o rows.jsonl --jobs 1";
            let child = started(&folder, &format!("{scan}{flag}"));
            // The rows of before are gone when there is a process.
            wait_for("a process", || children(child.id()).len() == 1);
            wait_for("five rows", || lines(&folder, "rows.jsonl") == 5);
            killpg(pid(&child), signal).unwrap();
            let (text, ending) = ended(child);
            assert_eq!(ending, Some(signal as i32), "{text}");
            let message =
                format!("{signal} ended the scan: 5 of 6 files done, and their rows are in rows.jsonl");
            assert!(text.contains(&message) && text.contains(help), "{text}");
            assert_eq!(paths(&folder, "rows.jsonl").len(), 5);
            // The second time, after rows of before.
            let child = started(&folder, &format!("{scan} --resume"));
            wait_for("a process", || children(child.id()).len() == 1);
            kill(pid(&child), signal).unwrap();
            let (text, _) = ended(child);
            assert!(text.contains("0 of 1 file done"), "{text}");
            assert!(
                text.contains("; 5 rows present before") && text.contains("run the same command again"),
                "{text}"
            );
        }
        onnx(&folder, "scan models slow.onnxtxt -o rows.jsonl --resume")
            .exits(0)
            .says("1 row: 1 without errors");
        assert_eq!(paths(&folder, "rows.jsonl").len(), 6);
    }

    #[test]
    fn standard_output_and_quiet_scans_end_by_the_signal() {
        let folder = folder(1);
        add_slow(&folder);
        for (args, message) in [("scan slow.onnxtxt", "`-o rows.jsonl`"), ("-q scan slow.onnxtxt", "")] {
            let child = started(&folder, args);
            wait_for("a process", || children(child.id()).len() == 1);
            kill(pid(&child), Signal::SIGINT).unwrap();
            let (text, ending) = ended(child);
            assert_eq!(ending, Some(Signal::SIGINT as i32));
            assert_eq!(text.is_empty(), message.is_empty(), "{text}");
            assert!(text.contains(message), "{text}");
        }
    }

    /// The children of a process, from the tables of the system.
    fn children(parent: u32) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_child = |id: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            status.lines().any(|line| line == format!("PPid:\t{parent}"))
        };
        ids.filter(is_child).collect()
    }

    /// However the scan ends, its processes do not read on.
    #[test]
    fn no_process_outlives_the_scan() {
        let folder = folder(0);
        add_slow(&folder);
        let child = started(&folder, "scan slow.onnxtxt -o rows.jsonl");
        wait_for("a process", || children(child.id()).len() == 1);
        let worker = children(child.id())[0];
        // It is not done before the scan ends.
        let signaled = Pid::from_raw(i32::try_from(worker).unwrap());
        kill(signaled, Signal::SIGSTOP).unwrap();
        kill(pid(&child), Signal::SIGKILL).unwrap();
        let mut child = child;
        child.wait().unwrap();
        kill(signaled, Signal::SIGCONT).unwrap();
        let is_there = || {
            let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
            !status.is_empty() && !status.contains("State:\tZ")
        };
        wait_for("the end of the process", || !is_there());
        assert_eq!(lines(&folder, "rows.jsonl"), 0);
    }
}
