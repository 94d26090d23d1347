//! Random chains of operations on elements with one symbol, compared with real arithmetic in the type for many sizes.

use onnx_schema::op;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType, Symbol};

#[path = "../../../tests/properties/numbers.rs"]
mod numbers;

use numbers::Numbers;

use super::*;
use crate::InferOptions;
use crate::engine::state::State;
use crate::family::{comparison, element};

/// The sizes that the symbol is tried with; all guards hold for them.
const SIZES: [i64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 63, 100, 1001];

const TYPES: [ElemType; 11] = [
    ElemType::Int64,
    ElemType::Int32,
    ElemType::Int16,
    ElemType::Int8,
    ElemType::Uint8,
    ElemType::Uint32,
    ElemType::Float,
    ElemType::Double,
    ElemType::Float16,
    ElemType::Bfloat16,
    ElemType::Bool,
];

const CONSTANTS: [f64; 24] = [
    0.0,
    1.0,
    2.0,
    3.0,
    4.0,
    7.0,
    10.0,
    0.5,
    0.25,
    1.5,
    0.1,
    2.5,
    100.0,
    127.0,
    255.0,
    1024.0,
    -1.0,
    -2.0,
    -0.5,
    -3.0,
    65_537.0,
    16_777_216.0,
    16_777_217.0,
    2_147_483_647.0,
];

/// An element, and what it really is for each size.
#[derive(Clone, Debug)]
struct Value {
    ty: ElemType,
    elem: Elem,
    real: Vec<f64>,
    /// Whether the guards hold at each size.
    holds: Vec<bool>,
    text: String,
}

/// Rounds a number to `bits` bits after the first one, ties to even.
fn round_bits(value: f64, bits: i32, least: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let mut exponent = -1074;
    while 2_f64.powi(exponent + 1) <= value.abs() {
        exponent += 1;
    }
    let unit = 2_f64.powi(exponent.max(least) - bits);
    (value / unit).round_ties_even() * unit
}

/// A number as a type has it: rounded, or wrapped around. Integers here are small enough for doubles.
fn store(ty: ElemType, value: f64) -> f64 {
    match ty {
        ElemType::Double => value,
        ElemType::Float => f64::from(value as f32),
        ElemType::Float16 => {
            let rounded = round_bits(value, 10, -14);
            if rounded.abs() > 65_504.0 { f64::INFINITY.copysign(value) } else { rounded }
        }
        ElemType::Bfloat16 => round_bits(value, 7, -126),
        _ => {
            let (lo, hi) = range(ty).unwrap();
            if ty == ElemType::Int64 {
                return value;
            }
            let width = hi - lo + 1;
            (lo + (value as i64 - lo).rem_euclid(width)) as f64
        }
    }
}

/// The exact result of an operation; `None` if it is undefined, or too large for a double to represent.
fn compute(ty: ElemType, op: Op, a: f64, b: f64) -> Option<f64> {
    let is_float = exact_up_to(ty).is_some();
    if !is_float && b == 0.0 && matches!(op, Op::Div | Op::Mod | Op::Rem) {
        return None;
    }
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div if is_float => a / b,
        Op::Div => (a / b).trunc(),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::Rem => a % b,
        Op::Mod => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
    };
    let is_told = is_float || value.abs() < 2_f64.powi(52);
    (is_told && !a.is_nan() && !b.is_nan()).then(|| store(ty, value))
}

/// What an element says that the number is at a size; for a rounded quotient the number that rounding gives.
fn told(exprs: &ExprTable, value: &Value, size: i64) -> Option<f64> {
    let number = |dim| exprs.eval(dim, &|_: Symbol| Some(size)).map(|number| number as f64);
    match value.elem {
        Elem::Unknown => None,
        Elem::Int(dim) => number(dim),
        Elem::Dyadic(dim, shift) => number(dim).map(|number| number / f64::from(1_u32 << shift)),
        Elem::Quotient(dim, by) => number(dim).map(|number| store(value.ty, number / by as f64)),
        Elem::Float(number) => Some(number),
    }
}

/// Checks what is said at the sizes at which the guards hold.
fn confirm(cx: &Cx<'_, '_>, value: &mut Value) {
    if value.elem == Elem::Unknown {
        return;
    }
    for (&size, holds) in SIZES.iter().zip(&mut value.holds) {
        let number = |dim| cx.state.exprs.eval(dim, &|_: Symbol| Some(size));
        *holds &= cx.state.facts.guards().all(|fact| match fact.relation {
            Relation::AtMost(a, b) => number(a).zip(number(b)).is_some_and(|(a, b)| a <= b),
            _ => true,
        });
    }
    for ((&size, &real), &holds) in SIZES.iter().zip(&value.real).zip(&value.holds) {
        if !holds {
            continue;
        }
        let told = told(&cx.state.exprs, value, size);
        assert_eq!(told, Some(real), "{:?} at {size}: {} is {:?}", value.ty, value.text, value.elem);
    }
}

fn constant(numbers: &mut Numbers, ty: ElemType) -> Value {
    loop {
        let number = CONSTANTS[numbers.below(CONSTANTS.len())];
        if store(ty, number) == number && (exact_up_to(ty).is_some() || number.fract() == 0.0) {
            let (elem, real) = (Elem::number(number), vec![number; SIZES.len()]);
            return Value { ty, elem, real, holds: vec![true; SIZES.len()], text: number.to_string() };
        }
    }
}

const OPS: [Op; 8] = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Mod, Op::Rem];

fn binary(cx: &mut Cx<'_, '_>, op: Op, a: &Value, b: &Value) -> Option<Value> {
    let ty = a.ty;
    let real: Option<Vec<f64>> = a.real.iter().zip(&b.real).map(|(&a, &b)| compute(ty, op, a, b)).collect();
    let elem = join(cx, ty, op, a.elem, b.elem);
    let holds = a.holds.iter().zip(&b.holds).map(|(&a, &b)| a && b).collect();
    Some(Value { ty, elem, real: real?, holds, text: format!("{op:?}({}, {})", a.text, b.text) })
}

fn unary(cx: &mut Cx<'_, '_>, which: usize, a: &Value) -> Option<Value> {
    let ty = a.ty;
    let is_float = exact_up_to(ty).is_some();
    let (elem, of): (Elem, fn(f64) -> f64) = match which {
        0 => (element::abs(cx, ty, a.elem), f64::abs),
        1 => (element::neg(cx, ty, a.elem), |a| 0.0 - a),
        2 => (element::relu(cx, ty, a.elem), |a| a.max(0.0)),
        3 => (element::sign(cx, ty, a.elem), |a| if a == 0.0 { 0.0 } else { a.signum() }),
        4 if is_float => (round(cx, a.elem, false), f64::floor),
        5 if is_float => (round(cx, a.elem, true), f64::ceil),
        6 if is_float => (element::nearest(cx, ty, a.elem), f64::round_ties_even),
        7 if is_float => (element::sqrt(cx, ty, a.elem), f64::sqrt),
        8 => (element::pow(cx, ty, a.elem, Elem::Int(Dim::Known(2))), |a| a * a),
        _ => return None,
    };
    let real: Vec<f64> = a.real.iter().map(|&a| of(a)).collect();
    let is_told = real.iter().all(|real| is_float || real.abs() < 2_f64.powi(52));
    let real = real.into_iter().map(|real| store(ty, real)).collect();
    is_told.then(|| Value { ty, elem, real, holds: a.holds.clone(), text: format!("f{which}({})", a.text) })
}

fn converted(cx: &mut Cx<'_, '_>, to: ElemType, a: &Value) -> Option<Value> {
    let real = a.real.iter().map(|&real| {
        let is_whole = exact_up_to(to).is_none();
        if to == ElemType::Bool {
            return Some(f64::from(u8::from(real != 0.0)));
        }
        if is_whole && exact_up_to(a.ty).is_some() {
            // Outside of the range it is up to the machine.
            let (lo, hi) = range(to)?;
            let whole = real.trunc();
            return (whole >= lo as f64 && whole <= hi as f64 && whole.abs() < 2_f64.powi(52))
                .then_some(whole);
        }
        Some(store(to, real))
    });
    let real: Option<Vec<f64>> = real.collect();
    let elem = cast(cx, a.elem, a.ty, to);
    Some(Value { ty: to, elem, real: real?, holds: a.holds.clone(), text: format!("{to:?}({})", a.text) })
}

/// A chain from the symbol on; ends where an operation would be a fault.
fn chain(cx: &mut Cx<'_, '_>, numbers: &mut Numbers, symbol: Symbol) -> Option<Value> {
    let real = SIZES.iter().map(|&size| size as f64).collect();
    let elem = Elem::Int(Dim::Var(symbol));
    let holds = vec![true; SIZES.len()];
    let mut value = Value { ty: ElemType::Int64, elem, real, holds, text: "N".to_owned() };
    cx.state.facts = crate::facts::Facts::default();
    for _ in 0..1 + numbers.below(6) {
        let next = match numbers.below(8) {
            0 => converted(cx, TYPES[numbers.below(TYPES.len())], &value),
            1 => unary(cx, numbers.below(9), &value),
            kind if value.ty != ElemType::Bool => {
                let other = constant(numbers, value.ty);
                let op = OPS[numbers.below(OPS.len())];
                if kind == 2 { binary(cx, op, &other, &value) } else { binary(cx, op, &value, &other) }
            }
            _ => None,
        };
        value = next?;
        if value.real.iter().any(|real| !real.is_finite()) {
            return None;
        }
        confirm(cx, &mut value);
        if value.elem == Elem::Unknown {
            return None;
        }
    }
    Some(value)
}

fn with_cx(test: impl FnOnce(&mut Cx<'_, '_>, Symbol)) {
    let text = "<ir_version: 10, opset_import: [\"\": 20]> g (float[N] x) => (y) { y = Relu (x) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let symbol = model.names().get("N").unwrap();
    let options = InferOptions::default();
    let mut state = State::new(&model, &options, Default::default());
    let id = model.nodes(model.main_graph()).next().unwrap();
    let schema = onnx_schema::lookup(onnx_schema::domain::ONNX, op::RELU, 20);
    let outs = Vec::new();
    let node = model.node(id);
    let mut cx = Cx {
        state: &mut state,
        id,
        node,
        schema,
        declared: None,
        runtime: None,
        opset: 20,
        args: Some(&[]),
        outs,
    };
    test(&mut cx, symbol);
}

#[test]
fn chains_of_operations_say_what_machines_compute() {
    with_cx(|cx, symbol| {
        let mut numbers = Numbers::new(0);
        let (mut known, mut compared) = (0, 0);
        let mut last: Vec<Value> = Vec::new();
        for _ in 0..4_000 {
            let Some(value) = chain(cx, &mut numbers, symbol) else { continue };
            known += 1;
            if let Some(other) = last.iter().find(|other| other.ty == value.ty) {
                compare(cx, &value, other, &mut compared);
                if let Some(mut joined) = binary(cx, OPS[numbers.below(OPS.len())], &value, other)
                    && joined.real.iter().all(|real| real.is_finite())
                {
                    confirm(cx, &mut joined);
                }
            }
            last.retain(|other| other.ty != value.ty);
            last.push(value);
        }
        assert!(known > 300 && compared > 50, "{known} chains were followed and {compared} compared");
    });
}

fn compare(cx: &mut Cx<'_, '_>, a: &Value, b: &Value, compared: &mut usize) {
    let said = [
        comparison::equal(cx, a.elem, b.elem),
        comparison::less(cx, a.elem, b.elem),
        comparison::at_most(cx, a.elem, b.elem),
    ];
    for (at, (&left, &right)) in a.real.iter().zip(&b.real).enumerate() {
        if !(a.holds[at] && b.holds[at]) {
            continue;
        }
        let real = [left == right, left < right, left <= right];
        for (said, real) in said.iter().zip(real) {
            assert!(said.is_none_or(|said| said == real), "{} and {}: {said:?}", a.text, b.text);
        }
    }
    *compared += said.iter().flatten().count();
}

#[test]
fn numbers_at_the_ends_of_types_are_joined_as_machines_do_or_not_at_all() {
    with_cx(|cx, _| {
        for ty in TYPES {
            let mut values: Vec<f64> =
                CONSTANTS.iter().copied().filter(|&value| store(ty, value) == value).collect();
            match range(ty) {
                Some((lo, hi)) if ty != ElemType::Int64 => {
                    values.retain(|value| value.fract() == 0.0);
                    values.extend([lo, lo + 1, hi - 1, hi].map(|end| end as f64));
                }
                Some(_) => values.retain(|value| value.fract() == 0.0),
                None => values.extend([65_504.0, 1e30, 1.0 / 3.0, 1e-30].map(|value| store(ty, value))),
            }
            values.retain(|value| value.is_finite());
            for &a in &values {
                for &b in &values {
                    for op in OPS {
                        let said = join(cx, ty, op, Elem::number(a), Elem::number(b)).to_f64();
                        let real = compute(ty, op, a, b);
                        // In 64 bits a double does not tell.
                        let is_told = ty != ElemType::Int64 || b == 0.0 || real.is_some();
                        assert!(
                            !is_told || said.is_none() || said == real,
                            "{op:?} of {a} and {b} in {ty:?}: {said:?}, not {real:?}"
                        );
                    }
                }
            }
        }
        for (a, b, op) in [
            (i64::MAX, 1, Op::Add),
            (i64::MIN, 1, Op::Sub),
            (i64::MIN, -1, Op::Div),
            (i64::MAX, 2, Op::Mul),
            (i64::MIN, -1, Op::Rem),
        ] {
            let [left, right] = [a, b].map(|number| Elem::Int(Dim::Known(number)));
            assert_eq!(join(cx, ElemType::Int64, op, left, right), Elem::Unknown, "{op:?} of {a} and {b}");
        }
    });
}
