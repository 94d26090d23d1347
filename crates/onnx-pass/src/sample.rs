//! Inputs for the runs of an equivalence: sizes that satisfy the recorded relations, and elements with special values.

use std::collections::BTreeMap;

use onnx_eval::Value;
use onnx_ir::ValueId;
use onnx_shape_infer::{Content, Elem, Relation};
use onnx_types::tensor::{Tensor, bf16, f16};
use onnx_types::{Dim, ElemClass, ElemType, Symbol, TypeKind};

use crate::assumption::{Assumption, Condition, Exactness};
use crate::boundary_values::Points;
use crate::equivalence::Equivalence;

/// Known sizes above this are replaced by smaller ones where no assumption names them.
pub(crate) const SMALL: i64 = 8;

/// Number of rounds in which sizes are corrected until they satisfy the relations.
const ROUNDS: usize = 8;

/// Few numbers, so that elements are equal.
const REPEATED: [f64; 3] = [2.0, 0.5, -1.0];

/// Exact numbers that operators treat differently, as exponents and factors.
const SMALL_FLOATS: [f64; 8] = [2.0, 0.5, -1.0, 1.0, 3.0, 4.0, -2.0, 0.0];

/// SplitMix64: the numbers of a proof depend on the equivalence only.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(from.len() as u64);
        from.get(usize::try_from(index).ok()?).copied()
    }
}

/// The inputs of one run.
pub(crate) struct Case {
    pub(crate) sizes: Vec<(Symbol, i64)>,
    pub(crate) inputs: Vec<Value>,
}

/// The reason for the lack of inputs.
pub(crate) enum NoCase {
    /// These sizes do not satisfy the relations, or a tensor would be too large; others may.
    Sizes,
    /// No inputs can be made; the reason.
    Unsupported(String),
}

pub(crate) struct Sampler<'a> {
    eq: &'a Equivalence,
    symbols: Vec<Symbol>,
    inputs: Vec<ValueId>,
    /// Smaller sizes in the place of known ones.
    scaled: BTreeMap<i64, i64>,
    /// Smaller sizes of single axes of inputs.
    scaled_axes: Vec<(ValueId, usize, i64)>,
    conditions: Vec<Condition>,
    points: Points,
    max_elements: u64,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(eq: &'a Equivalence, max_elements: u64) -> Self {
        let inputs = eq.inputs();
        let conditions = eq.assumptions().iter().filter_map(|assumption| match assumption {
            Assumption::Granted(condition) => Some(*condition),
            _ => None,
        });
        let mut sampler = Self {
            conditions: conditions.collect(),
            points: Points::of(eq),
            eq,
            symbols: Vec::new(),
            inputs,
            scaled: BTreeMap::new(),
            scaled_axes: Vec::new(),
            max_elements,
        };
        sampler.symbols = sampler.all_symbols();
        sampler
    }

    /// Replaces large sizes that no assumption names by small ones; returns `false` if there are none.
    pub(crate) fn scale(&mut self) -> bool {
        let mut fixed: Vec<i64> = self.named_dims().iter().filter_map(|dim| dim.known()).collect();
        for &input in &self.inputs {
            fixed.extend(self.eq.constant(input).map_or(&[][..], Tensor::dims));
        }
        let mut next = 4;
        for dim in self.free_dims() {
            if let Dim::Known(size) = dim
                && size > SMALL
                && !fixed.contains(&size)
                && !self.scaled.contains_key(&size)
            {
                self.scaled.insert(size, next);
                next = if next >= SMALL { 4 } else { next.saturating_add(1) };
            }
        }
        !self.scaled.is_empty()
    }

    /// Replaces large sizes of spatial axes of inputs whose shape was not read, even if a constant or another input has the
    /// same size by chance; returns `false` if there are none.
    pub(crate) fn scale_spatial(&mut self) -> bool {
        self.scale();
        let used: Vec<Dim> = self.eq.assumptions().iter().flat_map(named_by).collect();
        let mut chosen: BTreeMap<i64, i64> = BTreeMap::new();
        let mut scaled = Vec::new();
        for (index, &input) in self.inputs.iter().enumerate() {
            let is_read = self.eq.assumptions().contains(&Assumption::Shape { input: index });
            if is_read || self.eq.constant(input).is_some() {
                continue;
            }
            for (axis, &dim) in self.dims_of(input).unwrap_or_default().iter().enumerate().skip(2) {
                let Dim::Known(size) = dim else { continue };
                if size > SMALL && !self.scaled.contains_key(&size) && !used.contains(&dim) {
                    let next = 4_i64.saturating_add(chosen.len() as i64 % 4);
                    let small = *chosen.entry(size).or_insert(next);
                    scaled.push((input, axis, small));
                }
            }
        }
        self.scaled_axes = scaled;
        !self.scaled_axes.is_empty()
    }

    pub(crate) fn unscale(&mut self) {
        self.scaled.clear();
    }

    fn dims_of(&self, input: ValueId) -> Option<&[Dim]> {
        match &self.eq.model().ty(input)?.kind {
            TypeKind::Tensor(tensor) => tensor.shape.as_ref().map(onnx_types::Shape::dims),
            _ => None,
        }
    }

    fn free_dims(&self) -> Vec<Dim> {
        let dims = self.inputs.iter().filter_map(|&input| self.dims_of(input));
        dims.flatten().copied().collect()
    }

    /// The dimensions that assumptions name.
    fn named_dims(&self) -> Vec<Dim> {
        let mut dims = Vec::new();
        for assumption in self.eq.assumptions() {
            dims.extend(named_by(assumption));
            if let Assumption::Shape { input } = assumption {
                let value = self.inputs.get(*input);
                dims.extend(value.and_then(|&value| self.dims_of(value)).unwrap_or_default());
            }
        }
        dims
    }

    fn all_symbols(&self) -> Vec<Symbol> {
        let exprs = self.eq.model().exprs();
        let mut symbols: Vec<Symbol> = Vec::new();
        for dim in self.free_dims().into_iter().chain(self.named_dims()) {
            match dim {
                Dim::Var(symbol) => symbols.push(symbol),
                Dim::Expr(_) => symbols.extend(exprs.symbols(dim)),
                Dim::Known(_) | Dim::Unknown => {}
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    /// The inputs of a run. The first attempts use equal, different, single and empty sizes, the others random ones.
    pub(crate) fn case(&self, attempt: usize, rng: &mut Rng) -> Result<Case, NoCase> {
        let sizes = self.sizes(attempt, rng).ok_or(NoCase::Sizes)?;
        let mut inputs: Vec<Value> = Vec::new();
        for (index, &input) in self.inputs.iter().enumerate() {
            if let Some(constant) = self.eq.constant(input) {
                inputs.push(constant.clone().into());
                continue;
            }
            let content = self.eq.assumptions().iter().find_map(|assumption| match assumption {
                Assumption::Content { input, elements } if *input == index => Some(elements),
                _ => None,
            });
            let tensor = self.tensor(input, content, &sizes, attempt, rng)?;
            // Operands that are the same value are a separate class of inputs.
            let is_aliased = attempt % 5 == 4 && content.is_none();
            let twin = inputs.iter().enumerate().find(|&(other, value)| {
                let is_free = self.inputs.get(other).is_some_and(|&other| self.eq.constant(other).is_none());
                is_free
                    && value
                        .tensor()
                        .is_some_and(|value| (value.elem(), value.dims()) == (tensor.elem(), tensor.dims()))
            });
            let value = match twin {
                Some((_, twin)) if is_aliased => twin.clone(),
                _ => tensor.into(),
            };
            inputs.push(value);
        }
        Ok(Case { sizes, inputs })
    }

    fn eval(&self, dim: Dim, sizes: &[(Symbol, i64)]) -> Option<i64> {
        let value = |symbol| sizes.iter().find(|(known, _)| *known == symbol).map(|&(_, size)| size);
        self.eq.model().exprs().eval(dim, &value)
    }

    /// Sizes of all variables that satisfy the relations.
    fn sizes(&self, attempt: usize, rng: &mut Rng) -> Option<Vec<(Symbol, i64)>> {
        const DIFFERENT: [i64; 5] = [2, 3, 5, 4, 7];
        const RANDOM: [i64; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 5, 6];
        let mut sizes: Vec<(Symbol, i64)> = Vec::new();
        for (index, &symbol) in self.symbols.iter().enumerate() {
            let size = match attempt {
                0 => DIFFERENT.get(index % DIFFERENT.len()).copied(),
                1 => Some(1),
                2 => Some(2),
                3 => Some(0),
                _ => rng.pick(&RANDOM),
            };
            sizes.push((symbol, size.unwrap_or(2)));
        }
        let relations: Vec<Relation> = self
            .eq
            .assumptions()
            .iter()
            .filter_map(|assumption| match assumption {
                Assumption::Relation(relation) => Some(*relation),
                _ => None,
            })
            .collect();
        for _ in 0..ROUNDS {
            let mut is_satisfied = true;
            for &relation in &relations {
                if relation.fails(|dim| self.eval(dim, &sizes)) {
                    is_satisfied = false;
                    self.correct(relation, &mut sizes);
                }
            }
            if is_satisfied {
                return Some(sizes);
            }
        }
        None
    }

    /// Changes a variable of a relation that does not hold.
    fn correct(&self, relation: Relation, sizes: &mut [(Symbol, i64)]) {
        let Some((a, b)) = sides(relation) else { return };
        let (left, right) = (self.eval(a, sizes), self.eval(b, sizes));
        let multiple = |of: Option<i64>, by: Option<i64>| {
            let rest = of?.checked_rem(by?)?;
            of?.checked_sub(rest)?.checked_add(by?)
        };
        let changes = match relation {
            Relation::Equal(..) | Relation::AtMost(..) => [(b, left), (a, right)],
            Relation::Divides(..) => [(b, multiple(right, left)), (a, Some(1))],
            Relation::Broadcasts(..) => [(b, left), (a, Some(1))],
            Relation::Declared(_) | Relation::Default(_) => return,
        };
        for (dim, size) in changes {
            if let (Dim::Var(symbol), Some(size @ 0..)) = (dim, size)
                && let Some(entry) = sizes.iter_mut().find(|(known, _)| *known == symbol)
            {
                entry.1 = size;
                return;
            }
        }
    }

    fn tensor(
        &self,
        input: ValueId,
        content: Option<&Content>,
        sizes: &[(Symbol, i64)],
        attempt: usize,
        rng: &mut Rng,
    ) -> Result<Tensor, NoCase> {
        let ty = self.eq.model().ty(input);
        let Some(TypeKind::Tensor(ty)) = ty.map(|ty| &ty.kind) else {
            return Err(NoCase::Unsupported("an input is not a tensor".to_owned()));
        };
        let dims: Vec<i64> = match &ty.shape {
            None => (0..rng.below(4)).map(|_| rng.pick(&[1, 2, 3]).unwrap_or(1)).collect(),
            Some(shape) => {
                let mut dims = Vec::new();
                for (axis, &dim) in shape.dims().iter().enumerate() {
                    let size = self.eval(dim, sizes).ok_or(NoCase::Sizes)?;
                    let is_known = matches!(dim, Dim::Known(_));
                    let scaled = self.scaled.get(&size).filter(|_| is_known).copied();
                    let mut axes = self.scaled_axes.iter();
                    let own = axes.find(|&&(other, at, _)| (other, at) == (input, axis));
                    dims.push(own.map(|&(.., size)| size).or(scaled).unwrap_or(size));
                }
                dims
            }
        };
        let count = dims.iter().try_fold(1_i64, |count, &dim| count.checked_mul(dim));
        let count = count.filter(|&count| count >= 0 && count.unsigned_abs() <= self.max_elements);
        let count = usize::try_from(count.ok_or(NoCase::Sizes)?).map_err(|_| NoCase::Sizes)?;
        let mut elements = Elements { sampler: self, elem: ty.elem, sizes, attempt, rng };
        elements.tensor(dims, count, content.map(|content| &content[..]))
    }
}

/// The dimensions that an assumption names, other than those of the shape of an input.
fn named_by(assumption: &Assumption) -> Vec<Dim> {
    match assumption {
        Assumption::Relation(relation) => sides(*relation).map_or_else(Vec::new, |(a, b)| vec![a, b]),
        Assumption::Content { elements, .. } => {
            let dims = elements.iter().filter_map(|elem| match elem {
                Elem::Int(dim) | Elem::Dyadic(dim, _) => Some(*dim),
                _ => None,
            });
            dims.collect()
        }
        _ => Vec::new(),
    }
}

/// The two sides of a relation between dimensions.
const fn sides(relation: Relation) -> Option<(Dim, Dim)> {
    match relation {
        Relation::Equal(a, b)
        | Relation::AtMost(a, b)
        | Relation::Divides(a, b)
        | Relation::Broadcasts(a, b) => Some((a, b)),
        Relation::Declared(_) | Relation::Default(_) => None,
    }
}

/// The elements of one tensor.
struct Elements<'a, 'r> {
    sampler: &'a Sampler<'a>,
    elem: ElemType,
    sizes: &'a [(Symbol, i64)],
    attempt: usize,
    rng: &'r mut Rng,
}

impl Elements<'_, '_> {
    fn tensor(&mut self, dims: Vec<i64>, count: usize, content: Option<&[Elem]>) -> Result<Tensor, NoCase> {
        let content = content.filter(|content| content.len() == count);
        let known =
            |elements: &Self, index: usize| content.and_then(|content| elements.known(content, index));
        if self.elem.class() == ElemClass::String {
            const STRINGS: [&str; 4] = ["", "a", "b", "a b"];
            let strings: Vec<&str> =
                (0..count).map(|_| self.rng.pick(&STRINGS).unwrap_or_default()).collect();
            return Tensor::from_strings(dims, strings).map_err(|_| NoCase::Sizes);
        }
        let is_float = self.elem.class() == ElemClass::Float;
        let mut floats: Vec<f64> = Vec::new();
        let mut integers: Vec<i64> = Vec::new();
        for index in 0..count {
            let known = known(self, index);
            if is_float {
                floats.push(known.unwrap_or_else(|| self.float(index)));
            } else {
                // Contents are sizes, which `f64` has exactly.
                integers.push(known.map_or_else(|| self.integer(index), |number| number as i64));
            }
        }
        make(self.elem, dims, &floats, &integers)
            .ok_or_else(|| NoCase::Unsupported(format!("no elements of type {} are generated", self.elem)))
    }

    fn known(&self, content: &[Elem], index: usize) -> Option<f64> {
        match *content.get(index)? {
            Elem::Int(dim) => self.sampler.eval(dim, self.sizes).map(|number| number as f64),
            Elem::Dyadic(dim, by) => {
                self.sampler.eval(dim, self.sizes).map(|number| number as f64 / f64::from(by))
            }
            Elem::Float(number) => Some(number),
            Elem::Unknown | Elem::Quotient(..) => None,
        }
    }

    fn float(&mut self, index: usize) -> f64 {
        for _ in 0..ROUNDS {
            let number = match self.sampler.eq.class() {
                // The first counterexample is easiest to read without special values.
                Exactness::Exact if self.attempt > 0 => self.any_float(index),
                _ => self.dyadic(),
            };
            if self.sampler.conditions.iter().all(|condition| condition.allows(number)) {
                return number;
            }
        }
        1.0
    }

    /// Numbers with which short sums and products are exact: all, positive ones, ones that are nearly equal, small ones that
    /// repeat, other magnitudes, and those that occur in the claim.
    fn dyadic(&mut self) -> f64 {
        match self.attempt % 6 {
            0 => self.rng.below(65) as f64 / 8.0 - 4.0,
            1 => self.rng.below(32) as f64 / 8.0 + 0.125,
            2 => 1.0 + self.rng.below(9) as f64 / 256.0,
            3 => self.rng.pick(&REPEATED).unwrap_or(1.0),
            4 => self.magnitude(),
            _ => self.point().unwrap_or_else(|| self.rng.pick(&SMALL_FLOATS).unwrap_or(1.0)),
        }
    }

    /// A number of the claim, in two of three cases if it has any.
    fn point(&mut self) -> Option<f64> {
        let sampler = self.sampler;
        if sampler.points.floats.is_empty() || self.rng.below(3) == 0 {
            return None;
        }
        self.rng.pick(&sampler.points.floats)
    }

    fn magnitude(&mut self) -> f64 {
        const MAGNITUDES: [f64; 8] = [6.0, 7.5, 100.0, 1e4, 0.125, 1e-3, 1e-6, 20.0];
        let number = self.rng.pick(&MAGNITUDES).unwrap_or(6.0);
        if self.rng.below(2) == 0 { number } else { -number }
    }

    /// A number for an exact claim. The first element of some tensors is each special number in turn.
    fn any_float(&mut self, index: usize) -> f64 {
        const SPECIAL: [f64; 8] = [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e-5];
        let (tiny, large, step) = match self.elem {
            ElemType::Double => (5e-324, f64::MAX, f64::EPSILON),
            ElemType::Float16 => (6e-8, 65504.0, 9.765_625e-4),
            ElemType::Bfloat16 => (9.2e-41, 3.389e38, 7.812_5e-3),
            _ => (1.5e-45, f64::from(f32::MAX), f64::from(f32::EPSILON)),
        };
        let own = [tiny, -tiny, large, -large, 1.0 + step];
        if self.attempt >= 4
            && self.attempt % 3 == 1
            && index == 0
            && let Some(&number) = SPECIAL.get((self.attempt / 3 - 1) % SPECIAL.len())
        {
            return number;
        }
        if self.attempt % 3 == 2 && self.attempt > 2 && self.attempt % 4 != 3 {
            // Of two numbers, so that most sets of elements have a tie.
            return if self.rng.below(2) == 0 { 2.0 } else { -1.0 };
        }
        let share = if self.attempt % 4 == 3 { 2 } else { 6 };
        match self.rng.below(share) {
            0 => return self.rng.pick(&SPECIAL).unwrap_or(0.0),
            1 if share > 2 && self.rng.below(4) == 0 => return self.rng.pick(&own).unwrap_or(0.0),
            _ => {}
        }
        if self.attempt % 2 == 1
            && let Some(point) = self.point()
        {
            return point;
        }
        match self.rng.below(8) {
            0 if self.attempt > 2 => self.magnitude(),
            _ => self.rng.below(1 << 20) as f64 / 131_072.0 - 4.0,
        }
    }

    fn integer(&mut self, index: usize) -> i64 {
        if self.elem == ElemType::Bool {
            return match self.attempt {
                0 => 1,
                1 => 0,
                _ => i64::from(self.rng.below(2) == 0),
            };
        }
        const SMALL_NUMBERS: [i64; 8] = [0, 1, 1, 2, 2, 3, -1, 4];
        // No float has the first, and 32 bits do not have the others.
        const LARGE: [i64; 5] = [(1 << 53) + 1, (1 << 31) + 1, (1 << 31) - 1, 1 - (1 << 31), -1 - (1 << 31)];
        let bits = self.elem.bits().unwrap_or(64).clamp(2, 64);
        let highest = (u64::MAX >> 1 >> (64 - bits)).cast_signed();
        let extremes = [highest, !highest, highest / 2 + 1, highest - 1];
        let sampler = self.sampler;
        if self.attempt % 2 == 1
            && self.rng.below(3) == 0
            && let Some(point) = self.rng.pick(&sampler.points.integers)
        {
            return point;
        }
        match self.rng.below(8) {
            0 => self.rng.pick(self.sizes).map_or(index as i64, |(_, size)| size),
            1 | 2 if self.attempt % 4 == 3 && bits == 64 => self.rng.pick(&LARGE).unwrap_or(0),
            1..=4 if self.attempt % 4 == 3 => self.rng.pick(&extremes).unwrap_or(0),
            _ => self.rng.pick(&SMALL_NUMBERS).unwrap_or(0),
        }
    }
}

/// A tensor of numbers; `None` for types that have no generator.
pub(crate) fn make(elem: ElemType, dims: Vec<i64>, floats: &[f64], integers: &[i64]) -> Option<Tensor> {
    use ElemType as E;
    macro_rules! integers {
        ($type:ty) => {{
            // Extremes wrap to those of the narrower type.
            let elements: Vec<$type> = integers.iter().map(|&number| number as $type).collect();
            Tensor::from_slice(dims, &elements)
        }};
    }
    match elem {
        E::Float => {
            let elements: Vec<f32> = floats.iter().map(|&number| number as f32).collect();
            Tensor::from_slice(dims, &elements)
        }
        E::Double => Tensor::from_slice(dims, floats),
        E::Float16 => {
            let elements: Vec<f16> = floats.iter().map(|&number| f16::from_f64(number)).collect();
            Tensor::from_slice(dims, &elements)
        }
        E::Bfloat16 => {
            let elements: Vec<bf16> = floats.iter().map(|&number| bf16::from_f64(number)).collect();
            Tensor::from_slice(dims, &elements)
        }
        E::Bool => {
            let elements: Vec<bool> = integers.iter().map(|&number| number != 0).collect();
            Tensor::from_slice(dims, &elements)
        }
        E::Int64 => integers!(i64),
        E::Int32 => integers!(i32),
        E::Int16 => integers!(i16),
        E::Int8 => integers!(i8),
        E::Uint64 => integers!(u64),
        E::Uint32 => integers!(u32),
        E::Uint16 => integers!(u16),
        E::Uint8 => integers!(u8),
        _ => return None,
    }
    .ok()
}
