//! Writers that are ended at any moment.

use std::io::Write as _;
use std::time::Duration;

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::*;

/// How a run under the tracer went.
pub(super) struct Traced {
    /// The number of system calls that were begun since the model was given.
    pub(super) calls: usize,
    /// Before which of them the first file of the folder was open for writing.
    pub(super) first: Option<usize>,
}

/// Runs the command, gives it the model, and kills it before it begins system call number `last`.
pub(super) fn traced(folder: &Folder, args: &str, model: &[u8], last: usize) -> Traced {
    let mut child = start(folder, args);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    wait_until_it_reads(pid);
    ptrace::seize(pid, Options::PTRACE_O_TRACESYSGOOD).unwrap();
    ptrace::interrupt(pid).unwrap();
    waitpid(pid, None).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(model).unwrap();
    drop(stdin);
    let (mut calls, mut first, mut inside) = (0, None, true);
    loop {
        if ptrace::syscall(pid, None).is_err() {
            break;
        }
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => inside = !inside,
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => break,
            _ => continue,
        }
        if !inside {
            continue;
        }
        calls += 1;
        if first.is_none() && writes_in(folder, pid) {
            first = Some(calls);
        }
        if calls == last {
            kill(pid, Signal::SIGKILL).unwrap();
            waitpid(pid, None).unwrap();
            break;
        }
    }
    let _ = child.wait();
    Traced { calls, first }
}

/// Waits until a process sleeps in its first read of standard input.
fn wait_until_it_reads(pid: Pid) {
    let mut quiet = 0;
    while quiet < 3 {
        std::thread::sleep(Duration::from_millis(1));
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        let call = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        quiet = if state == Some('S') && call.contains("pipe") { quiet + 1 } else { 0 };
    }
}

fn writes_in(folder: &Folder, pid: Pid) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    let path = folder.path().canonicalize().unwrap();
    links.any(|link| link.starts_with(&path) && !link.is_dir())
}

const SAVE: &str = "convert - -o out.onnx --weights external=w.data --threshold 1 --align 4096";

/// Kills a save at every system call, and gives how many runs that were.
fn kill_everywhere(args: &str, old: Option<&[u8]>, new: &[u8]) -> usize {
    let folder = || match old {
        Some(old) => {
            let folder = Folder::with("old.onnx", old);
            onnx(&folder, "convert old.onnx -o out.onnx --weights external=w.data --threshold 1").exits(0);
            folder
        }
        None => Folder::new(),
    };
    // Where the data changes, that must be wanted.
    let args = &format!("{args}{}", if old.is_some() { " --force" } else { "" });
    let run = traced(&folder(), args, new, usize::MAX);
    let first = run.first.expect("a file was opened for writing");
    let (mut olds, mut news, mut left) = (0, 0, 0);
    for last in first - 1..=run.calls {
        let folder = folder();
        traced(&folder, args, new, last);
        let path = folder.path().join("out.onnx");
        if path.exists() {
            let found = whole(&path);
            assert!(found == new || Some(found.as_slice()) == old, "call {last}: neither pair");
            *if found == new { &mut news } else { &mut olds } += 1;
        } else {
            assert!(old.is_none(), "call {last}: no model");
            olds += 1;
        }
        let names = ["old.onnx", "out.onnx", "w.data"];
        let others = folder.list().into_iter().filter(|name| !names.contains(&name.as_str()));
        left += usize::from(others.count() > 0);
        // The name by which the model reads the data for the time being, if it was killed then.
        let interim = folder.list().into_iter().find(|name| {
            let model = || std::fs::read(&path).unwrap_or_default();
            name.starts_with("w-") && model().windows(name.len()).any(|part| part == name.as_bytes())
        });
        // Whatever is left, the next save succeeds.
        onnx_with(&folder, args, new).exits(0);
        assert!(whole(&path) == new, "call {last}");
        let names = folder.list();
        assert!(interim.is_none_or(|name| !names.contains(&name)), "call {last}: {names:?}");
    }
    assert!(olds > 0 && news > 0, "{olds} {news}");
    // A name that is left is one that was about to be replaced or removed.
    assert!(left < 30, "{left}");
    olds + news
}

/// A process that is killed leaves the old pair or the new one. Other platforms do not have such a tracer.
#[test]
fn a_save_may_be_killed_at_every_system_call() {
    let (old, new) = (models::filled(1.0), models::filled(2.0));
    assert!(kill_everywhere(SAVE, Some(&old), &new) > 40);
    assert!(kill_everywhere(SAVE, None, &new) > 20);
    assert!(kill_everywhere("convert - -o out.onnx --weights embed", Some(&old), &new) > 10);
}

/// Starts a conversion that writes much, and waits until it writes.
fn writing(folder: &Folder, through: Option<&str>) -> Child {
    let data = std::fs::File::create(folder.path().join("w.data")).unwrap();
    data.set_len(400_000_000).unwrap();
    folder.put("in.onnx", models::external_of(100_000_000));
    let args = ["convert", "in.onnx", "-o", "out.onnx", "--weights", "embed"];
    let mut command = match through {
        Some(script) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, env!("CARGO_BIN_EXE_onnx")]).args(args);
            shell
        }
        None => command(args),
    };
    let child =
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let of_output = |link: std::path::PathBuf| {
        let name = link.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with('#') || name.starts_with(".onnx-")
    };
    let is_writing = || {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        links.any(of_output)
    };
    while !is_writing() {
        std::thread::yield_now();
    }
    child
}

/// Starts a conversion that writes much into a file with a temporary name, as if the file system had no others.
#[cfg(target_arch = "x86_64")]
fn writing_with_name(folder: &Folder) -> Child {
    /// `__O_TMPFILE`; a kernel that does not have it sees the rest of the flags, and refuses to write to a directory.
    const TMPFILE: u64 = 0o20_000_000;
    /// The number of `openat`.
    const OPENAT: u64 = 257;

    let data = std::fs::File::create(folder.path().join("w.data")).unwrap();
    data.set_len(400_000_000).unwrap();
    let mut child = start(folder, "convert - -o out.onnx --weights embed --data-dir .");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    wait_until_it_reads(pid);
    ptrace::seize(pid, Options::PTRACE_O_TRACESYSGOOD).unwrap();
    ptrace::interrupt(pid).unwrap();
    waitpid(pid, None).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&models::external_of(100_000_000)).unwrap();
    drop(stdin);
    loop {
        ptrace::syscall(pid, None).unwrap();
        if !matches!(waitpid(pid, None).unwrap(), WaitStatus::PtraceSyscall(_)) {
            continue;
        }
        let mut registers = ptrace::getregs(pid).unwrap();
        if registers.orig_rax == OPENAT && registers.rdx & TMPFILE != 0 {
            registers.rdx &= !TMPFILE;
            ptrace::setregs(pid, registers).unwrap();
            break;
        }
    }
    ptrace::detach(pid, None).unwrap();
    while !has_temporary(folder) {
        assert!(child.try_wait().unwrap().is_none(), "the file has no temporary name");
        std::thread::yield_now();
    }
    child
}

/// The signals that end a process. One that this process ignores is ignored by the processes that it starts, as is SIGINT by
/// those in the background of a shell.
fn signals() -> impl Iterator<Item = Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL];
    signals.into_iter().filter(move |&signal| ignored & (1 << (signal as u32 - 1)) == 0)
}

#[cfg(target_arch = "x86_64")]
fn has_temporary(folder: &Folder) -> bool {
    folder.list().iter().any(|name| name.starts_with(".onnx-"))
}

/// Where temporary files have names, signals that can be caught remove them.
#[test]
#[cfg(target_arch = "x86_64")]
fn an_interrupted_write_removes_named_files() {
    use std::os::unix::process::ExitStatusExt as _;
    for signal in signals() {
        let folder = Folder::new();
        let mut child = writing_with_name(&folder);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        // What ends the process at once leaves the file behind, which shows that it had a name.
        assert_eq!(has_temporary(&folder), signal == Signal::SIGKILL, "{signal}: {:?}", folder.list());
        assert!(!folder.list().contains(&"out.onnx".to_owned()));
    }
}

#[test]
fn an_interrupted_write_leaves_nothing() {
    for signal in signals() {
        use std::os::unix::process::ExitStatusExt as _;
        let folder = Folder::new();
        let mut child = writing(&folder, None);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        assert_eq!(folder.list(), ["in.onnx", "w.data"], "{signal}");
    }
    // As under `nohup`.
    let folder = Folder::new();
    let mut child = writing(&folder, Some(r#"trap "" HUP; exec "$0" "$@""#));
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGHUP).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.list(), ["in.onnx", "out.onnx", "w.data"]);
}
