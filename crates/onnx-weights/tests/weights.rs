//! Weights: listing, replacing, comparing, stripping, and the `safetensors` format.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use bytes::Bytes;
use onnx_eval::compare::Tolerances;
use onnx_ir::Model;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::{Complex, F8E4M3Fn, I4, NoData, Tensor, bf16};
use onnx_types::{Execution, Interrupt};
use onnx_weights::safetensors::{LayoutOptions, SafetensorsError, layout, parse, parse_index};
use onnx_weights::{
    Replacement, StripOptions, WeightDifference, compare_weights, replace, restore, strip, stripped_seed,
    weights,
};

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[2,3] x, bool k) => (float[2,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, int64[2] shape = {2, 3}> {
    c = Constant <value = float[3] {1, 2, 3}> ()
    r = Reshape (x, shape)
    a = Add (r, c)
    b = Mul (a, w)
    y = If (k) <then_branch = t () => (float[2,3] p) { c = Constant <value = float {9}> () p = Add (b, c) },
        else_branch = e () => (float[2,3] q) { q = Identity (b) }>
}";

fn model() -> Model {
    parse_model(MODEL, &ParseOptions::default()).unwrap()
}

fn names(model: &Model) -> Vec<String> {
    weights(model).into_iter().map(|weight| weight.name).collect()
}

#[test]
fn every_weight_has_a_name_of_its_own() {
    assert_eq!(names(&model()), ["w", "shape", "c", "c#2"]);
    let model = model();
    let all = weights(&model);
    assert_eq!(all.iter().map(|weight| weight.bytes()).collect::<Vec<_>>(), [24, 16, 12, 4]);
    assert!(all.iter().all(|weight| weight.value.is_some()));
}

#[test]
fn elements_are_replaced_and_nothing_else() {
    let mut changed = model();
    let new = Tensor::from_slice([2, 3], &[0.5_f32; 6]).unwrap();
    assert_eq!(replace(&mut changed, vec![Replacement::new("w", new.clone())]).unwrap(), 1);
    let all = weights(&changed);
    assert_eq!(all[0].tensor.to_vec::<f32>(&NoData).unwrap(), [0.5; 6]);
    let before = model();
    for (name, tensor, message) in [
        ("nope", new.clone(), "the model has no weight `nope`"),
        ("shape", new.clone(), "`shape` has the type int64[2], but its replacement float[2, 3]"),
        ("c", new, "`c` has the type float[3], but its replacement float[2, 3]"),
    ] {
        let mut refused = model();
        let error = replace(&mut refused, vec![Replacement::new(name, tensor)]).unwrap_err();
        assert_eq!(error.to_string(), message);
        let both = (&before as &Model, &NoData as &dyn onnx_types::tensor::DataSource);
        let compared =
            compare_weights(both, (&refused, &NoData), &Tolerances::EXACT, &Interrupt::NEVER).unwrap();
        assert!(compared.weights.iter().all(|weight| weight.difference.agrees()));
    }
}

#[test]
fn comparison_tells_the_largest_difference() {
    let (a, mut b) = (model(), model());
    let new = Tensor::from_slice([2, 3], &[1.0_f32, 2.0, 3.0, 4.5, 5.0, 6.0]).unwrap();
    replace(&mut b, vec![Replacement::new("w", new)]).unwrap();
    let found = compare_weights((&a, &NoData), (&b, &NoData), &Tolerances::EXACT, &Interrupt::NEVER).unwrap();
    let WeightDifference::Elements(difference) = &found.weights[0].difference else { panic!("{found:?}") };
    assert_eq!((difference.differing, difference.max_abs), (1, 0.5));
    assert!(matches!(found.weights[1].difference, WeightDifference::Identical));
    let other = parse_model(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) <double[2] w = {1, 2}, float[2] v = {1, 2}> { y = Add (x, v) }",
        &ParseOptions::default(),
    );
    let other = other.unwrap();
    let found =
        compare_weights((&a, &NoData), (&other, &NoData), &Tolerances::EXACT, &Interrupt::NEVER).unwrap();
    assert!(
        matches!(&found.weights[0].difference, WeightDifference::Type(a, b) if a == "float[2, 3]" && b == "double[2]")
    );
    assert_eq!(
        (found.only_in_a, found.only_in_b),
        (vec!["shape".into(), "c".into(), "c#2".into()], vec!["v".to_owned()])
    );
}

#[test]
fn stripped_weights_are_generated_from_the_seed() {
    let options = StripOptions::default().with_seed(7).with_min_elements(3);
    let mut one = model();
    let done = strip(&mut one, &options, &|_| true);
    // The shape and the scalar stay.
    assert_eq!((done.stripped, done.stripped_bytes, done.kept, done.kept_bytes), (2, 36, 2, 20));
    assert_eq!(stripped_seed(&one), Some(7));
    assert!(weights(&one)[0].tensor.bytes(&NoData).is_err());
    let mut two = one.clone();
    assert_eq!(restore(&mut one, 7, &Execution::DEFAULT).unwrap(), 2);
    assert_eq!(restore(&mut two, 7, &Execution::DEFAULT).unwrap(), 2);
    assert_eq!(stripped_seed(&one), None);
    let first = weights(&one)[0].tensor.to_vec::<f32>(&NoData).unwrap();
    assert_eq!(first, weights(&two)[0].tensor.to_vec::<f32>(&NoData).unwrap());
    assert!(
        first.iter().all(|element| element.abs() <= 1.0 / 3.0_f32.sqrt() && *element != 0.0),
        "{first:?}"
    );
    assert_eq!(weights(&one)[1].tensor.get_i64s(&NoData, 8).unwrap(), [2, 3]);
    let mut chosen = model();
    assert_eq!(strip(&mut chosen, &options, &|weight| weight.name == "c").stripped, 1);
}

#[test]
fn all_types_survive_the_file_format() {
    let tensors = [
        ("f", Tensor::from_slice([2, 1], &[1.5_f32, f32::NAN]).unwrap()),
        ("i", Tensor::vector(&[i64::MIN, 7])),
        ("b", Tensor::vector(&[true, false, true])),
        ("bf", Tensor::vector(&[bf16::from_f32(1.5)])),
        ("f8", Tensor::vector(&[F8E4M3Fn::from_f32(1.5, true)])),
        ("c", Tensor::vector(&[Complex::new(1.0_f32, -1.0)])),
        ("c2", Tensor::vector(&[Complex::new(1.0_f64, -1.0)])),
        ("i4", Tensor::from_slice([3], &[I4::from_bits(1), I4::from_bits(2), I4::from_bits(15)]).unwrap()),
        ("scalar", Tensor::scalar(3_u8)),
        ("empty", Tensor::from_slice([0, 4], &[] as &[f32]).unwrap()),
        ("strange \"name\"\n", Tensor::scalar(2.0_f64)),
    ];
    let list: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let laid = layout(&list, &LayoutOptions::default()).unwrap();
    let [file] = laid.files.as_slice() else { panic!() };
    let mut bytes = file.header.to_vec();
    for &position in &file.tensors {
        list[position].1.chunks(&NoData).unwrap().for_each(|chunk| bytes.extend_from_slice(&chunk));
    }
    assert_eq!(bytes.len() as u64, file.byte_len());
    assert_eq!(file.header.len() % 8, 0);
    let parsed = parse(&Bytes::from(bytes), 100).unwrap();
    let mut read = parsed.tensors().unwrap();
    assert_eq!(read.len(), tensors.len());
    for (name, tensor) in &tensors {
        let position = read.iter().position(|(other, _)| other == name).unwrap();
        let (_, found) = read.swap_remove(position);
        assert_eq!((found.elem(), found.dims()), (tensor.elem(), tensor.dims()), "{name}");
        assert_eq!(found.bytes(&NoData).unwrap(), tensor.bytes(&NoData).unwrap(), "{name}");
    }
    let text = Tensor::from_strings([1], ["a"]).unwrap();
    assert!(matches!(
        layout(&[("s", &text)], &LayoutOptions::default()),
        Err(SafetensorsError::NotStorable { .. })
    ));
    let twice = [list[0], list[0]];
    assert!(matches!(layout(&twice, &LayoutOptions::default()), Err(SafetensorsError::DuplicateName(_))));
}

#[test]
fn shards_hold_as_many_tensors_as_fit() {
    let tensors: Vec<Tensor> = [4, 4, 20, 1, 1].iter().map(|&len| Tensor::vector(&vec![0_u8; len])).collect();
    let names = ["a", "b", "c", "d", "e"];
    let list: Vec<(&str, &Tensor)> = names.iter().copied().zip(&tensors).collect();
    let laid = layout(&list, &LayoutOptions::default().with_max_shard_bytes(8)).unwrap();
    let files: Vec<&[usize]> = laid.files.iter().map(|file| file.tensors.as_slice()).collect();
    assert_eq!(files, [&[0, 1][..], &[2], &[3, 4]]);
    let file_names = laid.file_names("model");
    assert_eq!(file_names[2], "model-00003-of-00003.safetensors");
    let index = parse_index(laid.index(&list, &file_names).as_bytes()).unwrap();
    assert_eq!(index.file_names(), file_names);
    assert!(index.files.contains(&("c".to_owned(), file_names[1].clone())));
}

/// A file with this header and this number of bytes of elements.
fn file(header: &str, data: usize) -> Bytes {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(std::iter::repeat_n(0, data));
    bytes.into()
}

type Expected = fn(&SafetensorsError) -> bool;

/// Files whose header is not one.
fn malformed_headers() -> Vec<(Bytes, Expected)> {
    use SafetensorsError as E;
    vec![
        (Bytes::new(), |e| matches!(e, E::Truncated { needed: 8, found: 0 })),
        (Bytes::from_static(&[0xff; 8]), |e| matches!(e, E::HeaderTooLarge(u64::MAX))),
        (Bytes::from_static(&[0, 0, 0, 1, 0, 0, 0, 0]), |e| matches!(e, E::Truncated { .. })),
        (file("", 0), |e| matches!(e, E::Header(_))),
        (file("[]", 0), |e| matches!(e, E::Header(_))),
        (file(" {}", 0), |e| matches!(e, E::Header(_))),
        (file("{} x", 0), |e| matches!(e, E::Header(_))),
        (file(&"[".repeat(100_000), 0), |e| matches!(e, E::Header(_))),
        (file(&format!("{{\"a\":{}", "[".repeat(100_000)), 0), |e| matches!(e, E::Header(_))),
        (file(r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}"#, 0), |e| matches!(e, E::Header(_))),
        (file(r#"{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}"#, 1), |e| {
            matches!(e, E::Header(_))
        }),
        (file(r#"{"a":{"dtype":"U8","shape":[1]}}"#, 1), |e| matches!(e, E::Header(_))),
        (file(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}"#, 1), |e| {
            matches!(e, E::Header(_))
        }),
        (file(r#"{"a":{"dtype":"Q3","shape":[1],"data_offsets":[0,1]}}"#, 1), |e| {
            matches!(e, E::UnknownType { .. })
        }),
        (file(r#"{"__metadata__":{"k":1}}"#, 0), |e| matches!(e, E::Header(_))),
        (
            file(r#"{"__metadata__":{"k":"1","k":"2"}}"#, 0),
            |e| matches!(e, E::DuplicateName(name) if name == "k"),
        ),
    ]
}

#[test]
fn hostile_files_are_refused() {
    use SafetensorsError as E;
    let one = |shape: &str, begin: u64, end: u64| {
        format!(r#"{{"a":{{"dtype":"U8","shape":{shape},"data_offsets":[{begin},{end}]}}}}"#)
    };
    let two = |first: &str, second: &str| {
        format!(
            r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{first}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{second}}}}}"#
        )
    };
    let cases: Vec<(Bytes, Expected)> = vec![
        (file(&one("[4]", 0, 4), 5), |e| matches!(e, E::WrongFileLength { tensors: 4, file: 5 })),
        (file(&one("[4]", 0, 4), 3), |e| matches!(e, E::WrongFileLength { .. })),
        (file(&one("[4]", 0, 5), 5), |e| matches!(e, E::WrongLength { expected: Some(4), found: 5, .. })),
        (file(&one("[4]", 1, 5), 5), |e| matches!(e, E::NotContiguous { expected: 0, found: 1, .. })),
        (file(&one("[4]", 4, 0), 4), |e| matches!(e, E::NegativeRange(_))),
        (file(&one("[4294967296,4294967296,2]", 0, 4), 4), |e| {
            matches!(e, E::WrongLength { expected: None, .. })
        }),
        (file(&one("[0,18446744073709551615,2]", 0, 0), 0), |e| {
            matches!(e, E::WrongLength { expected: None, .. })
        }),
        (file(r#"{"a":["U8",[1],[0,1]]}"#, 1), |e| matches!(e, E::Header(_))),
        (file(&one("[4]", 0, u64::MAX), 4), |e| matches!(e, E::WrongLength { .. })),
        (file(&two("[0,4]", "[0,4]"), 4), |e| matches!(e, E::NotContiguous { .. })),
        (file(&two("[0,4]", "[2,6]"), 6), |e| matches!(e, E::NotContiguous { .. })),
        (file(&two("[0,4]", "[6,10]"), 10), |e| matches!(e, E::NotContiguous { .. })),
        (
            file(&two("[0,4]", "[4,8]").replace("\"b\"", "\"a\""), 8),
            |e| matches!(e, E::DuplicateName(name) if name == "a"),
        ),
        (file(&two("[0,4]", "[4,8]").replace("\"b\"", "\"\\u0061\""), 8), |e| {
            matches!(e, E::DuplicateName(_))
        }),
        (file(&two("[0,4]", "[4,8]"), 8), |e| matches!(e, E::TooMany(1))),
    ];
    let cases = [malformed_headers(), cases].concat();
    for (index, (bytes, expected)) in cases.iter().enumerate() {
        let most = if index + 1 == cases.len() { 1 } else { 100 };
        let error = parse(bytes, most).unwrap_err();
        assert!(expected(&error), "case {index}: {error:?}");
    }
    assert_eq!(parse(&file(&two("[4,8]", "[0,4]"), 8), 100).unwrap().names().collect::<Vec<_>>(), ["b", "a"]);
    assert!(parse(&file("{}", 0), 100).unwrap().is_empty());
}

#[test]
fn stated_types_are_not_trusted() {
    let with = |stated: &str| {
        let header = format!(
            r#"{{"__metadata__":{{"onnx.type.a":"{stated}"}},"a":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}}}"#
        );
        parse(&file(&header, 2), 100).unwrap().tensors()
    };
    assert_eq!(with("int4 3").unwrap()[0].1.dims(), [3]);
    for stated in
        ["int4 9", "string 1", "int4 -3", "int4 x", "", "float 9223372036854775807 9223372036854775807"]
    {
        with(stated).unwrap_err();
    }
}

#[test]
fn an_index_names_files_of_its_directory_only() {
    for name in [
        "../a.safetensors",
        "/a.safetensors",
        "a/b.safetensors",
        "",
        ".a.safetensors",
        "C:a.safetensors",
        "a.bin",
        "a\\\\b.safetensors",
    ] {
        let text = format!(r#"{{"weight_map":{{"w":"{name}"}}}}"#);
        assert!(matches!(parse_index(text.as_bytes()), Err(SafetensorsError::NotAFileName(_))), "{name}");
    }
    let twice = br#"{"weight_map":{"w":"a.safetensors","w":"b.safetensors"}}"#;
    assert!(matches!(parse_index(twice), Err(SafetensorsError::DuplicateName(_))));
    for text in [&b"{}"[..], b"[{\"w\":\"a.safetensors\"}]", b""] {
        assert!(matches!(parse_index(text), Err(SafetensorsError::Header(_))));
    }
    let index = parse_index(br#"{"metadata":{"total_size":8},"weight_map":{"w":"a.safetensors"}}"#).unwrap();
    let empty = parse(&file("{}", 0), 1).unwrap();
    assert!(matches!(index.check("a.safetensors", &empty), Err(SafetensorsError::NotAsIndexed { .. })));
}
