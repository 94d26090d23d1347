//! Storage, reading and faults of tensors.

use bytes::Bytes;
use proptest::prelude::*;

use super::element::for_number;
use super::*;
use crate::elem::{ElemClass, ElemType, Storage};

fn hex(digits: &str) -> Bytes {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn tensor(elem: ElemType, dims: &[i64], payload: Payload) -> Tensor {
    Tensor::from_parts(elem.code(), dims.into(), payload)
}

/// The first fault as text, `-` if there is none.
fn fault(tensor: &Tensor) -> String {
    tensor.validate().map_or_else(|fault| fault.to_string(), |()| "-".to_owned())
}

fn typed_payload(storage: Storage, wire: Bytes) -> Payload {
    let varints = || Varints::new(wire.clone()).unwrap();
    match storage {
        Storage::Float => Payload::Floats(wire),
        Storage::Double => Payload::Doubles(wire),
        Storage::Int32 => Payload::Int32s(varints()),
        Storage::Int64 => Payload::Int64s(varints()),
        Storage::Uint64 => Payload::Uint64s(varints()),
        Storage::String | Storage::None => panic!("no numbers"),
    }
}

/// The typed payload that holds the elements of canonical bytes, written without the code under test.
fn typed(elem: ElemType, count: usize, raw: &[u8]) -> Payload {
    let le = |chunk: &[u8]| chunk.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let size = elem.bits().unwrap() as usize / 8;
    match elem.storage() {
        Storage::Float => Payload::Floats(Bytes::copy_from_slice(raw)),
        Storage::Double => Payload::Doubles(Bytes::copy_from_slice(raw)),
        Storage::Int64 => {
            Payload::Int64s(Varints::from_i64s(raw.chunks(8).map(|chunk| le(chunk).cast_signed())))
        }
        Storage::Uint64 => Payload::Uint64s(Varints::from_u64s(raw.chunks(size).map(le))),
        _ if elem.bits() == Some(6) => {
            let stream = |bit: usize| i32::from(raw[bit / 8] >> (bit % 8) & 1);
            let code = |index: usize| (0..6).map(|bit| stream(index * 6 + bit) << bit).sum();
            Payload::Int32s(Varints::from_i32s((0..count).map(code)))
        }
        _ => {
            let sign = |word: u64| match elem {
                ElemType::Int8 => i32::from(word as i8),
                ElemType::Int16 => i32::from(word as i16),
                _ => word as i32,
            };
            Payload::Int32s(Varints::from_i32s(raw.chunks(size.max(1)).map(le).map(sign)))
        }
    }
}

fn fixed_width_types() -> impl Iterator<Item = ElemType> {
    ElemType::all().filter(|elem| elem.bits().is_some())
}

/// Dimensions that overflow or make no sense.
const ODD_DIMS: [i64; 5] = [-1, i64::MIN, i64::MAX, 1 << 40, u32::MAX as i64];

fn real_types() -> impl Iterator<Item = ElemType> {
    fixed_width_types().filter(|elem| elem.class() != ElemClass::Complex)
}

#[test]
fn a_tensor_is_small() {
    assert!(size_of::<Tensor>() <= 128, "{}", size_of::<Tensor>());
}

#[test]
fn both_storages_read_as_the_reference_reads_them() {
    for line in include_str!("tables/storage.txt").lines() {
        let mut fields = line.split(' ');
        let mut next = || fields.next().unwrap();
        let elem = ElemType::from_name(next()).unwrap();
        let count: i64 = next().parse().unwrap();
        let (raw, field, wire) = (hex(next()), next(), hex(next()));
        let values: Vec<f64> = fields.map(|value| value.parse().unwrap()).collect();
        let payload = typed_payload(elem.storage(), wire);
        assert_eq!(payload.field_name(), field, "{line}");
        for payload in [Payload::Raw(raw.clone()), payload] {
            let tensor = tensor(elem, &[count], payload);
            assert_eq!(tensor.bytes(&NoData).unwrap(), raw, "{line}");
            assert_eq!(tensor.content_faults(&NoData, 9), Ok(vec![]), "{line}");
            let found: Vec<f64> = match elem {
                ElemType::Complex64 => {
                    let view = tensor.view::<Complex<f32>>(&NoData).unwrap();
                    view.iter().flat_map(|value| [value.re.into(), value.im.into()]).collect()
                }
                ElemType::Complex128 => {
                    let view = tensor.view::<Complex<f64>>(&NoData).unwrap();
                    view.iter().flat_map(|value| [value.re, value.im]).collect()
                }
                _ => tensor.iter_f64(&NoData).unwrap().collect(),
            };
            assert_eq!(found, values, "{line}");
        }
    }
}

/// Checks that all ways to read a real-valued tensor agree.
fn check_readings<T: Element>(tensor: &Tensor, expected: &Bytes) {
    let source = &NoData;
    let view = tensor.view::<T>(source).unwrap();
    let all = tensor.to_vec::<T>(source).unwrap();
    assert_eq!(view.len() as u64, tensor.element_count().unwrap());
    assert_eq!(view.iter().len(), all.len());
    // Bit patterns are compared, because NaN is not equal to itself.
    let bytes = |elements: &[T]| Tensor::vector(elements).bytes(source).unwrap();
    let by_index: Vec<T> = (0..view.len()).map(|index| view.get(index).unwrap()).collect();
    assert_eq!(bytes(&all), *expected);
    assert_eq!(bytes(&by_index), *expected);
    assert_eq!(bytes(&view.iter().collect::<Vec<_>>()), *expected);
    assert!(view.get(view.len()).is_none() && view.get(usize::MAX).is_none());
    assert_eq!(tensor.chunks(source).unwrap().flatten().collect::<Bytes>(), *expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn raw_typed_and_external_storage_read_alike(
        count in 0_usize..40,
        noise in prop::collection::vec(any::<u8>(), 40 * 16),
    ) {
        for elem in fixed_width_types() {
            let len = elem.byte_len(count as u64).unwrap() as usize;
            let mut raw = noise[..len].to_vec();
            if elem == ElemType::Bool {
                raw.iter_mut().for_each(|byte| *byte &= 1);
            }
            if let (Some(bits @ ..8), Some(last)) = (elem.bits(), raw.last_mut()) {
                *last &= !packing::padding_mask(bits, count as u64);
            }
            let typed = typed(elem, count, &raw);
            let raw = Bytes::from(raw);
            for payload in [Payload::Raw(raw.clone()), typed] {
                let tensor = tensor(elem, &[count as i64], payload);
                prop_assert_eq!(tensor.content_faults(&NoData, 9), Ok(vec![]));
                match elem {
                    ElemType::Complex64 => check_readings::<Complex<f32>>(&tensor, &raw),
                    ElemType::Complex128 => check_readings::<Complex<f64>>(&tensor, &raw),
                    _ => for_number!(elem, T => check_readings::<T>(&tensor, &raw)).unwrap(),
                }
            }
            let mut source = MemoryData::new();
            source.insert("w", [b"head".as_slice(), &raw].concat());
            let place = ExternalData::new("w").with_offset(4);
            let external = Tensor::external(elem, [count as i64], place.clone()).unwrap();
            prop_assert_eq!(&external.bytes(&source).unwrap(), &raw);
            let measured = Tensor::external(elem, [count as i64], place.with_length(len as u64)).unwrap();
            prop_assert_eq!(measured.bytes(&source).unwrap(), raw);
        }
    }

    #[test]
    fn splats_read_like_what_they_stand_for(count in 0_usize..40, code in any::<u8>()) {
        for elem in real_types() {
            for_number!(elem, T => {
                let size = elem.byte_len(1).unwrap() as usize;
                let code = if elem == ElemType::Bool { code & 1 } else { code };
                let one = tensor(elem, &[], Payload::Raw(vec![code; size].into()));
                let one = one.to_vec::<T>(&NoData).unwrap()[0];
                let splat = Tensor::splat([count as i64], one).unwrap();
                let expected = Tensor::vector(&vec![one; count]).bytes(&NoData).unwrap();
                check_readings::<T>(&splat, &expected);
                assert_eq!(splat.bytes(&NoData).unwrap(), expected);
            }).unwrap();
        }
    }

    #[test]
    fn no_content_panics(
        code in -2_i32..32,
        dims in prop::collection::vec(
            prop_oneof![3 => 0_i64..5, 1 => prop::sample::select(ODD_DIMS.to_vec())],
            0..5,
        ),
        wire in prop::collection::vec(prop_oneof![any::<u8>(), 0_u8..4], 0..40),
        which in 0..9,
    ) {
        let wire = Bytes::from(wire);
        let varints = Varints::new(wire.clone()).unwrap_or_default();
        let payload = match which {
            0 => Payload::None,
            1 => Payload::Floats(wire),
            2 => Payload::Doubles(wire),
            3 => Payload::Int32s(varints),
            4 => Payload::Int64s(varints),
            5 => Payload::Uint64s(varints),
            6 => Payload::strings(vec![wire.clone(), wire]),
            7 => Payload::External(ExternalData::new("w")),
            _ => Payload::Raw(wire),
        };
        let tensor = Tensor::from_parts(code, dims.into(), payload);
        let mut source = MemoryData::new();
        source.insert("w", vec![7; 64]);
        let valid = tensor.validate().is_ok();
        prop_assert_eq!(valid, tensor.faults().is_empty());
        prop_assert!(valid || tensor.content_faults(&source, 3).is_err());
        if let Ok(bytes) = tensor.bytes(&source) {
            prop_assert!(valid);
            prop_assert_eq!(Some(bytes.len() as u64), tensor.byte_len());
        }
        let numbers =
            tensor.iter_f64(&source).map(|numbers| (numbers.len() as u64, numbers.count() as u64));
        if let Ok((len, count)) = numbers {
            prop_assert_eq!((Some(len), Some(count)), (tensor.element_count(), tensor.element_count()));
        }
        // What these answer is checked elsewhere; here they must answer.
        let _ = tensor.iter_i64(&source).map(Iterator::count);
        let _ = tensor.get_i64s(&source, 4);
        let _ = tensor.strings().map(Iterator::count);
        let _ = tensor.chunks(&source).map(Iterator::count);
        let _ = format!("{tensor:?}");
    }
}

#[test]
fn splats_of_any_size_are_written_in_pieces() {
    let splat = Tensor::splat([100_001], I4::MIN).unwrap();
    let chunks: Vec<Bytes> = splat.chunks(&NoData).unwrap().collect();
    assert_eq!(chunks.len(), 2);
    let bytes = chunks.concat();
    assert_eq!(bytes.len(), 50_001);
    assert!(bytes[..50_000].iter().all(|&byte| byte == 0x88));
    assert_eq!(bytes[50_000], 0x08);

    let large = Tensor::splat([1 << 40, 4], 1.5_f32).unwrap();
    assert_eq!(large.byte_len(), Some(1 << 44));
    let too_large = TensorError::TooLarge { size: 1 << 44, limit: SPLAT_LIMIT, unit: "bytes" };
    assert_eq!(large.bytes(&NoData), Err(too_large.clone()));
    assert_eq!(large.to_vec::<f32>(&NoData), Err(too_large));
    let view = large.view::<f32>(&NoData).unwrap();
    assert_eq!((view.len(), view.get((1 << 42) - 1), view.splat()), (1 << 42, Some(1.5), Some(1.5)));
    assert_eq!(view.iter().nth(1 << 41), Some(1.5));
    assert_eq!(large.chunks(&NoData).unwrap().take(3).map(|chunk| chunk.len()).max(), Some(3 << 14));
    assert!(Splat::new(&[]).is_none() && Splat::new(&[0; 17]).is_none());
}

#[test]
fn raw_data_of_every_wrong_length_is_refused() {
    for elem in fixed_width_types() {
        let expected = elem.byte_len(5).unwrap();
        for len in 0..=expected + 17 {
            let tensor = tensor(elem, &[5], Payload::Raw(vec![0; len as usize].into()));
            let fault = TensorFault::WrongLength { field: "raw_data", expected, found: len };
            let result = if len == expected { Ok(()) } else { Err(fault) };
            assert_eq!(tensor.validate(), result);
            assert_eq!(tensor.bytes(&NoData).is_ok(), len == expected);
        }
    }
}

/// Each tensor with the text of its first fault, `-` for none.
fn check_faults<const N: usize>(cases: [(ElemType, Vec<i64>, Payload, &str); N]) {
    for (elem, dims, payload, expected) in cases {
        let tensor = tensor(elem, &dims, payload);
        assert_eq!(fault(&tensor), expected, "{tensor:?}");
        assert_eq!(tensor.bytes(&NoData).is_ok(), expected == "-", "{tensor:?}");
    }
}

#[test]
fn faults_name_the_figures() {
    use ElemType as E;
    let raw = |len: usize| Payload::Raw(vec![0; len].into());
    let ints = |count: i32| Varints::from_i32s(0..count);
    let cases = [
        (E::Undefined, vec![], raw(1), "tensor has no element type"),
        (E::Float, vec![2, -3], raw(0), "dimension 1 is -3, but must not be negative"),
        (E::Float, vec![1 << 40], Payload::None, "tensor has 1099511627776 elements, but no data"),
        (
            E::Float,
            vec![1 << 40, 1 << 40],
            Payload::None,
            "dimensions multiply to more elements than 64 bits can count",
        ),
        (E::Double, vec![i64::MAX], raw(0), "dimensions multiply to more elements than 64 bits can count"),
        (E::Float, vec![0, i64::MAX, 2], Payload::None, "-"),
        (
            E::Float,
            vec![i64::MAX, 2, 0],
            Payload::None,
            "dimensions multiply to more elements than 64 bits can count",
        ),
        (E::Float, vec![0], raw(0), "-"),
        (E::Float, vec![0], Payload::Int32s(ints(0)), "-"),
        (E::Float, vec![0], raw(4), "`raw_data` must have 0 bytes, but has 4"),
        (E::Float, vec![], raw(4), "-"),
        (
            E::Float,
            vec![2],
            Payload::Floats(vec![0; 4].into()),
            "`float_data` must have 2 entries, but has 1",
        ),
        (E::Float, vec![2], Payload::Floats(vec![0; 7].into()), "`float_data` must have 8 bytes, but has 7"),
        (E::Complex64, vec![2], Payload::Floats(vec![0; 16].into()), "-"),
        (
            E::Complex64,
            vec![2],
            Payload::Floats(vec![0; 8].into()),
            "`float_data` must have 4 entries, but has 2",
        ),
        (E::Complex128, vec![1], Payload::Doubles(vec![0; 16].into()), "-"),
    ];
    check_faults(cases);
}

#[test]
fn fields_are_held_against_the_type() {
    use ElemType as E;
    let raw = |len: usize| Payload::Raw(vec![0; len].into());
    let ints = |count: i32| Varints::from_i32s(0..count);
    let cases = [
        (E::Float, vec![2], Payload::Int32s(ints(2)), "`int32_data` cannot hold elements of type float"),
        (E::Uint4, vec![5], Payload::Int32s(ints(3)), "-"),
        (E::Uint4, vec![5], Payload::Int32s(ints(5)), "`int32_data` must have 3 entries, but has 5"),
        (E::Int2, vec![9], Payload::Int32s(ints(3)), "-"),
        (E::Int2, vec![9], Payload::Int32s(ints(2)), "`int32_data` must have 3 entries, but has 2"),
        (E::Float6E2M3, vec![5], Payload::Int32s(ints(5)), "-"),
        (E::Uint32, vec![3], Payload::Uint64s(ints(3)), "-"),
        (E::Int64, vec![3], Payload::Uint64s(ints(3)), "`uint64_data` cannot hold elements of type int64"),
        (E::String, vec![1], raw(1), "`raw_data` cannot hold elements of type string"),
        (
            E::String,
            vec![2],
            Payload::strings(vec![Bytes::new()]),
            "`string_data` must have 2 entries, but has 1",
        ),
        (
            E::String,
            vec![1],
            Payload::External(ExternalData::new("w")),
            "`external_data` cannot hold elements of type string",
        ),
        (E::Float, vec![1], Payload::External(ExternalData::default()), "external data has no `location`"),
        (
            E::Float,
            vec![1],
            Payload::External(ExternalData::new("w").with_length(5)),
            "`external_data` must have 4 bytes, but has 5",
        ),
        (
            E::Float,
            vec![1],
            Payload::Splat(Splat::new(&[0; 2]).unwrap()),
            "`splat` must have 4 bytes, but has 2",
        ),
    ];
    check_faults(cases);
}

#[test]
fn all_faults_are_told() {
    let mut odd = Tensor::from_parts(77, [-1, -2].as_slice().into(), Payload::None);
    assert_eq!(odd.faults().len(), 3);
    assert_eq!((odd.elem(), odd.data_type()), (ElemType::Undefined, 77));
    odd.set_dims([]);
    assert_eq!(fault(&odd), "77 is not the number of an element type");
}

#[test]
fn contents_are_checked() {
    use ElemType as E;
    let entries = |values: &[i32]| Payload::Int32s(Varints::from_i32s(values.iter().copied()));
    let raw = |bytes: &'static [u8]| Payload::Raw(Bytes::from_static(bytes));
    let strings = Payload::strings(vec![Bytes::from_static(b"ok"), Bytes::from_static(b"a\xff")]);
    let cases = [
        (E::Int8, 2, entries(&[127, 128]), "entry 1 of `int32_data` is 128, which is not a valid int8"),
        (E::Uint8, 1, entries(&[-1]), "entry 0 of `int32_data` is -1, which is not a valid uint8"),
        (E::Float16, 1, entries(&[65536]), "entry 0 of `int32_data` is 65536, which is not a valid float16"),
        (E::Bool, 1, entries(&[2]), "entry 0 of `int32_data` is 2, which is not a valid bool"),
        (E::Float6E2M3, 1, entries(&[64]), "entry 0 of `int32_data` is 64, which is not a valid float6e2m3"),
        (
            E::Uint4,
            1,
            entries(&[0x10]),
            "the last byte of the packed elements is 0x10, but its padding bits must be zero",
        ),
        (E::Int32, 1, entries(&[i32::MIN]), "-"),
        (
            E::Uint32,
            1,
            Payload::Uint64s(Varints::from_u64s([1 << 32])),
            "entry 0 of `uint64_data` is 4294967296, which is not a valid uint32",
        ),
        (E::Bool, 3, raw(&[0, 1, 2]), "element 2 is 2, but a bool is 0 or 1"),
        (
            E::Int2,
            3,
            raw(&[0xff]),
            "the last byte of the packed elements is 0xff, but its padding bits must be zero",
        ),
        (E::Float6E3M2, 3, raw(&[0xff, 0xff, 0x03]), "-"),
        (
            E::Float6E3M2,
            3,
            raw(&[0xff, 0xff, 0x07]),
            "the last byte of the packed elements is 0x07, but its padding bits must be zero",
        ),
        (E::String, 2, strings, "string 1 is not UTF-8 from its byte 1 on"),
        (
            E::Uint2,
            2,
            Payload::Splat(Splat::new(&[4]).unwrap()),
            "entry 0 of `splat` is 4, which is not a valid uint2",
        ),
    ];
    for (elem, count, payload, expected) in cases {
        let tensor = tensor(elem, &[count], payload);
        assert_eq!(fault(&tensor), "-", "{tensor:?}");
        let faults: Vec<String> =
            tensor.content_faults(&NoData, 9).unwrap().iter().map(ToString::to_string).collect();
        let expected: Vec<&str> = [expected].into_iter().filter(|&text| text != "-").collect();
        assert_eq!(faults, expected, "{tensor:?}");
        assert!(tensor.content_faults(&NoData, 0).unwrap().is_empty());
    }
    // Out of range entries are never cut to fit.
    let wide = tensor(E::Int8, &[1], entries(&[300]));
    assert!(matches!(
        wide.bytes(&NoData),
        Err(TensorError::Fault(TensorFault::OutOfRange { value: 300, .. }))
    ));
}

#[test]
fn external_data_of_any_size_is_only_asked_for() {
    let mut source = MemoryData::new();
    source.insert("w", vec![1, 2, 3, 4]);
    let read = |dims: &[i64], place: ExternalData| {
        tensor(ElemType::Uint8, dims, Payload::External(place))
            .bytes(&source)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&[2], ExternalData::new("w").with_offset(1)).unwrap(), [2, 3].as_slice());
    assert_eq!(read(&[0], ExternalData::new("absent")).unwrap().len(), 0);
    let text = |dims: &[i64], place| read(dims, place).unwrap_err();
    assert_eq!(
        text(&[4], ExternalData::new("w").with_offset(u64::MAX - 1)),
        "cannot read 4 bytes of external data `w` from byte 18446744073709551614: the file has 4 bytes"
    );
    assert_eq!(
        text(&[1 << 40], ExternalData::new("w")),
        "cannot read 1099511627776 bytes of external data `w` from byte 0: the file has 4 bytes"
    );
    assert_eq!(
        text(&[4], ExternalData::new("w").with_length(3)),
        "`external_data` must have 4 bytes, but has 3"
    );
    assert!(text(&[4], ExternalData::new("v")).ends_with("there is no such file"));

    /// A source that gives too little.
    struct Short;
    impl DataSource for Short {
        fn read(&self, _: &str, _: u64, _: Option<u64>) -> Result<Bytes, DataError> {
            Ok(Bytes::from_static(&[1]))
        }
        fn len(&self, _: &str) -> Result<u64, DataError> {
            Ok(1)
        }
    }
    let tensor = Tensor::external(ElemType::Float, [1], ExternalData::new("w")).unwrap();
    assert!(tensor.bytes(&Short).unwrap_err().to_string().ends_with("the source returned 1 bytes"));
}

#[test]
fn wrong_types_are_refused() {
    let floats = Tensor::vector(&[1.0_f32]);
    let wrong = |wanted| Err(TensorError::WrongType { wanted, found: ElemType::Float });
    assert_eq!(floats.view::<i64>(&NoData).map(|view| view.len()), wrong("int64"));
    assert_eq!(floats.get_i64s(&NoData, 9).map(|values| values.len()), wrong("integers"));
    assert_eq!(floats.string_bytes().map(<[Bytes]>::len), wrong("string"));
    let strings = Tensor::from_strings([2], ["a", "b"]).unwrap();
    assert!(strings.bytes(&NoData).is_err() && strings.iter_f64(&NoData).is_err());
    assert_eq!(strings.strings().unwrap().collect::<Result<Vec<_>, _>>().unwrap(), ["a", "b"]);
    let complex = Tensor::scalar(Complex::new(1.0_f32, 2.0));
    assert!(complex.iter_f64(&NoData).is_err() && complex.view::<Complex<f32>>(&NoData).is_ok());
}

#[test]
fn small_integers_come_out_of_every_storage() {
    let values = [3_i64, -1, 0];
    let raw = Tensor::vector(&values);
    let typed = tensor(ElemType::Int64, &[3], Payload::Int64s(Varints::from_i64s(values)));
    for tensor in [&raw, &typed] {
        assert_eq!(tensor.get_i64s(&NoData, 3).unwrap(), values);
        let error = TensorError::TooLarge { size: 3, limit: 2, unit: "elements" };
        assert_eq!(tensor.get_i64s(&NoData, 2), Err(error));
    }
    assert_eq!(Tensor::scalar(true).get_i64s(&NoData, 1).unwrap(), [1]);
    assert_eq!(Tensor::splat([3], I4::MIN).unwrap().get_i64s(&NoData, 3).unwrap(), [-8, -8, -8]);
    let large = Tensor::vector(&[1_u64, u64::MAX]);
    assert_eq!(large.get_i64s(&NoData, 2), Err(TensorError::NotI64 { index: 1, value: u64::MAX }));
    assert_eq!(large.iter_f64(&NoData).unwrap().last(), Some(u64::MAX as f64));
}

#[test]
fn making_checks_what_it_is_given() {
    assert!(Tensor::from_slice([2], &[1_u8, 2, 3]).is_err());
    // Three 4-bit elements take as many bytes as four.
    let wrong = Tensor::from_slice([4], &[U4::MAX; 3]);
    assert_eq!(wrong, Err(TensorFault::WrongCount { field: "raw_data", expected: 4, found: 3 }));
    assert!(Tensor::from_slice([-1], &[1_u8]).is_err());
    assert!(Tensor::from_strings([3], ["a"]).is_err());
    assert!(Tensor::from_raw(ElemType::String, [1], vec![1]).is_err());
    assert!(Tensor::splat([i64::MAX, 2], 0_u8).is_err());
    assert_eq!(Tensor::scalar(1_u8).dims(), []);
}

#[test]
fn the_rare_parts_take_no_memory_until_used() {
    let mut tensor = Tensor::scalar(1_u8);
    tensor.set_name("");
    tensor.set_doc("");
    assert_eq!(tensor.extra(), None);
    tensor.set_name("w");
    tensor.extra_mut().metadata.push(TensorMetadata::new("k", "v"));
    assert_eq!((tensor.name(), tensor.doc(), tensor.metadata().len()), ("w", "", 1));
    tensor.set_extra(TensorExtra::default());
    assert_eq!(tensor, Tensor::scalar(1_u8));
    tensor.set_layout(TensorLayout::DIMS_PACKED.with(TensorLayout::DATA_UNPACKED));
    tensor.set_payload(Payload::None);
    assert_eq!(tensor.layout(), TensorLayout::DIMS_PACKED);
}

#[test]
fn varints_keep_their_spelling() {
    let padded = Varints::new(Bytes::from_static(&[0x81, 0x80, 0x00, 0x05])).unwrap();
    assert_eq!((padded.count(), padded.iter().collect::<Vec<_>>()), (2, vec![1, 5]));
    let ten = Bytes::from_static(&[0xff; 10]);
    assert_eq!(Varints::new(ten), Err(VarintError { offset: 0 }));
    assert_eq!(Varints::new(Bytes::from_static(&[1, 0x80])), Err(VarintError { offset: 1 }));
    let extremes = [i64::MIN, i64::MAX, -1, 0];
    assert_eq!(Varints::from_i64s(extremes).iter_i64().collect::<Vec<_>>(), extremes);
    assert_eq!(Varints::from_i32s([-1]).bytes().len(), 10);
    // An `int32` may also be cut to five bytes on the wire.
    let short = Varints::new(Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x0f])).unwrap();
    assert_eq!(short.iter_i32().collect::<Vec<_>>(), [-1]);
}

#[test]
fn aligned_native_elements_are_read_in_place() {
    fn slices<T: Element>(values: &[T], is_native: bool) {
        let elements = T::write_all(values);
        // One of the offsets is aligned, and for elements of more than one byte another one is not.
        let mut in_place = 0;
        for offset in 0..16 {
            let bytes: Vec<u8> = std::iter::repeat_n(0, offset).chain(elements.iter().copied()).collect();
            let bytes = Bytes::from(bytes).slice(offset..);
            let begin = bytes.as_ptr();
            let tensor = Tensor::from_raw(T::TYPE, [values.len() as i64], bytes).unwrap();
            let view = tensor.view::<T>(&NoData).unwrap();
            assert_eq!(view.to_slice().unwrap(), values);
            if let Some(found) = view.as_slice() {
                assert_eq!((found, found.as_ptr().cast::<u8>()), (values, begin));
                in_place += 1;
            }
        }
        let expected = if is_native && cfg!(target_endian = "little") { 16 / align_of::<T>() } else { 0 };
        assert_eq!(in_place, expected, "{}", T::TYPE);
    }
    slices(&[1.5_f32, -0.0, f32::INFINITY], true);
    slices(&[1.5_f64, -2.0], true);
    slices(&[i8::MIN, 1, 2], true);
    slices(&[i16::MIN, 1], true);
    slices(&[i32::MIN, 1], true);
    slices(&[i64::MIN, 1], true);
    slices(&[u8::MAX, 1], true);
    slices(&[u16::MAX, 1], true);
    slices(&[u32::MAX, 1], true);
    slices(&[u64::MAX, 1], true);
    slices(&[true, false], false);
    slices(&[f16::ONE, f16::NEG_ONE], false);
    slices(&[I4::MIN, I4::MAX, I4::MIN], false);
}

#[test]
fn slices_of_splats_are_copies_within_the_limit() {
    let view = |count| Tensor::splat([count], 2.5_f32).unwrap().view::<f32>(&NoData).unwrap();
    assert_eq!((view(3).as_slice(), view(3).to_slice().unwrap().as_ref()), (None, &[2.5; 3][..]));
    assert_eq!((view(0).as_slice(), view(0).to_slice().unwrap().as_ref()), (Some(&[][..]), &[][..]));
    assert!(matches!(view(1 << 42).to_slice(), Err(TensorError::TooLarge { unit: "bytes", .. })));
}
