//! Limits on the bytes of external data.
#![allow(clippy::unwrap_used, reason = "tests may fail")]

use std::fs;

use onnx_codec::{FileSource, Limits, ReadMode, verify_checksum};
use onnx_types::tensor::{DataSource as _, ExternalData};

/// Whatever size a file claims, reading it costs no more than the limit says, mapped or not.
#[test]
fn a_terabyte_of_holes_ends_at_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let file = fs::File::create(dir.path().join("w")).unwrap();
    file.set_len(1 << 40).unwrap();
    let place = ExternalData::new("w").with_checksum("a9993e364706816aba3e25717850c26c9cd0d89d");
    for mode in [ReadMode::Memory, ReadMode::Map] {
        let source = || FileSource::in_directory(dir.path()).unwrap().with_mode(mode);
        let error = verify_checksum(&place, &source()).unwrap_err().to_string();
        assert!(error.contains("raise the limit `external_bytes`"), "{error}");
        assert!(source().read("w", 0, None).is_err());
        // All ranges of one source count together.
        let source = source().with_limits(&Limits { external_bytes: 10, ..Limits::default() });
        source.read("w", 0, Some(6)).unwrap();
        assert!(source.read("w", 0, Some(6)).unwrap_err().to_string().contains("external_bytes"));
        source.read("w", 1 << 39, Some(4)).unwrap();
        // Another operation begins anew, within the same limits.
        assert!(source.read("w", 0, Some(1)).is_err());
        let restarted = source.restarted().unwrap();
        restarted.read("w", 0, Some(10)).unwrap();
        assert!(restarted.read("w", 0, Some(1)).is_err());
    }
}
