//! External data in the file system: what a location may open. The cases are numbered T1 to T19 as in the project's list
//! of hostile input.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests may fail")]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use onnx_codec::{Checksum, Containment, FileSource, Limits, ReadMode, SourceNote, verify_checksum};
use onnx_types::tensor::{
    DataError, DataErrorReason, DataSource, ExternalData, Tensor, TensorDims, TensorError,
};
use proptest::prelude::*;
use tempfile::TempDir;

const ALL: [Containment; 3] = [Containment::Strict, Containment::Contained, Containment::Trusted];
const MODES: [ReadMode; 2] = [ReadMode::Memory, ReadMode::Map];
const SECRET: &[u8] = b"the secret";

/// `model/` with `w.bin` and `sub/w.bin`, next to `model2/secret` and `secret`.
struct World {
    root: TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let world = Self { root };
        fs::create_dir_all(world.path("model/sub")).unwrap();
        fs::create_dir_all(world.path("model2")).unwrap();
        fs::write(world.path("model/w.bin"), b"0123456789").unwrap();
        fs::write(world.path("model/sub/w.bin"), b"abcdef").unwrap();
        fs::write(world.path("secret"), SECRET).unwrap();
        fs::write(world.path("model2/secret"), SECRET).unwrap();
        world
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    fn source(&self, containment: Containment, mode: ReadMode) -> FileSource {
        let source = FileSource::for_model(self.path("model/model.onnx")).unwrap();
        source.with_containment(containment).with_mode(mode)
    }

    /// Checks what reading all of `location` gives in the three modes: the contents, or a part of the message.
    #[track_caller]
    fn check(&self, location: &str, expected: [Result<&str, &str>; 3]) {
        for (containment, expected) in ALL.into_iter().zip(expected) {
            for mode in MODES {
                let found = self.source(containment, mode).read(location, 0, None);
                let what = format!("{location:?} {containment:?} {mode:?}: {found:?}");
                match (expected, found) {
                    (Ok(contents), Ok(bytes)) => assert_eq!(bytes, contents.as_bytes(), "{what}"),
                    (Err(message), Err(error)) => assert!(error.to_string().contains(message), "{what}"),
                    _ => panic!("{what}"),
                }
            }
        }
    }

    #[track_caller]
    fn refuses(&self, location: &str, message: &str) {
        self.check(location, [Err(message); 3]);
    }
}

#[test]
fn t1_traversal_is_refused() {
    let world = World::new();
    for location in [
        "..",
        "../x",
        "../secret",
        "a/../../secret",
        "./../secret",
        "a//../..//secret",
        "sub/..",
        "sub/../w.bin",
        "sub/../../secret",
        "../model/w.bin",
        "w.bin/..",
        "..\\secret",
        "sub\\..\\..\\secret",
    ] {
        world.refuses(location, "must not contain the component `..`");
    }
    let absolute = world.path("secret");
    world.refuses(absolute.to_str().unwrap(), "must be relative");
    world.refuses(&format!("/{}", absolute.display()), "must be relative");
}

#[test]
fn t2_links_inside_and_outside() {
    let world = World::new();
    let link = |target: &str, name: &str| symlink(target, world.path("model").join(name)).unwrap();
    let strict = Err("symbolic link, which strict containment");
    let outside = Err("outside the directory of the model");
    let secret = Ok("the secret");

    link("w.bin", "inside");
    world.check("inside", [strict, Ok("0123456789"), Ok("0123456789")]);
    link("sub", "dir");
    world.check("dir/w.bin", [strict, Ok("abcdef"), Ok("abcdef")]);
    link("../model/sub/w.bin", "around");
    world.check("around", [strict, Ok("abcdef"), Ok("abcdef")]);
    link("../secret", "out");
    world.check("out", [strict, outside, secret]);
    link("..", "up");
    world.check("up/secret", [strict, outside, secret]);
    world.check("up/model/w.bin", [strict, Ok("0123456789"), Ok("0123456789")]);
    let absolute = world.path("secret");
    link(absolute.to_str().unwrap(), "absolute");
    world.check("absolute", [strict, outside, secret]);
    let absolute = world.path("model/w.bin");
    link(absolute.to_str().unwrap(), "absolute_inside");
    world.check("absolute_inside", [strict, Ok("0123456789"), Ok("0123456789")]);
    // T7: a directory whose name begins like the root's.
    link("../model2/secret", "sibling");
    world.check("sibling", [strict, outside, secret]);

    link("loop2", "loop1");
    link("loop1", "loop2");
    world.check("loop1", [strict, Err("cycle"), Err("cycle")]);
    link("nowhere", "dangling");
    world.check("dangling", [strict, Err("leads nowhere"), Err("no such file")]);
    link("../nowhere", "dangling_out");
    world.check("dangling_out", [strict, Err("leads nowhere"), Err("no such file")]);
    link(".", "self");
    world.check("self/self/w.bin", [strict, Ok("0123456789"), Ok("0123456789")]);
    world.check("self", [strict, Err("a directory"), Err("a directory")]);
}

#[test]
#[cfg(target_os = "linux")]
fn t2_links_to_the_process_table() {
    let world = World::new();
    for (index, target) in ["/proc/self/environ", "/proc/self/mem", "/proc/version", "/sys/kernel/mm/ksm/run"]
        .into_iter()
        .filter(|target| Path::new(target).exists())
        .enumerate()
    {
        let name = format!("proc{index}");
        symlink(target, world.path("model").join(&name)).unwrap();
        let strict = Err("symbolic link, which strict");
        world.check(&name, [strict, Err("outside the directory"), Err("view of the system's state")]);
    }
    // A link of the kernel to an open file: it leads to the file, not to a path.
    let open = fs::File::open(world.path("secret")).unwrap();
    let target = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
    symlink(&target, world.path("model/magic")).unwrap();
    world
        .check("magic", [Err("symbolic link, which strict"), Err("outside the directory"), Ok("the secret")]);
    symlink("/proc/self/fd", world.path("model/fds")).unwrap();
    let location = format!("fds/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
    world.check(&location, [Err("symbolic link, which strict"), Err("outside the dir"), Ok("the secret")]);
    // The directory of the model itself may be strange.
    let source = FileSource::in_directory("/proc/self").unwrap();
    assert!(source.read("environ", 0, None).unwrap_err().to_string().contains("view of the system's state"));
}

/// The layout of a download cache: `snapshots/<revision>/model.onnx` links to `blobs/<digest>`, and so do its weights.
#[test]
fn t2_links_of_a_cache_are_followed() {
    let world = World::new();
    fs::create_dir_all(world.path("snapshots/1")).unwrap();
    fs::create_dir_all(world.path("blobs")).unwrap();
    fs::write(world.path("blobs/m"), "model").unwrap();
    fs::write(world.path("blobs/d"), "data").unwrap();
    symlink("../../blobs/m", world.path("snapshots/1/model.onnx")).unwrap();
    symlink("../../blobs/d", world.path("snapshots/1/model.onnx_data")).unwrap();
    symlink("../../secret", world.path("snapshots/1/secret")).unwrap();
    let source = |containment| {
        FileSource::for_model(world.path("snapshots/1/model.onnx")).unwrap().with_containment(containment)
    };
    let contained = source(Containment::Contained);
    assert_eq!(contained.read("model.onnx_data", 0, None).unwrap(), b"data".as_slice());
    assert!(contained.read("secret", 0, None).is_err());
    assert!(source(Containment::Strict).read("model.onnx_data", 0, None).is_err());
    // Without a model that is a link, nothing widens the root.
    let plain = FileSource::in_directory(world.path("snapshots/1")).unwrap();
    assert!(plain.read("model.onnx_data", 0, None).is_err());
}

#[test]
fn t4_hard_links() {
    let world = World::new();
    fs::hard_link(world.path("secret"), world.path("model/hard")).unwrap();
    world.check("hard", [Err("2 names (hard links)"), Ok("the secret"), Ok("the secret")]);
    let source = world.source(Containment::Contained, ReadMode::Memory);
    source.read("w.bin", 0, None).unwrap();
    assert!(source.notes().is_empty());
    source.read("hard", 0, None).unwrap();
    source.read("./hard", 1, None).unwrap();
    assert_eq!(source.notes(), [SourceNote::HardLinked { location: "hard".into(), links: 2 }]);
    assert!(source.notes()[0].to_string().contains("`hard` is a file with 2 names"));
}

#[test]
fn t5_t10_ranges() {
    let world = World::new();
    for mode in MODES {
        let source = world.source(Containment::Contained, mode);
        let read = |offset, length| source.read("w.bin", offset, length);
        assert_eq!(read(0, None).unwrap(), b"0123456789".as_slice());
        assert_eq!(read(3, Some(4)).unwrap(), b"3456".as_slice());
        assert_eq!(read(10, None).unwrap(), b"".as_slice());
        assert_eq!(read(10, Some(0)).unwrap(), b"".as_slice());
        assert_eq!(source.len("w.bin"), Ok(10));
        for (offset, length) in [
            (u64::MAX - 1, Some(4)),
            (u64::MAX, None),
            (u64::MAX, Some(u64::MAX)),
            (0, Some(u64::MAX)),
            (0, Some(11)),
            (11, None),
            (11, Some(0)),
            (1 << 63, Some(1)),
            (9, Some(2)),
            (1, Some(i64::MAX as u64)),
        ] {
            let error = read(offset, length).unwrap_err();
            assert_eq!(error.reason, DataErrorReason::OutOfRange { file_len: 10 }, "{offset} {length:?}");
            assert!(error.to_string().contains("`w.bin`") && error.to_string().contains("10 bytes"));
        }
    }
}

#[test]
fn t9_the_marker_of_memory_addresses_is_refused() {
    let world = World::new();
    fs::create_dir_all(world.path("model/*/_ORT_MEM_ADDR_")).unwrap();
    fs::write(world.path("model/*/_ORT_MEM_ADDR_/*"), "x").unwrap();
    for location in ["*/_ORT_MEM_ADDR_/*", "./*/_ORT_MEM_ADDR_/*", "*//_ORT_MEM_ADDR_/./*"] {
        world.refuses(location, "address in another process's memory");
    }
}

#[test]
fn t11_digests_are_compared_on_request() {
    let world = World::new();
    for mode in MODES {
        let source = world.source(Containment::Contained, mode);
        let sha1 = "87acec17cd9dcd20a716cc2cf67417b71c8a7016";
        let place = |digest: &str| ExternalData::new("w.bin").with_checksum(digest);
        assert_eq!(verify_checksum(&place(sha1), &source), Ok(Checksum::Matches));
        assert_eq!(verify_checksum(&place(&sha1.to_uppercase()), &source), Ok(Checksum::Matches));
        assert_eq!(verify_checksum(&ExternalData::new("w.bin"), &source), Ok(Checksum::Absent));
        let differs = Checksum::Differs { stated: "00".into(), found: sha1.into() };
        assert_eq!(verify_checksum(&place("00"), &source), Ok(differs));
        let lost = ExternalData::new("lost").with_checksum(sha1);
        assert!(verify_checksum(&lost, &source).is_err());
        assert!(verify_checksum(&place(sha1).with_checksum(""), &source).is_ok());
        assert!(verify_checksum(&ExternalData::default(), &source).is_err());
    }
    // A file longer than one step.
    fs::write(world.path("model/long"), vec![0; 9 << 20]).unwrap();
    let source = world.source(Containment::Contained, ReadMode::Memory);
    let place = ExternalData::new("long").with_checksum("3ecc9e66b1b71b4f0acb9a0c82f25bbaa0a7f8c7");
    let Checksum::Differs { found, .. } = verify_checksum(&place, &source).unwrap() else { panic!() };
    let again = ExternalData::new("long").with_checksum(found);
    assert_eq!(verify_checksum(&again, &source), Ok(Checksum::Matches));
}

#[test]
fn t12_t14_a_tensor_reads_the_bytes_it_implies() {
    let world = World::new();
    let source = world.source(Containment::Contained, ReadMode::Memory);
    let tensor = |place: ExternalData| {
        Tensor::from_parts(2, TensorDims::from_slice(&[4]), onnx_types::tensor::Payload::External(place))
    };
    let bytes = |place| tensor(place).bytes(&source);
    // Absent length: four elements of one byte.
    assert_eq!(bytes(ExternalData::new("w.bin").with_offset(2)).unwrap(), b"2345".as_slice());
    assert_eq!(bytes(ExternalData::new("w.bin").with_length(4)).unwrap(), b"0123".as_slice());
    assert!(bytes(ExternalData::new("w.bin").with_offset(7)).is_err());
    let wrap = bytes(ExternalData::new("w.bin").with_offset(u64::MAX - 1).with_length(4));
    assert!(matches!(
        wrap,
        Err(TensorError::Data(DataError { reason: DataErrorReason::OutOfRange { .. }, .. }))
    ));
}

#[test]
fn t15_names_with_dots_are_names() {
    let world = World::new();
    for name in ["a..b", "...", "..a", "b..", ".hidden"] {
        fs::write(world.path("model").join(name), name).unwrap();
        world.check(name, [Ok(name); 3]);
    }
}

#[test]
fn t16_odd_names() {
    let world = World::new();
    for name in [
        "#w",
        "-rf",
        "a\nb",
        "CON",
        "ab:stream",
        "a b",
        "\u{1b}[31m",
        "é",
        "%2e%2e",
        "~",
        "$HOME",
        "*",
        "a\\b",
    ] {
        fs::write(world.path("model").join(name), name).unwrap();
        world.check(name, [Ok(name); 3]);
    }
    for name in ["C:x", "C:\\x", "\\\\?\\C:\\x", "\\x"] {
        fs::write(world.path("model").join(name), name).unwrap();
        world.refuses(name, "must be relative");
    }
    world.refuses("a\0b", "NUL");
    world.refuses("", "empty");
    for directory in [".", "./", "sub/", "sub/.", "w.bin/"] {
        world.refuses(directory, "names a directory");
    }
    // A control character in a location does not reach the terminal.
    let error = world.source(Containment::Strict, ReadMode::Memory).read("\u{1b}[31m?", 0, None).unwrap_err();
    assert!(!error.to_string().contains('\u{1b}'));
}

#[test]
fn t16_long_names() {
    let world = World::new();
    let source = world.source(Containment::Contained, ReadMode::Memory);
    let long = "n".repeat(255);
    fs::write(world.path("model").join(&long), "x").unwrap();
    assert_eq!(source.read(&long, 0, None).unwrap(), b"x".as_slice());
    for length in [256, 4096, 100_000] {
        assert!(matches!(
            source.read(&"n".repeat(length), 0, None).unwrap_err().reason,
            DataErrorReason::Io(_)
        ));
    }
    // A path of more than 4 KB whose components are short.
    assert!(source.read(&"d/".repeat(3000).add("w"), 0, None).is_err());
    assert_eq!(source.read(&"./".repeat(3000).add("w.bin"), 0, Some(1)).unwrap(), b"0".as_slice());
}

use std::ops::Add;

#[test]
fn t16_a_directory_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let dir = world.root.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("w"), "x").unwrap();
    symlink("w", dir.join("link")).unwrap();
    let source = FileSource::for_model(dir.join("m.onnx")).unwrap();
    assert_eq!(source.read("w", 0, None).unwrap(), b"x".as_slice());
    assert_eq!(source.read("link", 0, None).unwrap(), b"x".as_slice());
}

/// T17: who gives no source reads no file, and the bytes of a model are never a reason to open one.
#[test]
fn t17_without_a_source_nothing_is_read() {
    let world = World::new();
    let path = world.path("model/w.bin");
    for location in ["w.bin", path.to_str().unwrap(), "/etc/passwd", "Cargo.toml"] {
        let payload = onnx_types::tensor::Payload::External(ExternalData::new(location));
        let tensor = Tensor::from_parts(2, TensorDims::from_slice(&[4]), payload);
        let error = tensor.bytes(&onnx_types::tensor::NoData).unwrap_err();
        assert!(matches!(error, TensorError::Data(_)), "{error}");
    }
}

#[test]
fn t18_only_regular_files() {
    let world = World::new();
    let fifo = world.path("model/fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    world.refuses("fifo", "named pipe, not a regular file");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("model/socket")).unwrap();
    world.refuses("socket", "not a regular file");
    world.refuses("sub", "a directory, not a regular file");
    world.refuses("none", "no such file");
    world.refuses("w.bin/x", "ot a directory");
    for device in ["zero", "null", "tty"] {
        symlink(Path::new("/dev").join(device), world.path("model").join(device)).unwrap();
    }
    let strict = Err("symbolic link, which strict");
    world.check("zero", [strict, Err("outside the directory"), Err("a device, not a regular file")]);
    world.check("null", [strict, Err("outside the directory"), Err("a device, not a regular file")]);
    let source = FileSource::in_directory("/dev").unwrap();
    assert!(source.read("zero", 0, Some(1)).unwrap_err().to_string().contains("a device"));
}

#[test]
fn an_empty_file_and_an_empty_directory_name() {
    let world = World::new();
    fs::write(world.path("model/empty"), "").unwrap();
    world.check("empty", [Ok(""); 3]);
    // The current directory of a test is its package.
    for source in [FileSource::for_model("model.onnx"), FileSource::in_directory("")] {
        let source = source.unwrap();
        assert_eq!(source.len("Cargo.toml").unwrap(), fs::metadata("Cargo.toml").unwrap().len());
        assert!(source.read("../onnx-types/Cargo.toml", 0, None).is_err());
    }
    assert!(FileSource::in_directory(world.path("none")).is_err());
    assert!(FileSource::in_directory(world.path("secret")).is_err());
}

#[test]
fn t8_what_is_open_stays_what_it_was() {
    let world = World::new();
    for mode in MODES {
        fs::write(world.path("model/w.bin"), b"0123456789").unwrap();
        let source = world.source(Containment::Contained, mode);
        assert_eq!(source.read("w.bin", 0, Some(4)).unwrap(), b"0123".as_slice());
        fs::write(world.path("model/new"), b"xxxxxxxxxx").unwrap();
        fs::rename(world.path("model/new"), world.path("model/w.bin")).unwrap();
        assert_eq!(source.read("w.bin", 4, Some(4)).unwrap(), b"4567".as_slice(), "{mode:?}");
        // The directory itself may be exchanged too: the handle is what counts.
        fs::rename(world.path("model"), world.path("moved")).unwrap();
        fs::create_dir_all(world.path("model/sub")).unwrap();
        fs::write(world.path("model/sub/w.bin"), SECRET).unwrap();
        assert_eq!(source.read("sub/w.bin", 0, None).unwrap(), b"abcdef".as_slice(), "{mode:?}");
        fs::remove_dir_all(world.path("model")).unwrap();
        fs::rename(world.path("moved"), world.path("model")).unwrap();
    }
}

#[test]
fn t19_a_file_that_shrinks_is_an_error_when_copied() {
    let world = World::new();
    let source = world.source(Containment::Contained, ReadMode::Memory);
    assert_eq!(source.len("w.bin"), Ok(10));
    fs::write(world.path("model/w.bin"), b"01").unwrap();
    let error = source.read("w.bin", 0, Some(10)).unwrap_err();
    assert_eq!(error.reason, DataErrorReason::ShortRead { found: 2 });
}

#[test]
fn many_files_and_limits() {
    let world = World::new();
    for index in 0..300 {
        fs::write(world.path("model").join(format!("f{index}")), index.to_string()).unwrap();
    }
    for mode in MODES {
        let source = world.source(Containment::Contained, mode);
        for index in (0..300).chain(0..300) {
            let bytes = source.read(&format!("f{index}"), 0, None).unwrap();
            assert_eq!(bytes, index.to_string().as_bytes());
        }
    }
    // A file whose handle was given up and that changed meanwhile is not silently another one.
    let source = world.source(Containment::Contained, ReadMode::Memory);
    source.read("w.bin", 0, None).unwrap();
    (0..300).for_each(|index| assert!(source.read(&format!("f{index}"), 0, None).is_ok()));
    fs::write(world.path("model/w.bin"), b"other").unwrap();
    assert!(source.read("w.bin", 0, None).unwrap_err().to_string().contains("changed or replaced"));

    let source = world
        .source(Containment::Contained, ReadMode::Memory)
        .with_limits(&Limits { external_files: 2, ..Limits::default() });
    assert!(source.read("f1", 0, None).is_ok() && source.read("f2", 0, None).is_ok());
    assert!(source.read("./f1", 0, None).is_ok());
    assert!(source.read("f3", 0, None).unwrap_err().to_string().contains("`external_files`"));

    // A file with holes claims any size without taking room.
    let holes = fs::File::create(world.path("model/holes")).unwrap();
    holes.set_len(1 << 40).unwrap();
    let source = world.source(Containment::Contained, ReadMode::Memory);
    assert!(source.read("holes", 0, None).unwrap_err().to_string().contains("`external_bytes`"));
    assert_eq!(source.read("holes", 1 << 39, Some(3)).unwrap(), [0, 0, 0].as_slice());
    let source = source.with_limits(&Limits { external_bytes: u64::MAX, ..Limits::default() });
    assert!(source.read("holes", 0, Some(1 << 41)).is_err());
}

/// T8: another thread exchanges a file, a link to it and a directory as fast as it can.
#[test]
fn t8_a_race_never_reads_the_secret() {
    for containment in [Containment::Strict, Containment::Contained] {
        let world = World::new();
        symlink("../secret", world.path("evil")).unwrap();
        symlink("../model2", world.path("evil_dir")).unwrap();
        fs::create_dir(world.path("model/d")).unwrap();
        fs::write(world.path("model/d/secret"), "fine").unwrap();
        fs::write(world.path("model/w"), "fine").unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (model, root) = (world.path("model"), world.root.path());
                // A hundred thousand exchanges.
                for _ in 0..50_000 {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    exchange(&root.join("evil"), &model.join("w"));
                    exchange(&root.join("evil_dir"), &model.join("d"));
                }
                stop.store(true, Ordering::Relaxed);
            });
            let (mut read, mut refused) = (0, 0);
            let mut tries = 0;
            while !stop.load(Ordering::Relaxed) {
                tries += 1;
                let source =
                    world.source(containment, if tries % 2 == 0 { ReadMode::Map } else { ReadMode::Memory });
                for location in ["w", "d/secret"] {
                    match source.read(location, 0, None) {
                        Ok(bytes) => {
                            assert_ne!(bytes, SECRET, "{containment:?} {location}");
                            read += 1;
                        }
                        Err(_) => refused += 1,
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
            println!("{containment:?}: {read} read, {refused} refused");
            assert!(read + refused > 0);
        });
    }
}

/// Exchanges two names in one step.
fn exchange(a: &Path, b: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    #[cfg(target_os = "linux")]
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Pieces from which locations are put together.
fn location() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just("/".to_owned()),
        Just("//".to_owned()),
        Just("\\".to_owned()),
        Just("sub".to_owned()),
        Just("w.bin".to_owned()),
        Just("secret".to_owned()),
        Just("out".to_owned()),
        Just("up".to_owned()),
        Just("dir".to_owned()),
        Just("C:".to_owned()),
        Just("model".to_owned()),
        Just("model2".to_owned()),
        Just("\0".to_owned()),
        Just(" ".to_owned()),
        "[a-z./\\\\]{0,4}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// T1: whatever the location, what is read is a file inside the root.
    #[test]
    fn t1_any_location_stays_inside(location in location()) {
        thread_local! {
            static WORLD: World = {
                let world = World::new();
                for (target, name) in [("../secret", "out"), ("..", "up"), ("sub", "dir"), ("../model2", "model2")] {
                    symlink(target, world.path("model").join(name)).unwrap();
                }
                world
            };
        }
        WORLD.with(|world| {
            for containment in [Containment::Strict, Containment::Contained] {
                if let Ok(bytes) = world.source(containment, ReadMode::Memory).read(&location, 0, None) {
                    let inside = [b"0123456789".as_slice(), b"abcdef"];
                    prop_assert!(inside.contains(&&*bytes), "{:?}", location);
                    let real = world.path("model").join(&location).canonicalize().unwrap();
                    prop_assert!(real.starts_with(world.path("model").canonicalize().unwrap()));
                }
            }
            Ok(())
        })?;
    }
}
