//! The memory that the machine has for this process.
//!
//! Linux tells it in files; elsewhere, the limits keep their defaults.

use std::fs::read_to_string;
use std::path::Path;

/// The bytes that the values of a run may take: three quarters of the memory that is available to the process, and half of the
/// address space that it may still use, which memory allocators use less densely.
pub(crate) fn usable() -> Option<u64> {
    let memory = [available(), group()].into_iter().flatten().min().map(|bytes| bytes / 4 * 3);
    let space = address_space().map(|bytes| bytes / 2);
    [memory, space].into_iter().flatten().min()
}

/// The memory of the machine that is not in use.
fn available() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    field(&text, "MemAvailable:").or_else(|| field(&text, "MemTotal:"))
}

/// What the control groups of the process, or the container around it, leave.
fn group() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let left = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        match controllers {
            "" => left_in("/sys/fs/cgroup", path, "memory.max", "memory.current"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                left_in("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => None,
        }
    });
    left.min()
}

/// What a group and those around it leave. In a container, the group may be at the root of the files.
fn left_in(root: &str, path: &str, limit: &str, usage: &str) -> Option<u64> {
    let root = Path::new(root);
    let number = |file: &Path| read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let left = |group: &Path| Some(number(&group.join(limit))?.saturating_sub(number(&group.join(usage))?));
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|group| group.starts_with(root)).filter_map(left).min()
}

/// The address space that a limit (`ulimit -v`) leaves.
fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let used = field(&read_to_string("/proc/self/status").ok()?, "VmSize:").unwrap_or(0);
    Some(most.saturating_sub(used))
}

/// A number of kilobytes in a list of names and values.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_bytes() {
        assert_eq!(field("MemTotal: 1 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 << 10));
        assert_eq!(field("MemTotal: 1 kB\n", "MemAvailable:"), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |file: &str, text: &str| std::fs::write(root.path().join(file), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "7\n");
        let left = || left_in(root.path().to_str().unwrap(), "/a/b", "memory.max", "memory.current");
        assert_eq!(left(), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "900\n");
        write("a/b/memory.max", "500\n");
        write("a/b/memory.current", "10\n");
        assert_eq!(left(), Some(100));
    }
}
