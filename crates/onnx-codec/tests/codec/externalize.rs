//! Moving weights into external data and back.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests may fail")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::{
    DataFile, DecodeOptions, EncodeOptions, ExternalizeError, ExternalizeOptions, FileSource,
    InlineDataOptions, ReadMode, WriteOptions, decode, encode, externalize, inline,
};
use onnx_ir::{AttrValue, Attribute, Constant, Model, NewNode, Position, SparseTensor, TrainingInfo};
use onnx_types::tensor::{
    DataSource, ExternalData, MemoryData, NoData, Payload, Tensor, TensorDims, Varints,
};
use onnx_types::{ElemType, FieldForms};
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage, Value};

fn floats(count: usize, first: f32) -> Tensor {
    Tensor::vector(&(0..count).map(|index| first + index as f32).collect::<Vec<_>>())
}

fn sparse() -> SparseTensor {
    SparseTensor {
        values: Some(floats(300, 5.0)),
        indices: Some(Tensor::vector(&(0..300_i64).collect::<Vec<_>>())),
        dims: [1000].into_iter().collect(),
        forms: FieldForms::CANONICAL,
        unknown: Vec::new(),
    }
}

/// A model with 300 floats or integers at every place that can hold a tensor: 14 tensors.
fn everywhere() -> Model {
    let mut model = Model::new();
    let main = model.main_graph();
    let name = |model: &mut Model, text: &str| model.intern(text);
    model.info_mut().ir_version = 10;
    let graph_name = name(&mut model, "main");
    model.set_graph_name(main, graph_name);
    let w = name(&mut model, "w");
    model.add_initializer(main, w, floats(300, 0.0));
    let s = name(&mut model, "s");
    model.add_initializer(main, s, Constant::Sparse(sparse()));

    let inner = model.new_graph(graph_name);
    let deep = name(&mut model, "deep");
    model.add_initializer(inner, deep, floats(300, 1.0));
    let [op, t, list, sp, sps, then] =
        ["Op", "t", "list", "sp", "sps", "then"].map(|text| model.intern(text));
    let node = NewNode::new(op)
        .attribute(Attribute::new(t, floats(300, 2.0)))
        .attribute(Attribute::new(t, floats(300, 2.5)))
        .attribute(Attribute::new(list, vec![Arc::new(floats(300, 3.0)), Arc::new(floats(300, 4.0))]))
        .attribute(Attribute::new(sp, Arc::new(sparse())))
        .attribute(Attribute::new(sps, AttrValue::SparseTensors(vec![Arc::new(sparse())])))
        .attribute(Attribute::new(then, inner));
    model.add_node(Position::End(main), node).unwrap();

    let domain = name(&mut model, "d");
    let function = model.add_function(domain, op, onnx_types::Symbol::EMPTY);
    model.push_function_default(function, Attribute::new(t, floats(300, 6.0))).unwrap();
    let body = model.function(function).body();
    let node = NewNode::new(op).attribute(Attribute::new(t, floats(300, 7.0)));
    model.add_node(Position::End(body), node).unwrap();

    let training = model.new_graph(graph_name);
    model.add_initializer(training, w, floats(300, 8.0));
    let algorithm = TrainingInfo::of_algorithm(training);
    model.info_mut().training.push(algorithm);
    model
}

fn bytes_of(model: &Model) -> Bytes {
    encode(model, &EncodeOptions::default()).unwrap().into_bytes()
}

fn memory(files: &[DataFile]) -> MemoryData {
    let mut source = MemoryData::new();
    for file in files {
        let contents = file.pieces().concat();
        assert_eq!(contents.len() as u64, file.len());
        source.insert(file.location(), contents);
    }
    source
}

fn all() -> ExternalizeOptions {
    ExternalizeOptions::new("w.data").with_everything(true)
}

/// How many messages of type `TensorProto` an encoded model has, and how many of them are external.
fn count_tensors(model: Bytes) -> (u64, u64) {
    let pool = DescriptorPool::decode(onnx_proto::FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("onnx.ModelProto").unwrap();
    let message = DynamicMessage::decode(descriptor, model).unwrap();
    let (mut tensors, mut external) = (0, 0);
    let mut values = vec![Value::Message(message)];
    while let Some(value) = values.pop() {
        match value {
            Value::Message(message) => {
                if message.descriptor().name() == "TensorProto" {
                    tensors += 1;
                    let place = message.get_field_by_name("data_location").unwrap();
                    external += u64::from(place.as_enum_number() == Some(1));
                }
                values.extend(message.fields().map(|(_, value)| value.clone()));
            }
            Value::List(list) => values.extend(list),
            _ => {}
        }
    }
    (tensors, external)
}

/// T9, T3: no tensor is overlooked, compared with a walk that knows only the descriptors.
#[test]
fn every_tensor_is_visited() {
    let mut model = everywhere();
    let before = bytes_of(&model);
    let (tensors, external) = count_tensors(before.clone());
    assert_eq!(external, 0);
    let moved = externalize(&mut model, &all(), &NoData).unwrap();
    assert_eq!(moved.moved, tensors);
    assert_eq!(count_tensors(bytes_of(&model)), (tensors, tensors));
    let count = inline(&mut model, &InlineDataOptions::default(), &memory(&moved.files)).unwrap();
    assert_eq!(count, tensors);
    assert_eq!(bytes_of(&model), before);
}

#[test]
fn by_default_dense_initializers_are_moved() {
    let mut model = everywhere();
    let moved = externalize(&mut model, &ExternalizeOptions::new("w.data"), &NoData).unwrap();
    assert_eq!(moved.moved, 3);
    assert!(moved.invalid.is_empty());
}

#[test]
fn a_model_that_fails_is_left_alone() {
    let mut model = everywhere();
    externalize(&mut model, &all(), &NoData).unwrap();
    let before = bytes_of(&model);
    let again = all().with_keep_existing(false);
    let error = externalize(&mut model, &again, &NoData).unwrap_err();
    assert!(matches!(error, ExternalizeError::Tensor { .. }));
    assert!(error.to_string().starts_with("attribute `t` of function `Op`: cannot read"), "{error}");
    assert!(inline(&mut model, &InlineDataOptions::default(), &NoData).is_err());
    assert_eq!(bytes_of(&model), before);
}

fn model_of(tensors: &[Tensor]) -> Model {
    let mut model = Model::new();
    for (index, tensor) in tensors.iter().enumerate() {
        let name = model.intern(&format!("w{index}"));
        model.add_initializer(model.main_graph(), name, tensor.clone());
    }
    model
}

fn places(model: &Model) -> Vec<(String, u64, u64)> {
    let graph = model.main_graph();
    let tensors = model.initializers(graph).map(|value| model.constant_tensor(value).unwrap());
    let external = tensors.filter_map(|tensor| match tensor.payload() {
        Payload::External(entries) => Some(entries),
        _ => None,
    });
    external
        .map(|entries| {
            let length = entries.length().unwrap().unwrap();
            (entries.location().unwrap().to_owned(), entries.offset().unwrap(), length)
        })
        .collect()
}

#[test]
fn offsets_are_aligned_and_gaps_small() {
    let sizes = [300, 257, 300_000, 400, 262_144, 262_143];
    let tensors: Vec<_> = sizes.iter().map(|&size| floats(size, 0.0)).collect();
    let mut model = model_of(&tensors);
    let moved = externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap();
    let mut end = 0;
    for ((_, offset, length), size) in places(&model).into_iter().zip(sizes) {
        assert_eq!(length, size as u64 * 4);
        let alignment = if length >= 1 << 20 { 4096 } else { 64 };
        assert!(offset % alignment == 0 && offset >= end && offset - end < 1 << 16);
        end = offset + length;
    }
    assert_eq!(moved.files[0].len(), end);
    for bad in [0, 3, 1 << 17] {
        let options = ExternalizeOptions::new("w").with_alignment(bad);
        assert!(matches!(
            externalize(&mut model, &options, &NoData),
            Err(ExternalizeError::Alignment { .. })
        ));
    }
}

#[test]
fn shards_are_filled_in_order() {
    let tensors: Vec<_> = [1000, 1000, 5000, 300, 300].into_iter().map(|size| floats(size, 0.0)).collect();
    let mut model = model_of(&tensors);
    let options = ExternalizeOptions::new("a.b.data").with_max_shard_bytes(10_000);
    let moved = externalize(&mut model, &options, &NoData).unwrap();
    let locations: Vec<_> = moved.files.iter().map(|file| (file.location(), file.len())).collect();
    let name = |index| format!("a.b-0000{index}-of-00003.data");
    let expected = [(name(1), 8032), (name(2), 20_000), (name(3), 2416)];
    assert_eq!(locations, expected.each_ref().map(|(name, len)| (name.as_str(), *len)));
    assert_eq!(places(&model)[2], (name(2), 0, 20_000));
    inline(&mut model, &InlineDataOptions::default(), &memory(&moved.files)).unwrap();
    assert_eq!(bytes_of(&model), bytes_of(&model_of(&tensors)));
}

#[test]
fn thresholds_and_kinds() {
    let raw = |len: usize| Tensor::from_raw(ElemType::Uint8, [len as i64], vec![1; len]).unwrap();
    let parts = |dims: &[i64], elem: ElemType, payload| {
        Tensor::from_parts(elem.code(), TensorDims::from_slice(dims), payload)
    };
    let tensors = [
        raw(1023),
        raw(1024),
        Tensor::from_strings([600], vec!["text"; 600]).unwrap(),
        // Typed fields are moved as what `raw_data` would hold.
        parts(&[300], ElemType::Float, Payload::Floats(Bytes::from(vec![1; 1200]))),
        parts(&[300], ElemType::Int64, Payload::Int64s(Varints::from_i64s(0..300))),
        // A repeated element, never written out in memory.
        Tensor::splat([1 << 30], 1.0_f32).unwrap(),
        // Invalid: the bytes are not as many as the dimensions say.
        parts(&[7], ElemType::Uint8, Payload::Raw(Bytes::from(vec![1; 2000]))),
        parts(&[300, 1 << 20], ElemType::Uint8, Payload::Raw(Bytes::new())),
    ];
    let mut model = model_of(&tensors);
    let limited = externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap_err();
    assert_eq!(limited.limit(), Some("splat_bytes"));
    let options = ExternalizeOptions::new("w").with_splat_bytes(1 << 32);
    let moved = externalize(&mut model, &options, &NoData).unwrap();
    let sizes: Vec<_> = places(&model).into_iter().map(|(_, _, length)| length).collect();
    assert_eq!(sizes, [1024, 1200, 2400, 1 << 32]);
    assert_eq!(moved.moved, 4);
    assert!(moved.files[0].len() > 1 << 32);
    assert_eq!(moved.invalid.len(), 1, "{:?}", moved.invalid);
    assert!(moved.invalid[0].starts_with("initializer `w7` of graph ``: "), "{:?}", moved.invalid);
}

#[test]
fn tensors_that_share_memory_share_their_place() {
    let shared = floats(1000, 0.0);
    let mut model = model_of(&[shared.clone(), floats(1000, 0.0), shared]);
    let moved = externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap();
    let places = places(&model);
    assert_eq!(places[0], places[2]);
    assert_ne!(places[0], places[1]);
    assert_eq!(moved.files[0].len(), 4032 + 4000);
    // No weight was copied: the piece is the tensor's memory.
    let Payload::Raw(bytes) = floats(1000, 0.0).payload().clone() else { panic!() };
    let mut model = model_of(&[Tensor::from_raw(ElemType::Float, [1000], bytes.clone()).unwrap()]);
    let moved = externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap();
    assert_eq!(moved.files[0].pieces()[0].as_ptr(), bytes.as_ptr());
    // And back, where the source keeps its files in memory or mapped.
    let mut source = MemoryData::new();
    source.insert("w", bytes.clone());
    inline(&mut model, &InlineDataOptions::default(), &source).unwrap();
    let value = model.initializers(model.main_graph()).next().unwrap();
    let Payload::Raw(back) = model.constant_tensor(value).unwrap().payload() else { panic!() };
    assert_eq!(back.as_ptr(), bytes.as_ptr());
}

#[test]
fn existing_weights_stay_or_move() {
    let old = || {
        let place = ExternalData::new("./old").with_offset(100).with_length(1200);
        let external = Tensor::from_parts(1, TensorDims::from_slice(&[300]), Payload::External(place));
        model_of(&[external.clone(), floats(300, 1.0), external])
    };
    let mut source = MemoryData::new();
    source.insert("./old", vec![7; 1300]);
    let mut model = old();
    externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap();
    let locations: Vec<_> = places(&model).into_iter().map(|(location, ..)| location).collect();
    assert_eq!(locations, ["./old", "w", "./old"]);
    // Data that stays must not be overwritten, whatever the notation of its location.
    let mut model = old();
    let error = externalize(&mut model, &ExternalizeOptions::new("old"), &source).unwrap_err();
    assert!(matches!(error, ExternalizeError::InUse { .. }));
    let options = ExternalizeOptions::new("old").with_keep_existing(false);
    let moved = externalize(&mut model, &options, &source).unwrap();
    assert_eq!(moved.moved, 3);
    let places = places(&model);
    assert_eq!(places[0], ("old".to_owned(), 0, 1200));
    assert_eq!(places[0], places[2]);
    assert_eq!(moved.files[0].pieces()[0], vec![7; 1200]);
}

#[test]
fn wrong_locations_are_refused() {
    let mut model = model_of(&[floats(300, 0.0)]);
    for location in ["", "/w", "../w", "a/../w", "C:w", "a/", "*/_ORT_MEM_ADDR_/*"] {
        let error = externalize(&mut model, &ExternalizeOptions::new(location), &NoData).unwrap_err();
        assert!(matches!(error, ExternalizeError::Location { .. }), "{location}: {error}");
    }
}

#[test]
fn inlining_is_limited() {
    let mut model = model_of(&[floats(300, 0.0), floats(300, 1.0)]);
    let moved = externalize(&mut model, &ExternalizeOptions::new("w"), &NoData).unwrap();
    let source = memory(&moved.files);
    let error =
        inline(&mut model, &InlineDataOptions::default().with_max_total_bytes(2399), &source).unwrap_err();
    assert!(matches!(error, ExternalizeError::TooLarge { limit: 2399 }));
    assert_eq!(
        inline(&mut model, &InlineDataOptions::default().with_max_total_bytes(2400), &source).unwrap(),
        2
    );
}

#[test]
fn digests_can_be_stated() {
    let mut model = model_of(&[floats(300, 0.0), floats(300, 1.0)]);
    let options = ExternalizeOptions::new("w").with_checksum(true);
    let moved = externalize(&mut model, &options, &NoData).unwrap();
    let source = memory(&moved.files);
    for value in model.initializers(model.main_graph()) {
        let Payload::External(place) = model.constant_tensor(value).unwrap().payload() else { panic!() };
        assert_eq!(onnx_codec::verify_checksum(place, &source), Ok(onnx_codec::Checksum::Matches));
    }
}

fn save(path: &Path, model: &Model, files: &[DataFile]) -> Result<(), onnx_codec::SaveError> {
    onnx_codec::save(path, model, files, &EncodeOptions::default(), &WriteOptions::default())
}

/// The same where data changes that other models might read.
fn save_over(path: &Path, model: &Model, files: &[DataFile]) {
    let options = WriteOptions::default().with_force(true);
    onnx_codec::save(path, model, files, &EncodeOptions::default(), &options).unwrap();
}

fn open(path: &Path) -> Model {
    let bytes = onnx_codec::file::read(path, ReadMode::Map).unwrap();
    decode(bytes, &DecodeOptions::default()).unwrap().model
}

fn mapped(path: &Path) -> FileSource {
    FileSource::for_model(path).unwrap().with_mode(ReadMode::Map)
}

/// T6: the model and its data are replaced while both are mapped as the source of what is written.
#[test]
fn files_are_replaced_while_they_are_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.onnx");
    let original = model_of(&[floats(50_000, 0.0), floats(300, 1.0), floats(300_000, 2.0)]);
    let expected = bytes_of(&original);
    save(&path, &original, &[]).unwrap();
    for round in 0..3 {
        // From inside the model to a file, and from that file to the same file laid out otherwise.
        let mut model = open(&path);
        let mut options = ExternalizeOptions::new("model.onnx.data");
        options.keep_existing = false;
        options.alignment = 64 << round;
        let moved = externalize(&mut model, &options, &mapped(&path)).unwrap();
        save_over(&path, &model, &moved.files);
        let mut model = open(&path);
        inline(&mut model, &InlineDataOptions::default(), &mapped(&path)).unwrap();
        assert!(bytes_of(&model) == expected, "round {round}");
    }
    // Back into the model, over the very file that is mapped.
    let mut model = open(&path);
    inline(&mut model, &InlineDataOptions::default(), &mapped(&path)).unwrap();
    save(&path, &model, &[]).unwrap();
    assert!(fs::read(&path).unwrap() == expected);
    let names = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 2, "no temporary file stays");
}

#[test]
#[cfg(unix)]
fn saving_stays_inside_the_directory() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("m/sub")).unwrap();
    fs::create_dir(at("out")).unwrap();
    fs::write(at("out/secret"), "secret").unwrap();
    symlink("../out", at("m/link")).unwrap();
    symlink("../out/secret", at("m/w.link")).unwrap();
    fs::create_dir(at("m/dir")).unwrap();
    let path = at("m/model.onnx");
    let save_as = |location: &str| {
        let mut model = model_of(&[floats(300, 0.0)]);
        let moved = externalize(&mut model, &ExternalizeOptions::new(location), &NoData).unwrap();
        save(&path, &model, &moved.files).map_err(|error| error.to_string())
    };
    for (location, message) in [
        ("link/w", ""),
        ("w.link", "symbolic link"),
        ("none/w", "o such file"),
        ("dir", "a directory"),
        ("model.onnx", "the model itself"),
        ("./model.onnx", "the model itself"),
    ] {
        let error = save_as(location).unwrap_err();
        assert!(error.contains(message), "{location}: {error}");
        assert!(!path.exists(), "{location}: nothing is written");
    }
    assert_eq!(fs::read(at("out/secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(at("out")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(at("m")).unwrap().count(), 4);
    save_as("sub/w").unwrap();
    assert_eq!(fs::metadata(at("m/sub/w")).unwrap().len(), 1200);
    assert_eq!(mapped(&path).len("sub/w"), Ok(1200));
}
