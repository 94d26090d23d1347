//! Reading and writing files: the promises of `onnx_codec::file`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests may fail")]
#![cfg(unix)]

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_codec::file::{read, write_atomically, write_segments};
use onnx_proto::wire::{Segments, Writer};

const MODES: [ReadMode; 2] = [ReadMode::Memory, ReadMode::Map];

/// The names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn put(path: &Path, contents: &[u8]) -> Result<(), onnx_codec::FileError> {
    write_atomically(path, |out| out.write_all(contents))
}

fn segments(payload: &Bytes) -> Segments {
    let mut writer = Writer::new();
    writer.int64(1, 10);
    for _ in 0..3000 {
        writer.bytes(2, payload);
        writer.string(3, "between");
    }
    writer.finish()
}

#[test]
fn both_modes_read_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for contents in [b"".as_slice(), b"x", &[7; 100_000]] {
        fs::write(&path, contents).unwrap();
        for mode in MODES {
            assert_eq!(read(&path, mode).unwrap(), contents, "{mode:?}");
        }
    }
}

#[test]
fn errors_name_the_path() {
    let dir = tempfile::tempdir().unwrap();
    for mode in MODES {
        let error = read(dir.path().join("no\u{1b}ne"), mode).unwrap_err().to_string();
        assert!(error.contains("no\\u{1b}ne: cannot be read: "), "{error}");
        assert!(read(dir.path(), mode).unwrap_err().to_string().contains("directory"));
    }
    let error = put(&dir.path().join("none/file"), b"").unwrap_err().to_string();
    assert!(error.contains(": cannot be written: "), "{error}");
}

#[test]
fn a_pipe_is_copied_in_both_modes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for mode in MODES {
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&path, "through the pipe").unwrap());
            assert_eq!(read(&path, mode).unwrap(), b"through the pipe".as_slice());
        });
    }
}

#[test]
fn a_file_is_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    put(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    put(&path, b"newer").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    let segments = segments(&Bytes::from(vec![1; 5000]));
    assert!(segments.iter().count() > 2048);
    write_segments(&path, &segments).unwrap();
    assert!(fs::read(&path).unwrap() == segments.to_vec());
    write_segments(&path, &Segments::default()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn a_failure_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    put(&path, b"old").unwrap();
    for written in [0, 10, 1 << 20] {
        let error = write_atomically(&path, |out| {
            out.write_all(&vec![0; written])?;
            Err(io::Error::other("injected"))
        });
        assert!(error.unwrap_err().to_string().ends_with("file: cannot be written: injected"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["file"]);
    }
    // The same when the function panics.
    let panicked = std::panic::catch_unwind(|| write_atomically(&path, |_| panic!("injected")));
    assert!(panicked.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["file"]);
    // And if the file did not exist.
    assert!(write_atomically(dir.path().join("other"), |_| Err(io::Error::other("injected"))).is_err());
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn readers_see_the_old_or_the_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    put(&path, &[0; 4096]).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..100_u8).for_each(|byte| put(&path, &[byte; 4096]).unwrap()));
        while !writer.is_finished() {
            let contents = fs::read(&path).unwrap();
            assert!(contents.len() == 4096 && contents.iter().all(|byte| *byte == contents[0]));
        }
    });
}

#[test]
fn permissions_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    put(&path, b"1").unwrap();
    let plain = dir.path().join("plain");
    fs::write(&plain, b"").unwrap();
    assert_eq!(mode(&path), mode(&plain), "a new file is like any other");
    for bits in [0o600, 0o640, 0o444, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        put(&path, b"2").unwrap();
        assert_eq!(mode(&path), bits);
    }
}

#[test]
fn only_regular_files_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("dir")).unwrap();
    let bits = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, bits, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let before = names(dir.path());
    for (name, message) in [
        ("dir", "a directory"),
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
        ("dir/", "names no file"),
        ("dir/..", "names no file"),
        ("new/", "names no file"),
    ] {
        let error = put(&path(name), b"x").unwrap_err().to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
    assert!(put(Path::new("/dev/null"), b"x").unwrap_err().to_string().contains("a device"));
    assert!(put(Path::new(""), b"x").is_err());
    assert!(put(Path::new("/"), b"x").is_err());
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_link_stays_and_its_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("blobs")).unwrap();
    fs::write(path("blobs/1"), "old").unwrap();
    symlink("blobs/1", path("direct")).unwrap();
    symlink("direct", path("link")).unwrap();
    put(&path("link"), b"new").unwrap();
    assert!(path("link").is_symlink() && path("direct").is_symlink());
    assert_eq!(fs::read(path("blobs/1")).unwrap(), b"new");
    assert_eq!(names(&path("blobs")), ["1"]);

    symlink("nowhere", path("dangling")).unwrap();
    assert!(put(&path("dangling"), b"x").unwrap_err().to_string().contains("leads nowhere"));
    symlink("loop", path("loop")).unwrap();
    assert!(put(&path("loop"), b"x").is_err());
    symlink("blobs", path("dirlink")).unwrap();
    assert!(put(&path("dirlink"), b"x").unwrap_err().to_string().contains("a directory"));
    put(&path("dirlink/2"), b"two").unwrap();
    assert_eq!(fs::read(path("blobs/2")).unwrap(), b"two");
}

#[test]
fn other_names_of_the_file_keep_the_old_contents() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("file"), dir.path().join("other"));
    put(&path, b"old").unwrap();
    fs::hard_link(&path, &other).unwrap();
    put(&path, b"new").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"old");
}

#[test]
fn a_file_may_be_written_over_itself_while_it_is_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let payload: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    put(&path, &payload).unwrap();
    let mapped = read(&path, ReadMode::Map).unwrap();
    let mut writer = Writer::new();
    writer.string(1, "shifts everything");
    writer.bytes(2, &mapped);
    let segments = writer.finish();
    write_segments(&path, &segments).unwrap();
    assert!(mapped == payload, "the map shows the old file");
    let written = fs::read(&path).unwrap();
    assert!(written == segments.to_vec() && written.ends_with(&payload));
    // Shrinking the file by replacing it does not fault either.
    put(&path, b"").unwrap();
    assert!(mapped == payload);
}

#[test]
fn a_relative_path_without_directory_works() {
    // The current directory of a test is its package.
    let name = ".test-of-relative-paths.tmp";
    put(Path::new(name), b"x").unwrap();
    assert_eq!(fs::read(name).unwrap(), b"x");
    fs::remove_file(name).unwrap();
}

#[test]
fn long_and_odd_names() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["n".repeat(255), "-rf".into(), "a\nb".into(), "#".into(), "...".into()] {
        put(&dir.path().join(&name), b"x").unwrap();
        assert_eq!(read(dir.path().join(&name), ReadMode::Map).unwrap(), b"x".as_slice());
    }
    assert!(put(&dir.path().join("n".repeat(256)), b"x").is_err());
    use std::os::unix::ffi::OsStrExt;
    put(&dir.path().join(std::ffi::OsStr::from_bytes(b"\xff")), b"x").unwrap();
}
