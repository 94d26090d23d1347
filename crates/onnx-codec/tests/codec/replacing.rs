//! Which files a write may replace, and that a model and its data are replaced together.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use onnx_codec::file::{FileKind, ReplaceRefusal, Temporaries, write_file};
use onnx_codec::{
    DecodeOptions, EncodeOptions, ExternalizeOptions, FileSource, InlineDataOptions, InputFiles, ReadMode,
    SaveError, WriteOptions, decode, encode, externalize, inline, save,
};
use onnx_ir::Model;
use onnx_types::tensor::{NoData, Tensor};

/// A model with two tensors whose elements are all `value`.
fn model_of(value: f32, counts: &[usize]) -> Model {
    let mut model = Model::new();
    model.info_mut().ir_version = 10;
    for (index, &count) in counts.iter().enumerate() {
        let name = model.intern(&format!("w{index}"));
        model.add_initializer(model.main_graph(), name, Tensor::vector(&vec![value; count]));
    }
    model
}

fn bytes_of(model: &Model) -> Vec<u8> {
    encode(model, &EncodeOptions::default()).unwrap().to_vec()
}

fn open(path: &Path) -> Model {
    let bytes = onnx_codec::file::read(path, ReadMode::Map).unwrap();
    decode(bytes, &DecodeOptions::default()).unwrap().model
}

/// The model with its weights, as a reader of the file gets it.
fn whole(path: &Path) -> Vec<u8> {
    let source = FileSource::for_model(path).unwrap();
    let mut model = open(path);
    inline(&mut model, &InlineDataOptions::default(), &source).unwrap();
    bytes_of(&model)
}

/// Writes a model whose weights are in the file `data`.
fn split(
    path: &Path,
    model: &Model,
    data: &str,
    align: u32,
    options: &WriteOptions,
) -> Result<(), SaveError> {
    let mut model = model.clone();
    let mut layout = ExternalizeOptions::new(data);
    (layout.alignment, layout.large_alignment, layout.threshold_bytes) = (align, align, 1);
    let moved = externalize(&mut model, &layout, &NoData).unwrap();
    save(path, &model, &moved.files, &EncodeOptions::default(), options)
}

fn refusal(result: Result<(), SaveError>) -> ReplaceRefusal {
    match result.unwrap_err() {
        SaveError::File(error) => error.refusal().unwrap_or_else(|| panic!("{error}")).clone(),
        error => panic!("{error}"),
    }
}

fn reading(paths: &[&Path]) -> WriteOptions {
    let mut inputs = InputFiles::default();
    paths.iter().for_each(|path| inputs.add(path, &open(path)).unwrap());
    WriteOptions::default().with_inputs(inputs)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn data_of_the_input_is_kept_for_it() {
    let folder = Folder::new();
    let (input, output) = (folder.at("in.onnx"), folder.at("out.onnx"));
    let model = model_of(1.0, &[300, 100]);
    split(&input, &model, "w.data", 64, &WriteOptions::default()).unwrap();
    let before = whole(&input);
    fs::hard_link(folder.at("w.data"), folder.at("hard.data")).unwrap();
    fs::hard_link(&input, folder.at("hard.onnx")).unwrap();
    for force in [false, true] {
        let options = reading(&[&input]).with_force(force);
        for data in ["w.data", "hard.data"] {
            assert_eq!(
                refusal(split(&output, &model, data, 4096, &options)),
                ReplaceRefusal::ReadByInput,
                "{data}"
            );
        }
        for data in ["in.onnx", "hard.onnx"] {
            assert_eq!(
                refusal(split(&output, &model, data, 64, &options)),
                ReplaceRefusal::IsInput,
                "{data}"
            );
        }
        // As the model, too, and through links.
        symlink("w.data", folder.at("link.onnx")).unwrap();
        for name in ["w.data", "hard.data", "link.onnx"] {
            let saved = save(folder.at(name), &model, &[], &EncodeOptions::default(), &options);
            assert_eq!(refusal(saved), ReplaceRefusal::ReadByInput, "{name}");
        }
        fs::remove_file(folder.at("link.onnx")).unwrap();
        // Another name of the input model is not the input model: the data stays with the name that is not replaced.
        let saved = split(&folder.at("hard.onnx"), &model, "w.data", 4096, &options);
        assert_eq!(refusal(saved), ReplaceRefusal::ReadByInput);
        let written = write_file(folder.at("w.data"), FileKind::Message, &options, |_| Ok(()));
        assert_eq!(written.unwrap_err().refusal(), Some(&ReplaceRefusal::ReadByInput));
    }
    assert_eq!(folder.names(), ["hard.data", "hard.onnx", "in.onnx", "w.data"]);
    assert!(whole(&input) == before);
    split(&output, &model, "other.data", 4096, &reading(&[&input])).unwrap();
    assert!(whole(&input) == before && whole(&output) == before);
}

#[test]
fn a_model_is_replaced_with_its_data() {
    let folder = Folder::new();
    let path = folder.at("m.onnx");
    let model = model_of(1.0, &[300, 100]);
    split(&path, &model, "w.data", 64, &WriteOptions::default()).unwrap();
    fs::set_permissions(folder.at("w.data"), fs::Permissions::from_mode(0o640)).unwrap();
    for (align, options) in [(4096, reading(&[&path])), (64, WriteOptions::default())] {
        let options = options.with_force(true);
        split(&path, &model, "w.data", align, &options).unwrap();
        assert!(whole(&path) == bytes_of(&model));
        assert_eq!(folder.names(), ["m.onnx", "w.data"]);
    }
    assert_eq!(fs::metadata(folder.at("w.data")).unwrap().mode() & 0o777, 0o640);
}

/// No writer can know all models that read a file of data.
#[test]
fn data_is_not_changed_under_a_copy_of_the_model() {
    let folder = Folder::new();
    let (path, copy) = (folder.at("m.onnx"), folder.at("copy.onnx"));
    let model = model_of(1.0, &[300, 100]);
    split(&path, &model, "w.data", 64, &WriteOptions::default()).unwrap();
    fs::copy(&path, &copy).unwrap();
    fs::hard_link(&path, folder.at("hard.onnx")).unwrap();
    let (before, data) = (whole(&path), fs::read(folder.at("w.data")).unwrap());
    let names = folder.names();
    for options in [reading(&[&copy]), reading(&[&path, &copy]), WriteOptions::default()] {
        for path in [&path, &copy] {
            let refused = refusal(split(path, &model, "w.data", 65536, &options));
            assert!([ReplaceRefusal::OtherData, ReplaceRefusal::ReadByInput].contains(&refused), "{refused}");
            assert_eq!(folder.names(), names);
        }
        // The same contents change nothing for other readers.
        let same = WriteOptions::default().with_inputs(reading(&[&copy]).inputs);
        split(&copy, &model, "w.data", 64, &same).unwrap();
        assert!(fs::read(folder.at("w.data")).unwrap() == data);
    }
    for path in [&path, &copy, &folder.at("hard.onnx")] {
        assert!(whole(path) == before);
    }
    // One byte of the last piece differs.
    let other = model_of(f32::from_bits(1.0_f32.to_bits() ^ 1), &[300, 100]);
    assert_eq!(refusal(split(&copy, &other, "w.data", 64, &reading(&[&copy]))), ReplaceRefusal::OtherData);
    assert!(ReplaceRefusal::OtherData.yields_to_force());
    let options = reading(&[&copy]).with_force(true);
    split(&copy, &other, "w.data", 64, &options).unwrap();
    assert!(whole(&copy) == bytes_of(&other));
}

/// Whatever weights look like, they are not replaced by a model.
#[test]
fn data_that_looks_like_a_model_is_data() {
    let folder = Folder::new();
    let model = model_of(1.0, &[300]);
    let binary = bytes_of(&model);
    for contents in [binary.as_slice(), b"\x3a\x00", b"{}", b"ir_version: 8\n", b""] {
        for name in ["w.data", "w.bin", "w", "model.layers.0.weight"] {
            fs::write(folder.at(name), contents).unwrap();
            let encoding = EncodeOptions::default();
            let written = save(folder.at(name), &model, &[], &encoding, &WriteOptions::default());
            assert_eq!(refusal(written), ReplaceRefusal::OtherKind { kind: FileKind::Model }, "{name}");
            let written =
                write_file(folder.at(name), FileKind::Message, &WriteOptions::default(), |_| Ok(()));
            assert_eq!(
                written.unwrap_err().refusal(),
                Some(&ReplaceRefusal::OtherKind { kind: FileKind::Message })
            );
            let written = split(&folder.at("m.onnx"), &model, name, 64, &WriteOptions::default());
            assert_eq!(refusal(written), ReplaceRefusal::OtherData, "{name}");
            assert_eq!(fs::read(folder.at(name)).unwrap(), contents, "{name}");
        }
    }
}

/// Readers that open the link search external data next to it, others next to the file.
#[test]
fn a_link_into_another_directory_has_no_place_for_data() {
    let folder = Folder::new();
    fs::create_dir(folder.at("real")).unwrap();
    let (real, link) = (folder.at("real/m.onnx"), folder.at("link.onnx"));
    let model = model_of(1.0, &[300]);
    save(&real, &model, &[], &EncodeOptions::default(), &WriteOptions::default()).unwrap();
    symlink("real/m.onnx", &link).unwrap();
    for force in [false, true] {
        let options = WriteOptions::default().with_force(force);
        assert_eq!(refusal(split(&link, &model, "w.data", 64, &options)), ReplaceRefusal::LinkedElsewhere);
        assert_eq!(folder.names(), ["link.onnx", "real"]);
    }
    // Without external data both are the same.
    save(&link, &model_of(2.0, &[3]), &[], &EncodeOptions::default(), &WriteOptions::default()).unwrap();
    assert!(whole(&real) == bytes_of(&model_of(2.0, &[3])));
    // In place, the data is where it was.
    split(&real, &model, "w.data", 64, &WriteOptions::default()).unwrap();
    symlink("real/w.data", folder.at("w.data")).unwrap();
    let external = open(&link);
    let saved = save(&link, &external, &[], &EncodeOptions::default(), &WriteOptions::default());
    assert_eq!(refusal(saved), ReplaceRefusal::LinkedElsewhere);
    save(&link, &external, &[], &EncodeOptions::default(), &reading(&[&link])).unwrap();
    assert!(whole(&real) == bytes_of(&model));
    // A link within the directory.
    symlink("m.onnx", folder.at("real/link.onnx")).unwrap();
    split(&folder.at("real/link.onnx"), &model, "v.data", 64, &WriteOptions::default()).unwrap();
    assert!(whole(&real) == bytes_of(&model));
}

/// What the library can know without an input: the model that is written must not lose its own data.
#[test]
fn data_of_the_model_itself_is_kept() {
    let folder = Folder::new();
    let path = folder.at("m.onnx");
    let model = model_of(1.0, &[300, 100]);
    split(&path, &model, "w.pb", 64, &WriteOptions::default()).unwrap();
    let before = whole(&path);
    let model = open(&path);
    for force in [false, true] {
        let options = WriteOptions::default().with_force(force);
        for alias in ["w.pb", "alias.pb", "link.pb"] {
            match alias {
                "alias.pb" => fs::hard_link(folder.at("w.pb"), folder.at(alias)).unwrap(),
                "link.pb" => symlink("w.pb", folder.at(alias)).unwrap(),
                _ => {}
            }
            let saved = save(folder.at(alias), &model, &[], &EncodeOptions::default(), &options);
            assert_eq!(refusal(saved), ReplaceRefusal::ReadByOutput, "{alias}");
            if alias != "w.pb" {
                fs::remove_file(folder.at(alias)).unwrap();
            }
        }
    }
    assert!(whole(&path) == before);
    // Not its own data any more.
    let other = model_of(2.0, &[300]);
    assert_eq!(
        refusal(save(folder.at("w.pb"), &other, &[], &EncodeOptions::default(), &WriteOptions::default())),
        ReplaceRefusal::OtherKind { kind: FileKind::Model }
    );
}

#[test]
fn files_of_other_kinds_need_force() {
    let folder = Folder::new();
    let (path, notes) = (folder.at("m.onnx"), folder.at("notes.txt"));
    let model = model_of(1.0, &[300]);
    let force = WriteOptions::default().with_force(true);
    fs::write(&notes, "precious").unwrap();
    let written = save(&notes, &model, &[], &EncodeOptions::default(), &WriteOptions::default());
    assert_eq!(refusal(written), ReplaceRefusal::OtherKind { kind: FileKind::Model });
    let written = split(&path, &model, "notes.txt", 64, &WriteOptions::default());
    assert_eq!(refusal(written), ReplaceRefusal::OtherData);
    assert_eq!(fs::read(&notes).unwrap(), b"precious");
    assert_eq!(folder.names(), ["notes.txt"]);
    split(&path, &model, "notes.txt", 64, &force).unwrap();
    assert!(whole(&path) == bytes_of(&model));
    // The data of another model.
    let other = folder.at("other.onnx");
    let written = split(&other, &model_of(2.0, &[300]), "notes.txt", 64, &WriteOptions::default());
    assert_eq!(refusal(written), ReplaceRefusal::OtherData);
    // A model over a model, and over an empty file of that name.
    save(&path, &model, &[], &EncodeOptions::default(), &WriteOptions::default()).unwrap();
    fs::write(folder.at("empty.onnx"), "").unwrap();
    save(folder.at("empty.onnx"), &model, &[], &EncodeOptions::default(), &WriteOptions::default()).unwrap();
}

#[test]
fn one_file_is_not_written_twice() {
    let folder = Folder::new();
    let model = model_of(1.0, &[300]);
    for data in ["m.onnx", "./m.onnx"] {
        let written = split(&folder.at("m.onnx"), &model, data, 64, &WriteOptions::default());
        assert_eq!(refusal(written), ReplaceRefusal::WrittenTwice);
    }
    assert!(folder.names().is_empty());
}

/// A reader that opens the data after the model was replaced would otherwise combine two of them.
#[test]
fn a_reader_notices_that_the_model_was_replaced() {
    use onnx_types::tensor::DataSource;
    let folder = Folder::new();
    let path = folder.at("m.onnx");
    split(&path, &model_of(1.0, &[300, 100]), "w.data", 64, &WriteOptions::default()).unwrap();
    let source = FileSource::for_model(&path).unwrap();
    let mut old = open(&path);
    let force = WriteOptions::default().with_force(true);
    split(&path, &model_of(2.0, &[100, 300]), "w.data", 64, &force).unwrap();
    let error = inline(&mut old, &InlineDataOptions::default(), &source).unwrap_err().to_string();
    assert!(error.contains("replaced since it was read"), "{error}");
    assert!(FileSource::for_model(&path).unwrap().len("w.data").is_ok());
}

#[test]
fn temporary_files_are_private_and_go_away() {
    let folder = Folder::new();
    let path = folder.at("m.onnx");
    let temporaries = Temporaries::default();
    let options = WriteOptions::default().with_temporaries(temporaries.clone());
    write_file(&path, FileKind::Model, &options, |out| {
        out.write_all(&[8; 1 << 20])?;
        // Where there are files without names, there is none to see.
        for name in folder.names() {
            assert_eq!(fs::metadata(folder.at(&name)).unwrap().mode() & 0o777, 0o600, "{name}");
        }
        Ok(())
    })
    .unwrap();
    fs::write(folder.at("plain"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.at(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("m.onnx"), mode("plain"));
    let stopped = temporaries.stop();
    drop(stopped);
    assert!(write_file(folder.at("late"), FileKind::Model, &options, |_| Ok(())).is_err());
    assert_eq!(folder.names(), ["m.onnx", "plain"]);
}

/// A rehearsal ends as the write does, and changes nothing.
#[test]
fn a_dry_run_decides_as_a_write() {
    let folder = Folder::new();
    let dry = WriteOptions::default().with_dry_run(true);
    let model = model_of(1.0, &[300]);
    split(&folder.at("m.onnx"), &model, "w.data", 64, &dry).unwrap();
    // Directories are made on request only.
    assert!(split(&folder.at("m.onnx"), &model, "deep/er/w.data", 64, &dry).is_err());
    split(&folder.at("m.onnx"), &model, "deep/er/w.data", 64, &dry.clone().with_folders(true)).unwrap();
    write_file(folder.at("x.onnx"), FileKind::Model, &dry, |out| out.write_all(b"x")).unwrap();
    assert!(folder.names().is_empty());
    assert!(split(&folder.at("none/m.onnx"), &model, "w.data", 64, &dry).is_err());
    fs::write(folder.at("notes.txt"), "notes").unwrap();
    let kind = ReplaceRefusal::OtherKind { kind: FileKind::Model };
    assert_eq!(refusal(split(&folder.at("notes.txt"), &model, "w.data", 64, &dry)), kind);
    let error = write_file(folder.at("notes.txt"), FileKind::Model, &dry, |_| Ok(())).unwrap_err();
    assert_eq!(error.refusal(), Some(&kind));
    let error =
        write_file(folder.at("y.onnx"), FileKind::Model, &dry, |_| Err(std::io::ErrorKind::Other.into()));
    assert!(error.is_err());
    split(&folder.at("m.onnx"), &model, "w.data", 64, &WriteOptions::default()).unwrap();
    let before = (whole(&folder.at("m.onnx")), folder.names());
    let other = model_of(2.0, &[300]);
    assert_eq!(refusal(split(&folder.at("m.onnx"), &other, "w.data", 64, &dry)), ReplaceRefusal::OtherData);
    split(&folder.at("m.onnx"), &other, "w.data", 64, &dry.with_force(true)).unwrap();
    assert_eq!((whole(&folder.at("m.onnx")), folder.names()), before);
    let folders = WriteOptions::default().with_folders(true);
    split(&folder.at("n.onnx"), &other, "deep/er/w.data", 64, &folders).unwrap();
    assert_eq!(whole(&folder.at("n.onnx")), bytes_of(&other));
}
