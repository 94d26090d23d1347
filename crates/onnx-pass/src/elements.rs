//! The elements of the inputs of the runs of an equivalence: numbers on which operators differ.

use onnx_shape_infer::Elem;
use onnx_types::tensor::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4, PowerRounding, Tensor,
    U2, U4, bf16, f16,
};
use onnx_types::{ElemClass, ElemType, Symbol};

use crate::assumption::Exactness;
use crate::compare;
use crate::formats::{self, Format};
use crate::pairs::{self, Pairing};
use crate::sample::{NoCase, ROUNDS, Sampler, SplitMix64};
use crate::sweeps::Sweep;

/// Number of elements of a tensor that are made. It is a prime, so that rows do not repeat.
pub(crate) const DIFFERENT: usize = 1021;

/// The same in runs that replace nearly all elements.
const REPLACED: usize = 61;

/// Strings that operators treat differently: of both cases, with digits, separators and blanks, with letters that are one
/// character or two, and letters whose case changes their number or length.
pub(crate) const STRINGS: [&str; 29] = [
    "a",
    "A",
    "b",
    "a b",
    "",
    "Ab",
    "aB c",
    "1",
    "b,a",
    " a",
    "a ",
    "a\tb",
    "_",
    "a-b",
    "B2",
    "\u{e9}",
    "e\u{301}",
    "\u{df}",
    "\u{130}",
    "\u{c9}A",
    "x\n",
    "the",
    "The end",
    "a,,b",
    "\n",
    "a\r\nb",
    "a b  c d e f g",
    "a,b,c,d,e,f,g",
    "\u{1f600}",
];

/// Strings that are numbers.
pub(crate) const NUMERALS: [&str; 20] = [
    "1", "0", "-1", "2.5", "1e3", "NaN", "INF", "-inf", " 3 ", "+4", "255", "0.1", "-0", "-0.0", "007",
    "1e-50", "1E39", "-2.5", "16777217", ".5",
];

/// Strings that are integers of all types.
pub(crate) const INTEGERS: [&str; 6] = ["0", "1", "2", "100", "127", "7"];

/// Number of attempts in which an element is the next string of a claim.
const TURNS: usize = 12;

/// A small set of numbers, so that equal elements occur.
const REPEATED: [f64; 3] = [2.0, 0.5, -1.0];

/// Exact numbers that operators treat differently, as exponents and factors.
const SMALL_FLOATS: [f64; 8] = [2.0, 0.5, -1.0, 1.0, 3.0, 4.0, -2.0, 0.0];

/// Returns `true` for attempts in which floats are of two numbers, so that most sets of elements have a tie.
pub(crate) const fn has_ties(attempt: usize) -> bool {
    attempt > 2 && attempt % 3 == 2 && attempt % 4 != 3
}

/// Returns `true` for attempts in which an input has many elements, if the claim converts numbers.
pub(crate) const fn has_many_elements(attempt: usize) -> bool {
    matches!(attempt, 13 | 16 | 19)
}

/// Attempts for large sizes in which elements ascend or descend, if results are positions: that of the greatest or the least one is
/// the last.
pub(crate) const MONOTONE: [usize; 4] = [10, 12, 22, 18];

/// Attempts in which rows, planes or the whole tensor are negative or zero: numbers that are drawn one by one
/// have no row without a positive one, on which `Relu` after a maximum changes something.
const UNIFORM: [usize; 9] = [7, 9, 11, 14, 15, 17, 20, 21, 23];

/// Number of axes at the end that are of one sign together, in turn: a row, all but the batch and the channels, all.
const UNIFORM_AXES: [fn(usize) -> usize; 3] = [|_| 1, |rank| rank.saturating_sub(2).max(1), |rank| rank];

/// Repeats the elements of a list until it has this many; an empty one stays empty.
fn repeat<T: Copy>(list: &mut Vec<T>, count: usize) {
    while let Some(left) = count.checked_sub(list.len()).filter(|&left| left > 0 && !list.is_empty()) {
        list.extend_from_within(..left.min(list.len()));
    }
}

/// The elements of one tensor.
pub(crate) struct Elements<'a, 'r> {
    pub(crate) sampler: &'a Sampler<'a>,
    /// The index of the input.
    pub(crate) number: usize,
    pub(crate) elem: ElemType,
    pub(crate) sizes: &'a [(Symbol, i64)],
    pub(crate) attempt: usize,
    pub(crate) rng: &'r mut SplitMix64,
    /// In an attempt for pairs: the attempt, the number of this operand among those that are paired, and theirs.
    pairing: Option<(Pairing, usize, usize)>,
    /// Special floats of this type, or integers.
    special: (Vec<f64>, Vec<i64>),
    /// Floats at the ends of this type: products with the last two overflow or lose digits.
    extreme: [f64; 7],
    /// The step from one element to the next in an attempt in which they ascend or descend.
    step: Option<i64>,
    /// Floats of this type next to the points at which the conversions of the claim change their results; integers, if it has them.
    beside: (Vec<f64>, Vec<i64>),
}

impl<'a, 'r> Elements<'a, 'r> {
    /// The elements of the input with an index.
    pub(crate) fn new(
        sampler: &'a Sampler<'a>,
        (number, elem): (usize, ElemType),
        sizes: &'a [(Symbol, i64)],
        attempt: usize,
        rng: &'r mut SplitMix64,
    ) -> Self {
        let types = &sampler.points.types;
        let is_exact = sampler.eq.class() == Exactness::Exact;
        let beside = match elem.class() {
            // A rounding error next to a tie is not a defect of a claim about real numbers.
            ElemClass::Float if is_exact => (formats::floats_beside(elem, types), Vec::new()),
            ElemClass::Int | ElemClass::Uint => (Vec::new(), formats::integers_beside(elem, types)),
            _ => Default::default(),
        };
        let pairing = Pairing::of(attempt).and_then(|pairing| {
            let paired = &sampler.paired;
            Some((pairing, paired.iter().position(|&other| other == number)?, paired.len()))
        });
        let special = match pairing {
            Some(_) => (pairs::floats(elem, &sampler.conditions), pairs::integers(elem)),
            None => Default::default(),
        };
        let (extreme, step) = (extremes(elem), step(sampler, attempt));
        Self { sampler, number, elem, sizes, attempt, rng, pairing, special, extreme, step, beside }
    }

    /// The special number that is the element with an index in an attempt for pairs.
    fn paired<T: Copy>(&self, list: &[T], index: usize, count: usize) -> Option<T> {
        let (pairing, operand, operands) = self.pairing?;
        let place = pairing.place(operand, operands, index, count);
        list.get(place.checked_rem(list.len())?).copied()
    }

    /// A number next to such a point, in most elements of some attempts.
    fn beside<T: Copy>(&mut self, list: fn(&Self) -> &[T], index: usize) -> Option<T> {
        let count = list(self).len();
        if count == 0 || self.attempt < 2 {
            return None;
        }
        let is_swept = has_many_elements(self.attempt);
        if !is_swept && (self.attempt % 3 == 1 || self.rng.below(2) == 0) {
            return None;
        }
        // Successive numbers, so that few runs contain all of them.
        let first = self.attempt.wrapping_mul(61);
        let at = if is_swept { index.wrapping_add(first) } else { self.rng.below(count as u64) as usize };
        list(self).get(at.checked_rem(count)?).copied()
    }

    pub(crate) fn tensor(
        &mut self,
        dims: Vec<i64>,
        count: usize,
        content: Option<&[Elem]>,
    ) -> Result<Tensor, NoCase> {
        let content = content.filter(|content| content.len() == count);
        if self.elem.class() == ElemClass::String {
            return self.strings(dims, count);
        }
        let is_float = matches!(self.elem.class(), ElemClass::Float | ElemClass::Complex);
        // The real and the imaginary part.
        let count = if self.elem.class() == ElemClass::Complex { count.saturating_mul(2) } else { count };
        let mut floats: Vec<f64> = Vec::new();
        let mut integers: Vec<i64> = Vec::new();
        // The rest of a large tensor repeats its beginning, since making numbers takes longer than computing with them.
        let different = match (self.step, &self.sampler.sweep) {
            (Some(_), _) => count,
            (None, Some(Sweep::Multiples(_))) => count.min(REPLACED),
            (None, _) => count.min(DIFFERENT),
        };
        for index in 0..different {
            if is_float {
                let special = self.paired(&self.special.0, index, count);
                floats.push(special.unwrap_or_else(|| self.float(index)));
            } else {
                let special = self.paired(&self.special.1, index, count);
                integers.push(special.unwrap_or_else(|| self.integer(index)));
            }
        }
        repeat(&mut floats, count);
        repeat(&mut integers, count);
        match &self.sampler.sweep {
            Some(sweep) => sweep.change(self, &dims, &mut floats, &mut integers),
            None => self.make_uniform(&dims, &mut floats, &mut integers),
        }
        for (content, index) in
            content.into_iter().flat_map(|content| (0..count).map(move |index| (content, index)))
        {
            let Some(number) = self.known(content, index) else { continue };
            if let Some(float) = floats.get_mut(index) {
                *float = number;
            } else if let Some(integer) = integers.get_mut(index) {
                // Contents are sizes, which `f64` represents exactly.
                *integer = number as i64;
            }
        }
        let unsupported = || NoCase::Unsupported(format!("no elements of type {} are generated", self.elem));
        let made = make(self.elem, dims.clone(), &floats, &integers).ok_or_else(unsupported)?;
        match self.replaces_what_is_not_allowed(&made, &mut floats) {
            true => make(self.elem, dims, &floats, &integers).ok_or_else(unsupported),
            false => Ok(made),
        }
    }

    /// Replaces floats that the conditions exclude as soon as they are rounded to the type, such as a small negative number that is
    /// rounded to -0.0; returns `false` if there are none.
    fn replaces_what_is_not_allowed(&self, made: &Tensor, floats: &mut [f64]) -> bool {
        let conditions = &self.sampler.conditions;
        let Some(rounded) = (!conditions.is_empty()).then(|| compare::floats(made)).flatten() else {
            return false;
        };
        let mut is_any = false;
        for (number, rounded) in floats.iter_mut().zip(rounded) {
            if !conditions.iter().all(|condition| condition.allows(rounded)) {
                (*number, is_any) = (1.0, true);
            }
        }
        is_any
    }

    /// Makes groups of elements negative or zero, in the attempts for that.
    fn make_uniform(&self, dims: &[i64], floats: &mut [f64], integers: &mut [i64]) {
        let Some(turn) = UNIFORM.iter().position(|&attempt| attempt == self.attempt) else { return };
        if self.pairing.is_some() || self.elem == ElemType::Bool {
            return;
        }
        let axes = UNIFORM_AXES.get(turn % UNIFORM_AXES.len()).map_or(1, |axes| axes(dims.len()));
        let inner = dims.get(dims.len().saturating_sub(axes)..).unwrap_or_default();
        let length =
            inner.iter().try_fold(1_usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?));
        let parts = if self.elem.class() == ElemClass::Complex { 2 } else { 1 };
        let length = length.unwrap_or(1).saturating_mul(parts).max(1);
        let first = turn / UNIFORM_AXES.len();
        let allows = |number: f64| self.sampler.conditions.iter().all(|condition| condition.allows(number));
        in_groups(floats, length, first, |number| -number.abs(), allows);
        let is_signed = self.elem.class() == ElemClass::Int;
        let negative =
            |number: i64| if is_signed { number.saturating_abs().saturating_neg() } else { number };
        in_groups(integers, length, first, negative, |_| true);
    }

    fn strings(&mut self, dims: Vec<i64>, count: usize) -> Result<Tensor, NoCase> {
        let sampler = self.sampler;
        let mut strings: Vec<&str> = Vec::with_capacity(count);
        let own = &sampler.points.strings;
        if let Some(sweep) = &sampler.sweep
            && let Some(texts) = sweep.texts(own, self.number, count)
        {
            return Tensor::from_strings(dims, texts).map_err(|_| NoCase::Sizes);
        }
        // In half of the attempts, the first elements are each string of the claim in turn.
        let in_turn = |index: usize, attempt: usize| {
            let turn = (attempt % 4).checked_sub(1)?.saturating_add(attempt / 4 * 2) % TURNS;
            own.get(index.saturating_mul(TURNS).saturating_add(turn))
        };
        for index in 0..count {
            let is_own = !own.is_empty() && self.rng.below(2) == 0;
            strings.push(match self.attempt % 4 {
                // What can be converted to numbers.
                3 => self.rng.pick(&NUMERALS).unwrap_or_default(),
                _ if let Some(text) = in_turn(index, self.attempt) => text,
                _ if is_own => {
                    let at = self.rng.below(own.len() as u64) as usize;
                    own.get(at).map(String::as_str).unwrap_or_default()
                }
                _ => self.rng.pick(&STRINGS).unwrap_or_default(),
            });
        }
        Tensor::from_strings(dims, strings).map_err(|_| NoCase::Sizes)
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

    /// The element with an index of an ascending or descending sequence.
    fn monotone(&self, index: usize) -> Option<i64> {
        Some(i64::try_from(index).ok()?.wrapping_mul(self.step?))
    }

    fn float(&mut self, index: usize) -> f64 {
        // Eighths, which narrow types have, too.
        let monotone = self.monotone(index).map(|number| number as f64 / 8.0);
        let conditions = &self.sampler.conditions;
        if let Some(number) = monotone.filter(|&x| conditions.iter().all(|condition| condition.allows(x))) {
            return number;
        }
        for _ in 0..ROUNDS {
            let number = match self.sampler.eq.class() {
                // The first attempt has no special values, so that its counterexample is easy to read.
                Exactness::Exact if self.attempt > 0 => self.any_float(index),
                _ => self.dyadic(index),
            };
            if self.sampler.conditions.iter().all(|condition| condition.allows(number)) {
                return number;
            }
        }
        1.0
    }

    /// Numbers with which short sums and products are exact: all, positive ones, ones that are nearly equal, small ones that
    /// repeat, other magnitudes, those that occur in the claim, tiny ones and large ones.
    fn dyadic(&mut self, index: usize) -> f64 {
        if self.attempt > 4
            && index == 0
            && self.attempt % 2 == 1
            && let Some(point) = self.point()
        {
            return point;
        }
        if self.attempt % 12 == 5 {
            return self.rng.pick(&REPEATED).unwrap_or(1.0);
        }
        match self.attempt % 8 {
            0 => self.coarse(),
            1 => self.rng.below(32) as f64 / 8.0 + 0.125,
            2 => 1.0 + self.rng.below(9) as f64 / 256.0,
            3 => self.rng.pick(&REPEATED).unwrap_or(1.0),
            4 => self.magnitude(),
            5 => self.point().unwrap_or_else(|| self.rng.pick(&SMALL_FLOATS).unwrap_or(1.0)),
            6 => self.coarse() / 1024.0,
            _ => self.coarse() * 64.0,
        }
    }

    /// A multiple of 1/8, so that halves are ties of roundings.
    fn coarse(&mut self) -> f64 {
        self.rng.below(65) as f64 / 8.0 - 4.0
    }

    /// A number with all digits that its type has, so that sums and products are rounded.
    fn full(&mut self) -> f64 {
        self.rng.below(1 << 53) as f64 / (1_u64 << 50) as f64 - 4.0
    }

    /// A number of the claim or one close to it, in two of three cases if it has any.
    fn point(&mut self) -> Option<f64> {
        let sampler = self.sampler;
        if sampler.points.floats.is_empty() || self.rng.below(3) == 0 {
            return None;
        }
        let point = self.rng.pick(&sampler.points.floats)?;
        if self.rng.below(2) == 0 {
            return Some(point);
        }
        // All distances are equally likely, so that thresholds that differ a little are distinguished.
        let distance = 0.5 / (1_u64 << self.rng.below(23)) as f64;
        let distance = distance * if point == 0.0 { 1.0 } else { point };
        Some(if self.rng.below(2) == 0 { point + distance } else { point - distance })
    }

    fn magnitude(&mut self) -> f64 {
        const MAGNITUDES: [f64; 8] = [6.0, 7.5, 100.0, 1e4, 0.125, 1e-3, 1e-6, 20.0];
        let number = self.rng.pick(&MAGNITUDES).unwrap_or(6.0);
        if self.rng.below(2) == 0 { number } else { -number }
    }

    /// A number for an exact claim. The first element of some tensors is each special number in turn.
    fn any_float(&mut self, index: usize) -> f64 {
        const SPECIAL: [f64; 8] = [-0.0, f64::NAN, f64::INFINITY, 0.0, f64::NEG_INFINITY, 1.0, -1.0, 1e-5];
        // Two neighboring inputs have the same numbers there, so that one is compared with itself, and others do not.
        let in_turn = |list: &[f64]| {
            // The first attempt of those that are multiples of 3 has no elements.
            let first = if self.attempt.is_multiple_of(3) { 2 } else { 1 };
            let turn = (self.attempt / 3).checked_sub(first)?.saturating_add(self.number / 2 * 3);
            list.get(turn.checked_rem(list.len())?).copied()
        };
        let special = match (self.attempt % 3, index) {
            (1, 0) => in_turn(&SPECIAL),
            (0, 0) => in_turn(&self.sampler.points.floats),
            (0, 1) => in_turn(&self.extreme),
            _ => None,
        };
        if let Some(special) = special {
            return special;
        }
        if let Some(number) = self.beside(|elements| &elements.beside.0, index) {
            return number;
        }
        if has_ties(self.attempt) && self.attempt % 12 == 8 {
            // Halves of these are ties of roundings.
            return self.rng.below(17) as f64 / 4.0 - 2.0;
        }
        if has_ties(self.attempt) {
            return if self.rng.below(2) == 0 { 2.0 } else { -1.0 };
        }
        let share = if self.attempt % 4 == 3 { 2 } else { 6 };
        match self.rng.below(share) {
            0 => return self.rng.pick(&SPECIAL).unwrap_or(0.0),
            1 if share > 2 && self.rng.below(4) == 0 => return self.rng.pick(&self.extreme).unwrap_or(0.0),
            _ => {}
        }
        if self.attempt % 2 == 1
            && let Some(point) = self.point()
        {
            return point;
        }
        match self.rng.below(8) {
            0 if self.attempt > 2 => self.magnitude(),
            1 | 2 => self.coarse(),
            3 => self.coarse() * 16.0,
            _ => self.full(),
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
        if let Some(number) =
            self.monotone(index).or_else(|| self.beside(|elements| &elements.beside.1, index))
        {
            return number;
        }
        const SMALL_NUMBERS: [i64; 8] = [0, 1, 1, 2, 2, 3, -1, 4];
        // No float has the first, and 32 bits do not have the others.
        const LARGE: [i64; 5] = [(1 << 53) + 1, (1 << 31) + 1, (1 << 31) - 1, 1 - (1 << 31), -1 - (1 << 31)];
        let bits = self.elem.bits().unwrap_or(64).clamp(2, 64);
        let highest = (u64::MAX >> 1 >> (64 - bits)).cast_signed();
        let extremes = [!highest, highest, highest / 2 + 1, highest - 1];
        let sampler = self.sampler;
        let in_turn = |list: &[i64]| {
            let at = (self.attempt / 4).checked_rem(list.len())?;
            list.get(at).copied().filter(|_| index == 0)
        };
        let special = match self.attempt % 4 {
            1 => in_turn(&sampler.points.integers),
            3 => in_turn(&extremes),
            _ => None,
        };
        if let Some(special) = special {
            return special;
        }
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
            // Any bits: products of numbers with few digits wrap to small ones.
            1 | 2 if self.attempt % 8 == 6 => self.rng.below(u64::MAX).cast_signed() >> (64 - bits),
            _ => self.rng.pick(&SMALL_NUMBERS).unwrap_or(0),
        }
    }
}

/// The step from one element to the next, if they ascend or descend in an attempt because results of the claim are positions.
fn step(sampler: &Sampler<'_>, attempt: usize) -> Option<i64> {
    let [first @ .., last] = MONOTONE;
    let is_last = attempt == last;
    let is_monotone = sampler.points.has_positions && (is_last || first.contains(&attempt));
    is_monotone.then_some(if is_last == sampler.points.has_least { 1 } else { -1 })
}

/// Numbers at the ends of a type of floats, or of the parts of complex numbers.
fn extremes(elem: ElemType) -> [f64; 7] {
    let part = if elem == ElemType::Complex128 { ElemType::Double } else { ElemType::Float };
    let format = Format::of(elem).or(Format::of(part));
    let (tiny, large, step) =
        format.map_or((0.0, 1.0, 0.0), |format| (format.tiny(), format.max, format.step()));
    [tiny, large, 1.0 + step, -tiny, -large, large / 3.0, tiny * 3.0]
}

/// Makes the numbers of groups negative, zero, and what they are, in turn beginning with the `first` of these, as far as the claim
/// allows it.
fn in_groups<T: Copy + Default>(
    numbers: &mut [T],
    length: usize,
    first: usize,
    negative: impl Fn(T) -> T,
    allows: impl Fn(T) -> bool,
) {
    for (group, row) in numbers.chunks_mut(length).enumerate() {
        for number in row {
            let changed = match (group + first) % 3 {
                0 => negative(*number),
                1 => T::default(),
                _ => continue,
            };
            if allows(changed) {
                *number = changed;
            }
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
    macro_rules! floats {
        ($from:expr) => {{
            let elements: Vec<_> = floats.iter().map(|&number| $from(number)).collect();
            Tensor::from_slice(dims, &elements)
        }};
    }
    macro_rules! packed {
        ($type:ty) => {{
            let elements: Vec<$type> =
                integers.iter().map(|&number| <$type>::from_bits(number as u8)).collect();
            Tensor::from_slice(dims, &elements)
        }};
    }
    match elem {
        E::Float8E4M3Fn => floats!(|number| F8E4M3Fn::from_f64(number, true)),
        E::Float8E4M3Fnuz => floats!(|number| F8E4M3Fnuz::from_f64(number, true)),
        E::Float8E5M2 => floats!(|number| F8E5M2::from_f64(number, true)),
        E::Float8E5M2Fnuz => floats!(|number| F8E5M2Fnuz::from_f64(number, true)),
        // The type has no zero and no sign.
        E::Float8E8M0 => floats!(|number: f64| F8E8M0::from_f64(number.abs(), PowerRounding::Up, true)),
        E::Float6E2M3 => floats!(F6E2M3::from_f64),
        E::Float6E3M2 => floats!(F6E3M2::from_f64),
        E::Float4E2M1 => floats!(F4E2M1::from_f64),
        E::Int4 => packed!(I4),
        E::Uint4 => packed!(U4),
        E::Int2 => packed!(I2),
        E::Uint2 => packed!(U2),
        E::Complex64 | E::Complex128 => Tensor::from_raw(elem, dims, complex(elem, floats)),
        E::Float => floats!(|number| number as f32),
        E::Double => Tensor::from_slice(dims, floats),
        E::Float16 => floats!(f16::from_f64),
        E::Bfloat16 => floats!(bf16::from_f64),
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

/// The bytes of complex numbers whose parts are given one after another.
fn complex(elem: ElemType, parts: &[f64]) -> Vec<u8> {
    match elem {
        ElemType::Complex64 => parts.iter().flat_map(|&part| (part as f32).to_le_bytes()).collect(),
        _ => parts.iter().flat_map(|part| part.to_le_bytes()).collect(),
    }
}
