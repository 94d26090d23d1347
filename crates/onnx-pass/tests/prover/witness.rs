//! Inputs that show a claim to be wrong, found without the prover: other numbers, other sizes, and more of them.

use onnx_eval::{EvalOptions, Perturbation, Precision, Value, run_node};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_pass::{Assumption, Equivalence, Exactness};
use onnx_shape_infer::Relation;
use onnx_types::tensor::{NoData, Tensor, f16};
use onnx_types::{Dim, ElemClass, ElemType, Symbol};

/// Number of inputs that are tried.
const ATTEMPTS: u32 = 600;

/// Relative difference of results of 64 bits that no rounding explains.
const DIFFERENT: f64 = 1e-6;

/// Xorshift, unlike the generator of the prover.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.next() >> 16).unwrap_or(0) % from.len()]
    }
}

/// How the sides run.
struct Sides<'a> {
    eq: &'a Equivalence,
    calls: [NodeId; 2],
    numbers: Vec<f64>,
}

/// Inputs for which the sides of a claim differ, as text; `None` if none are found.
pub(crate) fn search(eq: &Equivalence, text: &str) -> Option<String> {
    let model = eq.model();
    let call =
        |name: &str| model.nodes(model.main_graph()).find(|&node| model.str(model.node(node).op()) == name);
    let sides = Sides { eq, calls: [call("before")?, call("after")?], numbers: numbers(text) };
    let mut random = Random(0x1234_5678_9abc_def1);
    for attempt in 0..ATTEMPTS {
        let Some(inputs) = sides.inputs(attempt, &mut random) else { continue };
        if let Some(difference) = sides.difference(&inputs) {
            let inputs = inputs.iter().map(|value| format!("{value:?}"));
            return Some(format!("{}: {difference}", inputs.collect::<Vec<_>>().join("; ")));
        }
    }
    None
}

/// The numbers that a claim is written with.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')));
    let mut numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    // The large ones are limits.
    numbers.sort_by(|a, b| b.total_cmp(a));
    numbers.dedup();
    numbers
}

impl Sides<'_> {
    fn inputs(&self, attempt: u32, random: &mut Random) -> Option<Vec<Value>> {
        let model = self.eq.model();
        let inputs = self.eq.inputs();
        let mut sizes: Vec<(Symbol, i64)> = Vec::new();
        let shape =
            |input: ValueId| model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims().to_vec());
        let relations = self.eq.assumptions().iter().filter_map(|assumption| match assumption {
            Assumption::Relation(relation) => Some(*relation),
            _ => None,
        });
        let relations: Vec<Relation> = relations.collect();
        let related = relations.iter().flat_map(|relation| match *relation {
            Relation::Equal(a, b)
            | Relation::AtMost(a, b)
            | Relation::Divides(a, b)
            | Relation::Broadcasts(a, b) => {
                vec![a, b]
            }
            _ => Vec::new(),
        });
        let most = if attempt % 8 == 7 { 12 } else { 5 };
        for dim in inputs.iter().filter_map(|&input| shape(input)).flatten().chain(related) {
            if let Dim::Var(symbol) = dim
                && sizes.iter().all(|&(known, _)| known != symbol)
            {
                let size = ((random.next() >> 20) % most).cast_signed();
                // Sizes that the claim is written with, and what is one more.
                let number = self.numbers.get(attempt as usize / 16 % 7).filter(|_| attempt % 16 == 9);
                let number = number.filter(|&&number| (0.0..64.0).contains(&number));
                sizes.push((symbol, number.map_or(size, |&number| number as i64 + 1)));
            }
        }
        let of = |symbol: Symbol| sizes.iter().find(|&&(known, _)| known == symbol).map(|&(_, size)| size);
        let size = |dim: Dim| match dim {
            Dim::Var(symbol) => of(symbol),
            dim => dim.known(),
        };
        if relations.iter().any(|relation| relation.fails(size)) {
            return None;
        }
        let tensor = |input: ValueId, random: &mut Random| {
            let dims: Vec<i64> = shape(input)?.into_iter().map(size).collect::<Option<_>>()?;
            self.tensor(model.ty(input)?.elem(), dims, attempt, random)
        };
        let begin = random.0;
        let value = |input| {
            if let Some(constant) = self.eq.constant(input) {
                return Some(Value::from(constant.clone()));
            }
            if attempt % 7 == 6 {
                // Inputs of one type are equal.
                random.0 = begin;
            }
            tensor(input, random).map(Value::from)
        };
        inputs.into_iter().map(value).collect()
    }

    fn tensor(&self, elem: ElemType, dims: Vec<i64>, attempt: u32, random: &mut Random) -> Option<Tensor> {
        let count = usize::try_from(dims.iter().product::<i64>()).ok()?;
        let floats: Vec<f64> = (0..count).map(|_| self.float(attempt, random)).collect();
        let integers: Vec<i64> = (0..count).map(|_| self.integer(elem, attempt, random)).collect();
        macro_rules! make {
            ($from:expr, $ty:ty) => {
                Tensor::from_slice(dims, &$from.into_iter().map(|number| number as $ty).collect::<Vec<_>>())
            };
        }
        match elem {
            ElemType::Float => make!(floats, f32),
            ElemType::Double => make!(floats, f64),
            ElemType::Float16 => {
                Tensor::from_slice(dims, &floats.into_iter().map(f16::from_f64).collect::<Vec<_>>())
            }
            ElemType::Bool => Tensor::from_slice(
                dims,
                &integers.into_iter().map(|number| number & 1 == 1).collect::<Vec<_>>(),
            ),
            ElemType::Int8 => make!(integers, i8),
            ElemType::Int16 => make!(integers, i16),
            ElemType::Int32 => make!(integers, i32),
            ElemType::Int64 => make!(integers, i64),
            ElemType::Uint8 => make!(integers, u8),
            ElemType::Uint32 => make!(integers, u32),
            _ => return None,
        }
        .ok()
    }

    fn float(&self, attempt: u32, random: &mut Random) -> f64 {
        const SPECIAL: [f64; 15] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.5,
            1e-5,
            1e-40,
            3e38,
            -3e38,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            65520.0,
            1e38,
        ];
        let uniform = |random: &mut Random| (random.next() >> 40) as f64 / f64::from(1 << 22) - 2.0;
        match attempt % 6 {
            0 if self.eq.class() == Exactness::Exact => random.pick(&SPECIAL),
            0 | 1 if !self.numbers.is_empty() => {
                let number = random.pick(&self.numbers);
                number * random.pick(&[1.0, 1.0, -1.0]) + random.pick(&[0.0, 0.0, 0.5, -0.5, 1e-3, -1e-3])
            }
            2 => uniform(random),
            3 => random.pick(&[1.0, 2.0, 2.0, -1.0, 0.5, 1.5, -2.5, 0.25, 0.75, 0.375, 0.125, 0.625]),
            4 => uniform(random) * 1e-3 + 1.0,
            _ => uniform(random) * random.pick(&[1.0, 1e-3, 4.0, 100.0, 1e4]),
        }
    }

    fn integer(&self, elem: ElemType, attempt: u32, random: &mut Random) -> i64 {
        const EXTREME: [i64; 9] =
            [i64::MIN, i64::MAX, 1 << 31, -(1 << 31), (1 << 31) - 1, (1 << 53) + 1, -1, 127, -128];
        // The least number of the type.
        let least = -1_i64 << (elem.bits().unwrap_or(64).clamp(1, 64) - 1);
        match attempt % 4 {
            0 => random.pick(&[0, 1, 1, 2, 3, -1, -2, 5]),
            1 if !self.numbers.is_empty() => {
                let number = random.pick(&self.numbers) as i64;
                number.wrapping_add(random.pick(&[0, 0, 1, -1]))
            }
            2 => random.pick(&[least, least, least.wrapping_add(1), 0, 1, -1]),
            3 => random.pick(&EXTREME),
            _ => (random.next() >> random.pick(&[1, 20, 40, 56])).cast_signed(),
        }
    }

    /// How the results of the sides differ; `None` if they do not, or if the old side fails.
    fn difference(&self, inputs: &[Value]) -> Option<String> {
        let plain = EvalOptions::default();
        if self.eq.class() == Exactness::Rounding {
            let wide = plain.with_precision(Precision::Double);
            return self.compare(inputs, &wide, |a, b, most| (a - b).abs() > most * DIFFERENT);
        }
        let bits = |a: f64, b: f64, _| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
        let found = self.compare(inputs, &plain, bits);
        found.or_else(|| {
            let seeds = [1, 2, 3].map(|seed| Perturbation { seed, ulps: u64::MAX, arithmetic: false });
            seeds.into_iter().find_map(|perturbation| {
                self.compare(inputs, &plain.clone().with_perturbation(perturbation), bits)
            })
        })
    }

    fn compare(
        &self,
        inputs: &[Value],
        options: &EvalOptions<'_>,
        differs: impl Fn(f64, f64, f64) -> bool,
    ) -> Option<String> {
        let [old, new] = self.calls.map(|call| results(self.eq.model(), call, inputs, options));
        let old = old.ok()?;
        let new = match new {
            Ok(new) => new,
            Err(reason) => return Some(reason),
        };
        for (a, b) in old.iter().zip(&new) {
            if a.elem() != b.elem() || a.dims() != b.dims() {
                return Some("types or sizes".to_owned());
            }
            if a.elem().class() != ElemClass::Float {
                if a.bytes(&NoData).ok() != b.bytes(&NoData).ok() {
                    return Some("elements".to_owned());
                }
                continue;
            }
            let (Ok(first), Ok(second)) = (a.iter_f64(&NoData), b.iter_f64(&NoData)) else { continue };
            let (first, second): (Vec<f64>, Vec<f64>) = (first.collect(), second.collect());
            let is_rounding = self.eq.class() == Exactness::Rounding;
            let most =
                first.iter().filter(|number| number.is_finite()).fold(0.0, |most: f64, a| most.max(a.abs()));
            let pair = first.iter().zip(&second).find(|&(&a, &b)| match is_rounding && a.is_infinite() {
                true => false,
                false if is_rounding && a.is_nan() != b.is_nan() => true,
                false => differs(a, b, most),
            });
            if let Some((a, b)) = pair {
                return Some(format!("{a:?}, {b:?}"));
            }
        }
        None
    }
}

fn results(
    model: &Model,
    call: NodeId,
    inputs: &[Value],
    options: &EvalOptions<'_>,
) -> Result<Vec<Tensor>, String> {
    let inputs: Vec<Option<Value>> = inputs.iter().cloned().map(Some).collect();
    let outputs = run_node(model, call, &inputs, options).map_err(|failure| failure.to_string())?;
    let tensor = |value: Option<Value>| value.and_then(|value| value.tensor().cloned());
    outputs
        .into_iter()
        .map(|value| tensor(value).map(|tensor| Tensor::clone(&tensor)).ok_or_else(|| "no tensor".to_owned()))
        .collect()
}
