//! Inputs for the runs of an equivalence: sizes that satisfy the recorded relations, and elements with special values.

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use onnx_eval::SplitMix64;
use onnx_eval::Value;
use onnx_eval::generate::map_keys;
use onnx_ir::ValueId;
use onnx_shape_infer::{Content, Relation};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemClass, ElemType, Symbol, TensorType, Type, TypeKind};

use crate::assumption::{Assumption, Condition, Exactness, named_by, sides};
use crate::boundary_values::Points;
use crate::cut::{self, Kept};
use crate::elements::{Elements, has_many_elements, has_ties};
use crate::equivalence::{Equivalence, EquivalenceSide};
use crate::pairs::Pairing;
use crate::sweeps::Sweep;

/// Known sizes above this are replaced by smaller ones where no assumption names them.
pub(crate) const SMALL: i64 = 8;

/// Number of rounds in which sizes are corrected until they satisfy the relations.
pub(crate) const ROUNDS: usize = 8;

/// The inputs of one run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) sizes: Vec<(Symbol, i64)>,
    pub(crate) inputs: Vec<Value>,
}

/// The reason for the lack of inputs.
pub(crate) enum NoCase {
    /// These sizes do not satisfy the relations; others may.
    Sizes,
    /// An input would have this number of elements, which is more than the limit; others may not.
    Large(u64),
    /// No inputs can be made; the reason.
    Unsupported(String),
}

pub(crate) struct Sampler<'a> {
    pub(crate) eq: &'a Equivalence,
    symbols: Vec<Symbol>,
    inputs: Vec<ValueId>,
    /// Smaller sizes that replace known ones.
    scaled: BTreeMap<i64, i64>,
    /// Smaller sizes of single axes of inputs.
    scaled_axes: Vec<(ValueId, usize, i64)>,
    /// Whether constants have these smaller sizes, too: a run uses a part of each.
    cuts_constants: bool,
    /// Whether all variables are 1 in the first attempt, so that a run with large constants is cheap.
    is_single: bool,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) points: Points,
    /// The operands in which special numbers meet, by the indices of inputs.
    pub(crate) paired: Vec<usize>,
    /// What the runs of a series have in common, if they are of one.
    pub(crate) sweep: Option<Sweep>,
    pub(crate) max_elements: u64,
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
            cuts_constants: false,
            is_single: false,
            paired: Vec::new(),
            sweep: None,
            max_elements,
        };
        sampler.symbols = sampler.all_symbols();
        sampler.paired = sampler.numeric_operands();
        sampler
    }

    /// Replaces large sizes that no assumption names by small ones; returns `false` if there are none, or if an assumption
    /// names a size that the old side computes from others.
    pub(crate) fn scale(&mut self) -> bool {
        self.scale_from(4)
    }

    /// Like [`scale`](Self::scale), with sizes from this one on.
    fn scale_from(&mut self, first: i64) -> bool {
        let Some(mut fixed) = self.fixed_sizes() else { return false };
        fixed.extend(self.constants().flat_map(Tensor::dims));
        let free: Vec<i64> = self.free_dims().iter().filter_map(|dim| dim.known()).collect();
        self.replace_sizes(&free, &fixed, first);
        !self.scaled.is_empty()
    }

    /// Replaces large sizes by small ones, those of constants included: each run uses a part of them. Returns `false` if the
    /// constants are small already, cannot be cut, or if an assumption names a size that the old side computes from others.
    pub(crate) fn scale_constants(&mut self) -> bool {
        let elements = self.constants().filter_map(Tensor::element_count);
        if elements.fold(0, u64::saturating_add) <= cut::WHOLE {
            return false;
        }
        let Some(fixed) = self.fixed_sizes() else { return false };
        let mut sizes: Vec<i64> = self.constants().flat_map(Tensor::dims).copied().collect();
        let is_cut = |size: &i64| *size > SMALL && !fixed.contains(size);
        let may_cut =
            |constant: &Tensor| cut::element_bytes(constant).is_some() || !constant.dims().iter().any(is_cut);
        if !sizes.iter().any(is_cut) || !self.constants().all(may_cut) {
            return false;
        }
        sizes.extend(self.free_dims().iter().filter_map(|dim| dim.known()));
        self.replace_sizes(&sizes, &fixed, 4);
        self.cuts_constants = true;
        true
    }

    /// Keeps the constants, and makes the rest as small as possible: whatever depends on single elements of constants is seen
    /// in one run.
    pub(crate) fn scale_whole(&mut self, first: i64) {
        self.unscale();
        self.scale_from(first);
        self.is_single = true;
    }

    /// Number of variables of sizes.
    pub(crate) const fn variables(&self) -> usize {
        self.symbols.len()
    }

    fn constants(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().filter_map(|&input| self.eq.constant(input))
    }

    /// Returns `true` if all inputs are constants, so that all runs are the same.
    pub(crate) fn is_closed(&self) -> bool {
        self.inputs.iter().all(|&input| self.eq.constant(input).is_some())
    }

    /// The sizes that assumptions name; `None` if one of them is large, and computed from others.
    fn fixed_sizes(&self) -> Option<Vec<i64>> {
        let fixed: Vec<i64> = self.named_dims().iter().filter_map(|dim| dim.known()).collect();
        let free = self.free_dims();
        let is_free = fixed.iter().all(|&size| size <= SMALL || free.contains(&Dim::Known(size)));
        is_free.then_some(fixed)
    }

    fn replace_sizes(&mut self, sizes: &[i64], fixed: &[i64], first: i64) {
        let mut next = first;
        for &size in sizes {
            if size > SMALL && !fixed.contains(&size) && !self.scaled.contains_key(&size) {
                self.scaled.insert(size, next);
                next = if next >= SMALL { first } else { next.saturating_add(1) };
            }
        }
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

    /// Returns `true` if an assumption names a size that smaller ones would replace.
    pub(crate) fn reads_large_sizes(&self) -> bool {
        self.named_dims().iter().any(|dim| dim.known().is_some_and(|size| size > SMALL))
    }

    pub(crate) fn unscale(&mut self) {
        self.scaled.clear();
        (self.cuts_constants, self.is_single) = (false, false);
    }

    /// The known sizes that [`scale`](Self::scale) replaces.
    pub(crate) fn scaled_sizes(&self) -> Vec<i64> {
        self.scaled.keys().copied().collect()
    }

    /// Keeps one of these sizes at its original value, and replaces the others.
    pub(crate) fn scale_but(&mut self, size: i64) {
        self.scale();
        self.scaled.remove(&size);
    }

    /// The dimensions of an input, or of the tensors in it.
    fn dims_of(&self, input: ValueId) -> Option<&[Dim]> {
        let mut ty = self.eq.model().ty(input)?;
        loop {
            ty = match &ty.kind {
                TypeKind::Tensor(tensor) => return tensor.shape.as_ref().map(onnx_types::Shape::dims),
                TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => inner,
                _ => return None,
            };
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
    pub(crate) fn case(&self, attempt: usize, rng: &mut SplitMix64) -> Result<Case, NoCase> {
        let sizes = self.sizes(attempt, rng).ok_or(NoCase::Sizes)?;
        let kept = self.cuts_constants.then(|| Kept::of(&self.scaled, attempt));
        let mut inputs: Vec<Value> = Vec::new();
        for (index, &input) in self.inputs.iter().enumerate() {
            if let Some(constant) = self.eq.constant(input) {
                let part = kept.as_ref().and_then(|kept| kept.cut(constant));
                inputs.push(part.unwrap_or_else(|| constant.clone()).into());
                continue;
            }
            let content = self.eq.assumptions().iter().find_map(|assumption| match assumption {
                Assumption::Content { input, elements } if *input == index => Some(elements),
                _ => None,
            });
            let Some(ty) = self.eq.model().ty(input) else {
                return Err(NoCase::Unsupported("the type of an input is not known".to_owned()));
            };
            let made = self.value((index, input), ty, content, &sizes, attempt, rng)?;
            // Operands that are the same value are a separate class of inputs.
            let is_aliased = attempt % 5 == 4 && content.is_none() && Pairing::of(attempt).is_none();
            let twin = inputs.iter().enumerate().find(|&(other, value)| {
                let is_free = self.inputs.get(other).is_some_and(|&other| self.eq.constant(other).is_none());
                is_free && is_alike(value, &made)
            });
            let value = match twin {
                Some((_, twin)) if is_aliased => twin.clone(),
                _ => made,
            };
            inputs.push(value);
        }
        Ok(Case { sizes, inputs })
    }

    /// The operands whose elements are numbers that the claim does not know, by the indices of inputs.
    fn numeric_operands(&self) -> Vec<usize> {
        let is_known = |index: usize| {
            let mut assumptions = self.eq.assumptions().iter();
            assumptions
                .any(|assumption| matches!(assumption, Assumption::Content { input, .. } if *input == index))
        };
        let has_floats = self.eq.class() == Exactness::Exact;
        let is_number = |input: ValueId| match self.eq.model().ty(input).map(Type::elem).map(ElemType::class)
        {
            Some(ElemClass::Int | ElemClass::Uint) => true,
            // Claims about real numbers are tested with numbers of which sums and products are exact.
            Some(ElemClass::Float) => has_floats,
            _ => false,
        };
        let inputs = self.inputs.iter().enumerate();
        let free = inputs.filter(|&(index, &input)| self.eq.constant(input).is_none() && !is_known(index));
        free.filter(|&(_, &input)| is_number(input)).map(|(index, _)| index).collect()
    }

    pub(crate) fn eval(&self, dim: Dim, sizes: &[(Symbol, i64)]) -> Option<i64> {
        let value = |symbol| sizes.iter().find(|(known, _)| *known == symbol).map(|&(_, size)| size);
        self.eq.model().exprs().eval(dim, &value)
    }

    /// Sizes of all variables that satisfy the relations.
    fn sizes(&self, attempt: usize, rng: &mut SplitMix64) -> Option<Vec<(Symbol, i64)>> {
        const DIFFERENT: [i64; 5] = [2, 3, 5, 4, 7];
        const RANDOM: [i64; 11] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6];
        const SEVERAL: [i64; 5] = [2, 3, 3, 4, 5];
        const SINGLE: [usize; 3] = [6, 15, 8];
        // Operands with a variable for each axis are rarely broadcast by other sizes, and all sizes of these are.
        const BROADCAST: [i64; 2] = [1, 3];
        let is_broadcast = matches!(attempt, 13 | 16 | 21) || attempt > 24 && attempt.is_multiple_of(2);
        // Special numbers and ties need elements.
        let is_special = has_ties(attempt) || attempt % 3 == 1;
        let sizes_of_attempt: &[i64] = match () {
            () if is_broadcast && self.symbols.len() > 1 => &BROADCAST,
            () if is_special => &SEVERAL,
            () => &RANDOM,
        };
        let mut sizes: Vec<(Symbol, i64)> = Vec::new();
        for (index, &symbol) in self.symbols.iter().enumerate() {
            let size = match attempt {
                _ if let Some(sweep) = &self.sweep => sweep.size(index, self.symbols.len()),
                _ if let Some(pairing) = Pairing::of(attempt) => Some(pairing.size(self.symbols.len())),
                0 if self.is_single => Some(1),
                0 => DIFFERENT.get(index % DIFFERENT.len()).copied(),
                1 => Some(1),
                2 => Some(2),
                3 => Some(0),
                // One size is 1, and others are not: it is broadcast.
                _ if let Some(single) = SINGLE.iter().position(|&other| other == attempt)
                    && self.symbols.len() > 1 =>
                {
                    let other = DIFFERENT.get(index % DIFFERENT.len()).copied();
                    if index == single { Some(1) } else { other }
                }
                _ if let Some(size) = self.large_size_of(attempt, index) => {
                    size.or_else(|| rng.pick(sizes_of_attempt))
                }
                // One size is 0, and others are not.
                11 if index == 0 => Some(0),
                23 if index == 1 => Some(0),
                _ => self.large_size(rng).or_else(|| rng.pick(sizes_of_attempt)),
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

    /// The sizes that occur in the claim, and what is one more or less, if they are larger than others. A negative number counts from
    /// the end of an axis.
    pub(crate) fn large_sizes(&self, most: i64) -> impl Iterator<Item = i64> + '_ {
        let sizes = self.points.integers.iter().filter_map(|size| size.checked_abs());
        sizes.filter(move |size| (6..=most).contains(size))
    }

    /// What is two more than the numbers that occur in the claim, the largest first: what is cut off at one of them is seen there, also
    /// if it counts from a diagonal, which the first row crosses.
    pub(crate) fn sizes_beyond(&self) -> Vec<i64> {
        let mut sizes: Vec<i64> = self.large_sizes(self.largest_size()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // Of numbers in succession, the last one.
        let ends = sizes.iter().enumerate();
        let ends =
            ends.filter(|&(index, size)| sizes.get(index.saturating_add(1)) != Some(&size.saturating_add(1)));
        ends.map(|(_, &size)| size.saturating_add(1)).rev().collect()
    }

    /// In attempts for large sizes: that of one variable, and `None` for others, which have any.
    fn large_size_of(&self, attempt: usize, index: usize) -> Option<Option<i64>> {
        const ATTEMPTS: [usize; 6] = [10, 22, 14, 17, 20, 7];
        // All variables have one size: an axis that is cut can be that of a product.
        const TOGETHER: [usize; 2] = [12, 18];
        // A number of the claim is one size and the product of all: each number, for each variable.
        let product =
            (attempt > 4 && attempt % 4 == 1 && !ATTEMPTS.contains(&attempt)).then(|| attempt / 4 - 1);
        // An input with many elements shows more conversions of numbers.
        const MANY: i64 = 61;
        let count = self.symbols.len().clamp(1, 2);
        if has_many_elements(attempt) && !self.points.types.is_empty() {
            return Some((index == 0).then_some(MANY));
        }
        if let Some(turn) = TOGETHER.iter().position(|&other| other == attempt) {
            let sizes = self.sizes_beyond();
            return if turn == 0 { sizes.first() } else { sizes.last() }.map(|&size| Some(size));
        }
        if let Some(turn) = product {
            let variables = self.symbols.len().max(1);
            let size = self.large_sizes(self.largest_size()).nth(turn / variables)?;
            return Some(Some(if index == turn % variables { size } else { 1 }));
        }
        let turn = ATTEMPTS.iter().position(|&other| other == attempt)?;
        let sizes = self.sizes_beyond();
        let size = *sizes.get(turn / 2).or(sizes.first().filter(|_| turn < 2))?;
        // Of the elements of a much larger axis, any is as likely to be beyond the number as before it.
        let size = if turn % 2 == 1 { size.saturating_mul(2).min(self.largest_size()) } else { size };
        // Together with other large axes, the input would have too many elements.
        let other = (size > 128).then_some(1 + (turn % 2) as i64);
        Some(if index == turn % 2 % count { Some(size) } else { other })
    }

    /// The sizes of a tensor of which no shape is known. Numbers of axes that claims name are passed by some.
    fn any_shape(&self, attempt: usize, rng: &mut SplitMix64) -> Vec<i64> {
        let rank = rng.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 6]).unwrap_or(2);
        let mut dims: Vec<i64> = (0..rank).map(|_| rng.pick(&[1, 2, 3]).unwrap_or(1)).collect();
        if let Some(size) = self.large_size_of(attempt, 0).flatten() {
            // With other axes, there would be too many elements.
            dims.truncate(if size > 128 { 2 } else { dims.len() });
            let axis = usize::try_from(rng.below(dims.len() as u64)).unwrap_or(0);
            dims.get_mut(axis).into_iter().for_each(|dim| *dim = size);
        }
        dims
    }

    /// The largest size that occurs in inputs.
    pub(crate) fn largest_size(&self) -> i64 {
        if self.points.is_expensive { 129 } else { i64::try_from(self.max_elements).unwrap_or(i64::MAX) }
    }

    /// In one of four cases, a size that occurs in the claim and is larger than others: the end of a slice.
    fn large_size(&self, rng: &mut SplitMix64) -> Option<i64> {
        let sizes: Vec<i64> = self.large_sizes(128).collect();
        if sizes.is_empty() || rng.below(4) > 0 { None } else { rng.pick(&sizes) }
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

    /// A value of the type of an input. Sequences have up to three elements, optionals are absent in some attempts, and maps have
    /// keys that an operator knows.
    fn value(
        &self,
        (number, input): (usize, ValueId),
        ty: &Type,
        content: Option<&Content>,
        sizes: &[(Symbol, i64)],
        attempt: usize,
        rng: &mut SplitMix64,
    ) -> Result<Value, NoCase> {
        match &ty.kind {
            TypeKind::Tensor(ty) => {
                self.tensor((number, input), ty, content, sizes, attempt, rng).map(Value::from)
            }
            TypeKind::Sequence(Some(item)) => {
                let count = if attempt == 0 { 2 } else { rng.below(4) };
                let mut ty = Type::clone(item);
                let mut items: Vec<Value> = Vec::new();
                for _ in 0..count {
                    items.push(self.value((number, input), &ty, None, sizes, attempt, rng)?);
                    // In most attempts, all elements have the same sizes.
                    if attempt % 3 < 2
                        && let Some(first) = items.first().and_then(Value::tensor)
                    {
                        let dims = first.dims().iter().map(|&size| Dim::Known(size));
                        ty = Type::tensor(first.elem(), Some(dims.collect()));
                    }
                }
                Ok(Value::Sequence(Arc::new(items)))
            }
            TypeKind::Map { key, value: Some(item) } => {
                // The operators that take maps are on the old side.
                let body = self.eq.model().function(self.eq.function(EquivalenceSide::Before)).body();
                let inner = self.eq.model().graph(body).inputs().get(number).copied().unwrap_or(input);
                let mut entries = BTreeMap::new();
                for known in map_keys(self.eq.model(), inner, *key) {
                    // All keys in the first attempt, and some in the others.
                    if attempt == 0 || rng.below(3) > 0 {
                        let item = self.value((number, input), item, None, sizes, attempt, rng)?;
                        entries.insert(known, item);
                    }
                }
                Ok(Value::Map(Arc::new(entries)))
            }
            TypeKind::Optional(Some(_)) if attempt % 5 == 3 => Ok(Value::Optional(None)),
            TypeKind::Optional(Some(inner)) => {
                let inner = self.value((number, input), inner, None, sizes, attempt, rng)?;
                Ok(Value::Optional(Some(Arc::new(inner))))
            }
            _ => Err(NoCase::Unsupported("no values of the type of an input are generated".to_owned())),
        }
    }

    fn tensor(
        &self,
        (number, input): (usize, ValueId),
        ty: &TensorType,
        content: Option<&Content>,
        sizes: &[(Symbol, i64)],
        attempt: usize,
        rng: &mut SplitMix64,
    ) -> Result<Tensor, NoCase> {
        let dims: Vec<i64> = match &ty.shape {
            None => self.any_shape(attempt, rng),
            Some(shape) => {
                let mut dims = Vec::new();
                for (axis, &dim) in shape.dims().iter().enumerate() {
                    let size = match dim {
                        Dim::Unknown => {
                            self.large_size_of(attempt, axis).flatten().or_else(|| rng.pick(&[2, 3, 1]))
                        }
                        _ => self.eval(dim, sizes),
                    };
                    let size = size.ok_or(NoCase::Sizes)?;
                    let is_known = matches!(dim, Dim::Known(_));
                    let scaled = self.scaled.get(&size).filter(|_| is_known).copied();
                    let mut axes = self.scaled_axes.iter();
                    let own = axes.find(|&&(other, at, _)| (other, at) == (input, axis));
                    dims.push(own.map(|&(.., size)| size).or(scaled).unwrap_or(size));
                }
                dims
            }
        };
        let count = dims.iter().try_fold(1_i64, |count, &dim| count.checked_mul(dim)).ok_or(NoCase::Sizes)?;
        let elements = u64::try_from(count).map_err(|_| NoCase::Sizes)?;
        if elements > self.max_elements {
            let zeros = self.unread(number, ty.elem, (&dims, elements)).filter(|_| content.is_none());
            return zeros.ok_or(NoCase::Large(elements));
        }
        let count = usize::try_from(count).map_err(|_| NoCase::Sizes)?;
        let mut elements = Elements::new(self, (number, ty.elem), sizes, attempt, rng);
        elements.tensor(dims, count, content.map(|content| &content[..]))
    }
}

/// Returns `true` for tensors of one type.
fn is_alike(one: &Value, two: &Value) -> bool {
    let (Some(one), Some(two)) = (one.tensor(), two.tensor()) else { return false };
    (one.elem(), one.dims()) == (two.elem(), two.dims())
}
