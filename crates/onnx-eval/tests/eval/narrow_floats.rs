//! Conversions to floats of 4, 6 and 8 bits of all numbers of `float16`, against tables of the codes that are made here from the
//! layouts of the formats.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests may fail"
)]

use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Payload, Tensor, f16};

/// What a format has in addition to numbers.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// The code with all bits of exponent and fraction set is NaN.
    OneNan,
    /// The largest exponent has infinities and NaN.
    Ieee,
    /// The code of the negative zero is NaN; a negative zero does not exist.
    Unsigned,
    /// Nothing.
    Finite,
}

struct Format {
    elem: ElemType,
    bits: u32,
    fraction: u32,
    bias: i32,
    special: Special,
}

const FORMATS: [Format; 7] = [
    Format { elem: ElemType::Float8E4M3Fn, bits: 8, fraction: 3, bias: 7, special: Special::OneNan },
    Format { elem: ElemType::Float8E4M3Fnuz, bits: 8, fraction: 3, bias: 8, special: Special::Unsigned },
    Format { elem: ElemType::Float8E5M2, bits: 8, fraction: 2, bias: 15, special: Special::Ieee },
    Format { elem: ElemType::Float8E5M2Fnuz, bits: 8, fraction: 2, bias: 16, special: Special::Unsigned },
    Format { elem: ElemType::Float4E2M1, bits: 4, fraction: 1, bias: 1, special: Special::Finite },
    Format { elem: ElemType::Float6E2M3, bits: 6, fraction: 3, bias: 1, special: Special::Finite },
    Format { elem: ElemType::Float6E3M2, bits: 6, fraction: 2, bias: 3, special: Special::Finite },
];

/// The meaning of a code of a format, or of the operator's table: the sign of a zero counts.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Meaning {
    Number(f64, bool),
    Nan,
}

impl Format {
    const fn sign_bit(&self) -> u32 {
        1 << (self.bits - 1)
    }

    /// The number of a code without a sign, as if all codes were numbers.
    fn magnitude(&self, code: u32) -> f64 {
        let exponent = (code >> self.fraction) as i32;
        let fraction = f64::from(code & ((1 << self.fraction) - 1));
        let step = 2_f64.powi(exponent.max(1) - self.bias - self.fraction as i32);
        let hidden = if exponent > 0 { f64::from(1_u32 << self.fraction) } else { 0.0 };
        (hidden + fraction) * step
    }

    fn is_number(&self, code: u32) -> bool {
        match self.special {
            Special::OneNan => code != self.sign_bit() - 1,
            Special::Ieee => code >> self.fraction < (1 << (self.bits - 1 - self.fraction)) - 1,
            Special::Unsigned | Special::Finite => true,
        }
    }

    fn meaning(&self, code: u32) -> Meaning {
        let (negative, rest) = (code & self.sign_bit() != 0, code & (self.sign_bit() - 1));
        if self.special == Special::Unsigned && negative && rest == 0 {
            return Meaning::Nan;
        }
        if self.is_number(rest) {
            return Meaning::Number(self.magnitude(rest), negative);
        }
        let is_infinity = self.special == Special::Ieee && rest & ((1 << self.fraction) - 1) == 0;
        if is_infinity { Meaning::Number(f64::INFINITY, negative) } else { Meaning::Nan }
    }

    /// What the tables of `Cast` say about a number.
    fn cast(&self, x: f64, saturate: bool, numbers: &[f64]) -> Meaning {
        if x.is_nan() {
            return Meaning::Nan;
        }
        let negative = x.is_sign_negative();
        let last = numbers.len() - 2;
        let beyond = match self.special {
            _ if saturate || self.special == Special::Finite => Meaning::Number(numbers[last], negative),
            Special::Ieee => Meaning::Number(f64::INFINITY, negative),
            _ => Meaning::Nan,
        };
        if x.is_infinite() {
            return beyond;
        }
        // The nearest of all numbers and of the one that would follow the greatest; between two, the even code.
        let above = numbers.partition_point(|&number| number < x.abs());
        let nearest = match (above.checked_sub(1), numbers.get(above)) {
            (_, None) => return beyond,
            (None, Some(_)) => above,
            (Some(below), Some(&upper)) => {
                let (down, up) = (x.abs() - numbers[below], upper - x.abs());
                if down < up || down == up && below % 2 == 0 { below } else { above }
            }
        };
        match nearest {
            _ if nearest > last => beyond,
            0 => Meaning::Number(0.0, negative && self.special != Special::Unsigned),
            _ => Meaning::Number(numbers[nearest], negative),
        }
    }

    /// The numbers in the order of their codes, and the one that would follow.
    fn numbers(&self) -> Vec<f64> {
        let count = (0..self.sign_bit()).take_while(|&code| self.is_number(code)).count() as u32;
        (0..=count).map(|code| self.magnitude(code)).collect()
    }
}

fn run(graph: &str, inputs: &[(&str, Value)]) -> Tensor {
    let text = format!("<ir_version: 14, opset_import: [\"\": 28]>\n{graph}");
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    let outputs = Evaluator::new(&model, &EvalOptions::default()).unwrap().run(inputs).unwrap();
    Tensor::clone(outputs.first().unwrap().tensor().unwrap())
}

/// All numbers of `float16`.
fn halves() -> (Vec<f64>, Value) {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let numbers = codes.iter().map(|&code| f16::from_bits(code).to_f64()).collect();
    let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
    let tensor = Tensor::from_parts(
        ElemType::Float16.code(),
        [65536_i64].into_iter().collect(),
        Payload::Raw(bytes.into()),
    );
    (numbers, tensor.into())
}

/// The codes of a tensor, which are packed with the first one in the low bits.
fn codes(tensor: &Tensor, bits: u32, count: usize) -> Vec<u32> {
    let bytes = tensor.bytes(&NoData).unwrap();
    let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
    let bits = bits as usize;
    (0..count).map(|index| (0..bits).map(|at| bit(index * bits + at) << at).sum()).collect()
}

/// Compares a result with the tables; formats without NaN leave open what it becomes.
fn compare(format: &Format, tensor: &Tensor, inputs: &[f64], saturate: bool, context: &str) {
    assert_eq!(tensor.elem(), format.elem);
    let numbers = format.numbers();
    for (&x, code) in inputs.iter().zip(codes(tensor, format.bits, inputs.len())) {
        if x.is_nan() && format.special == Special::Finite {
            continue;
        }
        let expected = format.cast(x, saturate, &numbers);
        assert_eq!(format.meaning(code), expected, "{context}: {x:?} to {:?}, code {code:#x}", format.elem);
    }
}

#[test]
fn casts_follow_the_tables() {
    let (inputs, x) = halves();
    for format in &FORMATS {
        let to = format.elem.code();
        for saturate in [true, false] {
            let flag = u8::from(saturate);
            let graph = format!("g (float16[N] x) => (y) {{ y = Cast <to = {to}, saturate = {flag}> (x) }}");
            compare(format, &run(&graph, &[("x", x.clone())]), &inputs, saturate, "Cast");
            let graph = format!(
                "g (float16[N] x) => (y) {{ f = Cast <to = 1> (x) y = Cast <to = {to}, saturate = {flag}> (f) }}"
            );
            compare(format, &run(&graph, &[("x", x.clone())]), &inputs, saturate, "Cast of float");
        }
    }
}

#[test]
fn quantization_keeps_what_casts_keep() {
    let (inputs, x) = halves();
    for format in &FORMATS {
        let to = format.elem.code();
        for saturate in [true, false] {
            let flag = u8::from(saturate);
            let plain = format!(
                "g (float16[N] x) => (y) <float one = {{1}}> {{
                   y = QuantizeLinear <output_dtype = {to}, saturate = {flag}> (x, one)
                 }}"
            );
            // The zero point is the code 0.
            let with_zero = format!(
                "g (float16[N] x) => (y) <float one = {{1}}, float nothing = {{0}}> {{
                   zero = Cast <to = {to}> (nothing)
                   y = QuantizeLinear <saturate = {flag}> (x, one, zero)
                 }}"
            );
            for graph in [plain, with_zero] {
                compare(format, &run(&graph, &[("x", x.clone())]), &inputs, saturate, &graph);
            }
        }
    }
}

#[test]
fn dequantization_reads_every_code() {
    for format in &FORMATS {
        let count = 1_usize << format.bits;
        let mut bytes = vec![0_u8; (count * format.bits as usize).div_ceil(8)];
        for code in 0..count {
            for at in (0..format.bits as usize).filter(|at| code >> at & 1 == 1) {
                let bit = code * format.bits as usize + at;
                bytes[bit / 8] |= 1 << (bit % 8);
            }
        }
        let dims = [count as i64].into_iter().collect();
        let tensor = Tensor::from_parts(format.elem.code(), dims, Payload::Raw(bytes.into()));
        let ty = format.elem.name();
        let graph = format!("g ({ty}[N] x) => (y) <float one = {{1}}> {{ y = DequantizeLinear (x, one) }}");
        let found: Vec<f64> = run(&graph, &[("x", tensor.into())]).iter_f64(&NoData).unwrap().collect();
        assert_eq!(found.len(), count);
        for (code, x) in found.into_iter().enumerate() {
            let found =
                if x.is_nan() { Meaning::Nan } else { Meaning::Number(x.abs(), x.is_sign_negative()) };
            assert_eq!(found, format.meaning(code as u32), "{ty} {code:#x}");
        }
    }
}

#[test]
fn scales_of_e8m0_are_powers_of_two() {
    let (inputs, x) = halves();
    let to = ElemType::Float8E8M0.code();
    for (mode, saturate) in
        [("up", true), ("up", false), ("down", true), ("nearest", true), ("nearest", false)]
    {
        let flag = u8::from(saturate);
        let graph = format!(
            "g (float16[N] x) => (y) {{ y = Cast <to = {to}, saturate = {flag}, round_mode = \"{mode}\"> (x) }}"
        );
        let tensor = run(&graph, &[("x", x.clone())]);
        for (&x, code) in inputs.iter().zip(codes(&tensor, 8, inputs.len())) {
            // Negative numbers are unspecified.
            if x.is_sign_negative() && !x.is_nan() {
                continue;
            }
            let expected = if x.is_nan() {
                255
            } else if x == 0.0 {
                if saturate { 0 } else { 255 }
            } else if x.is_infinite() {
                if saturate { 254 } else { 255 }
            } else {
                let lower = (-30..=20).rev().find(|&power| 2_f64.powi(power) <= x).unwrap();
                let (low, high) = (2_f64.powi(lower), 2_f64.powi(lower + 1));
                let is_up = x > low && (mode == "up" || mode == "nearest" && x - low >= high - x);
                (127 + lower + i32::from(is_up)) as u32
            };
            assert_eq!(code, expected, "{x:?} {mode} {saturate}");
        }
    }
}

#[test]
fn dynamic_quantization_of_all_finite_numbers() {
    let numbers: Vec<f32> = (0..=u16::MAX)
        .map(|code| f16::from_bits(code).to_f32())
        .filter(|number| number.is_finite())
        .collect();
    let x: Value = Tensor::from_slice([numbers.len() as i64], &numbers).unwrap().into();
    let found = run("g (float[N] x) => (y, s, z) { y, s, z = DynamicQuantizeLinear (x) }", &[("x", x)]);
    let scale = (65504.0_f32 - -65504.0) / 255.0;
    let zero = (65504.0_f32 / scale).round_ties_even();
    for (&x, code) in numbers.iter().zip(codes(&found, 8, numbers.len())) {
        let expected = ((x / scale).round_ties_even() + zero).clamp(0.0, 255.0);
        assert_eq!(code, expected as u32, "{x:?}");
    }
}
