//! The conversions against tables of `ml_dtypes` and the reference implementation, and against exhaustive search.

use std::collections::BTreeMap;

use half::{bf16, f16};

use super::*;

type Decode = fn(u8) -> f32;
type Encode = fn(f32, bool) -> u8;

/// Name, width, decoding and encoding of the formats with sign, exponent and fraction.
const FORMATS: [(&str, u32, Decode, Encode); 7] = [
    ("e4m3fn", 8, |c| F8E4M3Fn::from_bits(c).to_f32(), |v, s| F8E4M3Fn::from_f32(v, s).to_bits()),
    ("e4m3fnuz", 8, |c| F8E4M3Fnuz::from_bits(c).to_f32(), |v, s| F8E4M3Fnuz::from_f32(v, s).to_bits()),
    ("e5m2", 8, |c| F8E5M2::from_bits(c).to_f32(), |v, s| F8E5M2::from_f32(v, s).to_bits()),
    ("e5m2fnuz", 8, |c| F8E5M2Fnuz::from_bits(c).to_f32(), |v, s| F8E5M2Fnuz::from_f32(v, s).to_bits()),
    ("e2m1", 4, |c| F4E2M1::from_bits(c).to_f32(), |v, _| F4E2M1::from_f32(v).to_bits()),
    ("e2m3", 6, |c| F6E2M3::from_bits(c).to_f32(), |v, _| F6E2M3::from_f32(v).to_bits()),
    ("e3m2", 6, |c| F6E3M2::from_bits(c).to_f32(), |v, _| F6E3M2::from_f32(v).to_bits()),
];

fn decoder(name: &str) -> Decode {
    if name == "e8m0" {
        return |code| F8E8M0::from_bits(code).to_f32();
    }
    FORMATS.iter().find(|row| row.0 == name).unwrap().2
}

#[test]
fn decodes_as_the_table_says() {
    for line in include_str!("tables/decode.txt").lines() {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap();
        let decode = decoder(name);
        for (code, field) in fields.enumerate() {
            let expected = f32::from_bits(u32::from_str_radix(field, 16).unwrap());
            let found = decode(code as u8);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{name} {code:#04x}: {found} instead of {expected}");
        }
    }
}

/// Where [`F8E8M0::from_f64`] says that it follows the specification and not the reference implementation.
fn is_exception(value: f32, saturate: bool) -> bool {
    let magnitude = value.abs();
    (magnitude < f32::MIN_POSITIVE && (magnitude != 0.0 || !saturate))
        || (magnitude == f32::INFINITY && saturate)
}

#[test]
fn encodes_as_the_table_says() {
    let mut lines = include_str!("tables/encode.txt").lines();
    let columns: Vec<&str> = lines.next().unwrap().split(' ').skip(1).collect();
    for line in lines {
        let mut fields = line.split(' ');
        let value = f32::from_bits(u32::from_str_radix(fields.next().unwrap(), 16).unwrap());
        for (column, field) in columns.iter().zip(fields) {
            let expected = u8::from_str_radix(field, 16).unwrap();
            let parts: Vec<&str> = column.split(':').collect();
            let saturate = *parts.last().unwrap() == "1";
            let found = if parts[0] == "e8m0" {
                if is_exception(value, saturate) {
                    continue;
                }
                let rounding = match parts[1] {
                    "up" => PowerRounding::Up,
                    "down" => PowerRounding::Down,
                    _ => PowerRounding::Nearest,
                };
                F8E8M0::from_f32(value, rounding, saturate).to_bits()
            } else {
                FORMATS.iter().find(|row| row.0 == parts[0]).unwrap().3(value, saturate)
            };
            assert_eq!(found, expected, "{column} of {value:e} ({:#x})", value.to_bits());
        }
    }
}

/// All finite numbers of a format with their codes, in order of their bits.
fn numbers(width: u32, decode: Decode) -> BTreeMap<u32, u8> {
    let codes = 0..=u8::try_from((1_u32 << (width - 1)) - 1).unwrap();
    codes
        .map(|code| (decode(code).to_bits(), code))
        .filter(|&(bits, _)| f32::from_bits(bits).is_finite())
        .collect()
}

#[test]
fn encodes_to_the_nearest_number() {
    for (name, width, decode, encode) in FORMATS {
        let numbers: Vec<(f64, u8)> = numbers(width, decode)
            .into_iter()
            .map(|(bits, code)| (f64::from(f32::from_bits(bits)), code))
            .collect();
        for pair in numbers.windows(2) {
            let [(low, low_code), (high, high_code)] = *pair else { unreachable!() };
            let middle = ((low + high) / 2.0) as f32;
            let even = if low_code % 2 == 0 { low_code } else { high_code };
            let cases = [
                (low as f32, low_code),
                ((low as f32).next_up(), low_code),
                (middle.next_down(), low_code),
                (middle, even),
                (middle.next_up(), high_code),
                ((high as f32).next_down(), high_code),
                (high as f32, high_code),
            ];
            for (value, code) in cases {
                for saturate in [false, true] {
                    assert_eq!(encode(value, saturate), code, "{name} of {value:e}");
                    let mirrored = decode(encode(-value, saturate));
                    assert_eq!(mirrored, -decode(code), "{name} of -{value:e}");
                }
            }
        }
    }
}

#[test]
fn every_code_survives_a_round_trip() {
    for (name, width, decode, encode) in FORMATS {
        for code in 0..=u8::try_from((1_u32 << width) - 1).unwrap() {
            let value = decode(code);
            if !value.is_nan() {
                assert_eq!(encode(value, false), code, "{name} {code:#x}");
            } else {
                assert!(decode(encode(value, true)).is_nan(), "{name} {code:#x}");
            }
        }
    }
    for code in 0..=0xff {
        for rounding in [PowerRounding::Up, PowerRounding::Down, PowerRounding::Nearest] {
            let value = F8E8M0::from_bits(code).to_f32();
            assert_eq!(F8E8M0::from_f32(value, rounding, false).to_bits(), code, "e8m0 {code:#x}");
        }
    }
}

#[test]
fn powers_follow_the_table_of_special_values() {
    let up = |value| F8E8M0::from_f32(value, PowerRounding::Up, true);
    let nearest = |value| F8E8M0::from_f32(value, PowerRounding::Nearest, false);
    assert_eq!(up(0.0), F8E8M0::MIN);
    assert!(nearest(0.0).is_nan());
    assert_eq!(up(f32::INFINITY), F8E8M0::MAX);
    assert!(nearest(f32::INFINITY).is_nan());
    assert_eq!(up(f32::MAX), F8E8M0::MAX);
    assert!(nearest(f32::MAX).is_nan());
    assert_eq!(up(1e-40), F8E8M0::MIN);
    assert!(nearest(1e-40).is_nan());
    assert!(up(f32::NAN).is_nan());
    assert_eq!(F8E8M0::from_f64(1e300, PowerRounding::Down, true), F8E8M0::MAX);
    assert_eq!(F8E8M0::from_f64(f64::from_bits(1), PowerRounding::Nearest, true), F8E8M0::MIN);
}

#[test]
fn binary64_is_rounded_once() {
    // By way of binary32 this would first reach the tie at 1.0625 and then fall to 1.0.
    let above_tie = 1.0625 + 2.0_f64.powi(-40);
    assert_eq!(F8E4M3Fn::from_f64(above_tie, true).to_f32(), 1.125);
    assert_eq!(F8E4M3Fn::from_f64(f64::MIN_POSITIVE / 2.0, true).to_bits(), 0);
    assert_eq!(F8E4M3Fn::from_f64(f64::MAX, true), F8E4M3Fn::MAX);
    assert_eq!(F8E5M2::from_f64(-1e300, false).to_f32(), f32::NEG_INFINITY);
}

#[test]
fn half_floats_round_to_nearest_even() {
    // The crate `half` does this; the cases that matter to `Cast` are pinned here.
    for (value, code) in [
        (1.0 + 2.0_f32.powi(-11), 0x3c00),
        (1.0 + 3.0 * 2.0_f32.powi(-11), 0x3c02),
        (65519.0, 0x7bff),
        (65520.0, 0x7c00),
        (2.0_f32.powi(-25), 0),
        (2.0_f32.powi(-25).next_up(), 1),
        (-0.0, 0x8000),
    ] {
        assert_eq!(f16::from_f32(value).to_bits(), code, "f16 of {value:e}");
    }
    for (value, code) in [
        (1.0 + 2.0_f32.powi(-8), 0x3f80),
        (1.0 + 3.0 * 2.0_f32.powi(-8), 0x3f82),
        (f32::MAX, 0x7f80),
        (f32::from_bits(1), 0),
        (f32::NEG_INFINITY, 0xff80),
    ] {
        assert_eq!(bf16::from_f32(value).to_bits(), code, "bf16 of {value:e}");
    }
    assert!(f16::from_f32(f32::NAN).is_nan() && bf16::from_f32(f32::from_bits(0x7f80_0001)).is_nan());
}

#[test]
fn small_integers_keep_their_codes() {
    for code in 0..16 {
        assert_eq!(U4::from_bits(code).to_bits(), code);
        assert_eq!(I4::from_bits(code).to_bits(), code);
        assert_eq!(U2::from_bits(code).to_bits(), code & 3);
        assert_eq!(I2::from_bits(code).to_bits(), code & 3);
    }
    assert_eq!([I4::MIN.to_bits(), I4::MAX.to_bits(), I2::MIN.to_bits(), I2::MAX.to_bits()], [8, 7, 2, 1]);
    assert_eq!([I4::from_bits(9).get(), I2::from_bits(3).get()], [-7, -1]);
    assert_eq!((U4::new(16), I4::new(-9), U2::new(4), I2::new(2)), (None, None, None, None));
    assert_eq!(U4::from_bits(0xf7), U4::from_bits(7));
}
