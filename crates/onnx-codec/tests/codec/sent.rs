//! External data for work that can be ended, and for other processes.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_codec::{FileSource, ReadMode};
use onnx_types::Interrupt;
use onnx_types::tensor::DataSource;
use tempfile::TempDir;

const MODES: [ReadMode; 2] = [ReadMode::Memory, ReadMode::Map];

/// `model/` with `w.bin` and `sub/w.bin`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("model/sub")).unwrap();
    fs::write(folder.path().join("model/w.bin"), b"0123456789").unwrap();
    folder
}

fn source(folder: &TempDir, mode: ReadMode) -> FileSource {
    FileSource::for_model(folder.path().join("model/model.onnx")).unwrap().with_mode(mode)
}

#[test]
fn another_process_reads_the_same_files_and_no_others() {
    let folder = folder();
    let location = "sub/./w.bin";
    for mode in MODES {
        fs::write(folder.path().join("model/sub/w.bin"), b"abcdef").unwrap();
        let source = source(&folder, mode);
        let stamps = BTreeMap::from([(location.to_owned(), source.stamp(location).unwrap())]);
        let sent = || FileSource::of_other_process(&source.directories(), stamps.clone()).with_mode(mode);
        let refusal = |source: &FileSource, location| source.read(location, 0, None).unwrap_err().to_string();

        let there = sent();
        assert_eq!(there.read("sub/w.bin", 0, None).unwrap(), b"abcdef".as_slice());
        // What is sent on has the same files.
        assert_eq!(there.stamp(location).unwrap(), source.stamp(location).unwrap());
        assert_eq!(there.directories(), source.directories());
        assert!(refusal(&sent(), "w.bin").contains("changed or replaced since the model was sent"));

        // Other contents of the same size under the same name.
        fs::write(folder.path().join("model/sub/new.bin"), b"ABCDEF").unwrap();
        fs::rename(folder.path().join("model/sub/new.bin"), folder.path().join("model/sub/w.bin")).unwrap();
        let other = sent();
        assert!(refusal(&other, location).contains("changed or replaced since the model was sent"));
        assert!(other.stamp(location).is_err(), "and it is not sent on");
        fs::remove_file(folder.path().join("model/sub/w.bin")).unwrap();
        assert!(refusal(&sent(), location).contains("there is no such file"));
    }
    let gone = FileSource::of_other_process(&[folder.path().join("gone")], BTreeMap::new());
    let message = gone.read("w.bin", 0, None).unwrap_err().to_string();
    assert!(message.contains("gone: cannot be read"), "{message}");
}

#[test]
fn reading_of_one_range_ends_with_the_interrupt() {
    let folder = folder();
    let file = fs::File::create(folder.path().join("model/large.bin")).unwrap();
    file.set_len(64 << 20).unwrap();
    for checks in [0, 1, 9] {
        let (asked, path) = (AtomicUsize::new(0), folder.path().join("model/large.bin"));
        let interrupt = Interrupt::when(move || asked.fetch_add(1, Ordering::Relaxed) == checks);
        let source = source(&folder, ReadMode::Memory);
        let read = source.read_until("large.bin", 0, None, &interrupt).map(|bytes| bytes.len());
        assert!(read.unwrap_err().to_string().contains("the work was cancelled"));
        let asked = AtomicUsize::new(0);
        let interrupt = Interrupt::when(move || asked.fetch_add(1, Ordering::Relaxed) == checks);
        let read = onnx_codec::file::read_until(path, ReadMode::Memory, &interrupt).map(|bytes| bytes.len());
        assert!(read.unwrap_err().to_string().contains("the work was cancelled"));
    }
    let source = source(&folder, ReadMode::Memory);
    assert_eq!(source.read("large.bin", 3, Some(40 << 20)).unwrap().len(), 40 << 20);
}
