//! A program that waits for something that never happens is named and ended, instead of the whole run being lost with its output.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// After this time, prints the processes that this one has started and the file that some of them write to, ends them, and
/// exits with status 1. A run that ends before is not affected.
pub(crate) fn start(limit: Duration, log: PathBuf) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        println!("\n{}", String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()));
        let started = descendants(std::process::id(), &processes());
        println!("\nnot ended after {} s; these processes are ended now:", limit.as_secs());
        for process in &started {
            println!("{:>8}  {}", process.id, process.text);
        }
        // Not waited for: the step that loses its process must not begin the next one.
        let ids = started.iter().map(|process| process.id.to_string());
        let _ = Command::new("kill").args(["-s", "KILL"]).args(ids).stderr(Stdio::null()).spawn();
        std::process::exit(1);
    });
}

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    /// The time since it started, and its arguments.
    text: String,
}

/// All processes, or none where `ps` is missing.
fn processes() -> Vec<Process> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,etime=,args="]).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().filter_map(process).collect()
}

/// Reads a line of [`processes`].
fn process(line: &str) -> Option<Process> {
    let (id, rest) = line.trim_start().split_once(' ')?;
    let (parent, text) = rest.trim_start().split_once(' ')?;
    Some(Process { id: id.parse().ok()?, parent: parent.parse().ok()?, text: text.trim().to_owned() })
}

/// What a process has started, directly and indirectly. Parents come first, so that none starts another child meanwhile.
fn descendants(of: u32, all: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = all.iter().filter(|process| process.parent == of).cloned().collect();
    let mut next = 0;
    while next < found.len() {
        let parent = found[next].id;
        found.extend(all.iter().filter(|process| process.parent == parent).cloned());
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{descendants, process};

    #[test]
    fn descendants_are_found_through_all_generations() {
        let lines = [
            "    1     0 10:00 init",
            " 20 1 05:00 cargo xtask ci",
            "21 20 04:00 sh -c 'a  b'",
            "22 21 03:00 sleep 9",
            "30 1 01:00 other",
        ];
        let all: Vec<_> = lines.iter().filter_map(|line| process(line)).collect();
        let ids = |of| descendants(of, &all).iter().map(|process| process.id).collect::<Vec<_>>();
        assert_eq!(all.len(), lines.len());
        assert_eq!(all[2].text, "04:00 sh -c 'a  b'");
        assert_eq!((ids(20), ids(22), ids(1)), (vec![21, 22], vec![], vec![20, 30, 21, 22]));
    }
}
