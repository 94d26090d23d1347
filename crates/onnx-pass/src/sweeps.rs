//! Series of runs in which inputs have a property that random elements seldom have: rows of one kind, numbers on thresholds, each string
//! that occurs in a claim, each index of a table, and all combinations of small sizes.

use onnx_eval::SplitMix64;
use onnx_types::{ElemClass, ElemType};

use crate::elements::{DIFFERENT, Elements, INTEGERS, NUMERALS, STRINGS};
use crate::multiples::Multiples;

/// What the elements of a row have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Negative,
    Zero,
    Positive,
    Tiny,
    Least,
    Large,
    Equal,
    Ascending,
    Descending,
    /// All but one are zero.
    Single,
}

impl RowKind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Negative,
        Self::Zero,
        Self::Positive,
        Self::Equal,
        Self::Ascending,
        Self::Descending,
        Self::Single,
        Self::Tiny,
        Self::Least,
        Self::Large,
    ];

    /// Whether it matters which elements are a row.
    pub(crate) const fn depends_on_rows(self) -> bool {
        matches!(self, Self::Equal | Self::Ascending | Self::Descending | Self::Single)
    }
}

/// The runs of a series; each is one.
pub(crate) enum Sweep {
    Rows {
        kind: RowKind,
        /// Number of axes at the end that are a row.
        axes: usize,
        /// Whether only every other row is of the kind.
        is_mixed: bool,
        /// The only operand of the kind, if not all are.
        operand: Option<usize>,
        /// A variable that is large.
        large: Option<(usize, i64)>,
    },
    /// Numbers of the claim, and multiples of 1/8.
    Thresholds(u64),
    /// Numbers next to multiples of those of the claim.
    Multiples(u64),
    /// Zeros of both signs, negative numbers and others.
    Zeros(u64),
    Strings {
        run: usize,
        /// Strings of which kind: any, numbers, integers.
        kind: usize,
    },
    Table {
        table: Table,
        operand: usize,
        /// The index of the first element.
        first: usize,
    },
    /// The sizes of two variables.
    Sizes([(usize, i64); 2]),
}

/// The keys of a table.
#[derive(Clone)]
pub(crate) enum Table {
    /// The integers below a number.
    Indices(usize),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Strings(Vec<String>),
}

impl Table {
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Indices(count) => *count,
            Self::Integers(keys) => keys.len(),
            Self::Floats(keys) => keys.len(),
            Self::Strings(keys) => keys.len(),
        }
    }

    /// Whether elements of a type are keys.
    pub(crate) fn has_keys_of(&self, elem: ElemType) -> bool {
        match self {
            Self::Indices(_) => matches!(elem.class(), ElemClass::Int | ElemClass::Uint | ElemClass::Float),
            Self::Integers(_) => matches!(elem.class(), ElemClass::Int | ElemClass::Uint),
            Self::Floats(_) => matches!(elem.class(), ElemClass::Float),
            Self::Strings(_) => matches!(elem.class(), ElemClass::String),
        }
    }

    fn integer(&self, index: usize) -> Option<i64> {
        let at = index.checked_rem(self.len())?;
        match self {
            Self::Indices(_) => i64::try_from(at).ok(),
            Self::Integers(keys) => keys.get(at).copied(),
            Self::Floats(_) | Self::Strings(_) => None,
        }
    }

    fn float(&self, index: usize) -> Option<f64> {
        let at = index.checked_rem(self.len())?;
        match self {
            Self::Indices(_) => Some(at as f64),
            Self::Floats(keys) => keys.get(at).copied(),
            Self::Integers(_) | Self::Strings(_) => None,
        }
    }
}

impl Sweep {
    /// The size of a variable among several.
    pub(crate) fn size(&self, index: usize, variables: usize) -> Option<i64> {
        const DIFFERENT: [i64; 5] = [4, 3, 5, 2, 7];
        let different = DIFFERENT.get(index % DIFFERENT.len()).copied();
        match self {
            Self::Rows { large: Some((large, size)), .. } => match *large == index {
                true => Some(*size),
                // Together with other large axes, the input would have too many elements.
                false => Some(if *size > 128 { 2 } else { 3 }),
            },
            Self::Rows { .. } | Self::Zeros(_) => different,
            Self::Strings { .. } | Self::Table { .. } | Self::Thresholds(_) | Self::Multiples(_) => {
                Some(match variables {
                    0 | 1 => 251,
                    2 => 17,
                    _ => 5,
                })
            }
            Self::Sizes(sizes) => {
                sizes.iter().find(|(variable, _)| *variable == index).map_or(Some(2), |&(_, size)| Some(size))
            }
        }
    }

    /// The strings of an input.
    pub(crate) fn texts<'t>(
        &'t self,
        own: &'t [String],
        operand: usize,
        count: usize,
    ) -> Option<Vec<&'t str>> {
        let (list, run): (Vec<&str>, usize) = match self {
            Self::Strings { run, kind: 0 } => (own.iter().map(String::as_str).chain(STRINGS).collect(), *run),
            Self::Strings { run, kind: 1 } => (NUMERALS.to_vec(), *run),
            Self::Strings { run, .. } => (INTEGERS.to_vec(), *run),
            Self::Table { table: Table::Strings(keys), operand: swept, first } if *swept == operand => {
                let keys = keys.iter().cycle().skip(first.checked_rem(keys.len())?);
                return Some(keys.take(count).map(String::as_str).collect());
            }
            _ => return None,
        };
        // Another operand has other strings in later rounds.
        let rounds = run.checked_div(list.len().div_ceil(count.max(1)))?;
        let first = run.wrapping_mul(count).wrapping_add(operand.wrapping_mul(rounds));
        (0..count)
            .map(|index| list.get(first.wrapping_add(index).checked_rem(list.len())?).copied())
            .collect()
    }

    /// Changes the numbers of an input.
    pub(crate) fn change(
        &self,
        elements: &Elements<'_, '_>,
        dims: &[i64],
        floats: &mut [f64],
        integers: &mut [i64],
    ) {
        let sampler = elements.sampler;
        let allows = |number: f64| sampler.conditions.iter().all(|condition| condition.allows(number));
        match self {
            Self::Rows { kind, axes, is_mixed, operand, .. } => {
                if operand.is_some_and(|operand| operand != elements.number) {
                    return;
                }
                let row = length_of_rows(dims, *axes, elements.elem);
                let step = if *is_mixed { 2 } else { 1 };
                floats.chunks_mut(row).step_by(step).for_each(|row| change_floats(*kind, row, allows));
                let is_signed = elements.elem.class() == ElemClass::Int;
                match elements.elem {
                    // Random ones, or all of one kind.
                    ElemType::Bool if !kind.depends_on_rows() => {
                        integers.fill(i64::from(*kind == RowKind::Positive));
                    }
                    ElemType::Bool => integers.iter_mut().enumerate().for_each(|(at, flag)| {
                        *flag = i64::from(at % 3 == 1);
                    }),
                    _ => {
                        let rows = integers.chunks_mut(row).step_by(step);
                        rows.for_each(|row| change_integers(*kind, row, is_signed));
                    }
                }
            }
            Self::Thresholds(run) => {
                let mut rng = SplitMix64::new(*run ^ elements.number as u64);
                for number in floats.iter_mut() {
                    let threshold = threshold(&sampler.points.floats, &mut rng);
                    if allows(threshold) {
                        *number = threshold;
                    }
                }
            }
            Self::Zeros(run) => zeros(*run, elements.number, floats, allows),
            Self::Multiples(run) => {
                let mut multiples = Multiples::of(*run, elements);
                let different = floats.len().max(integers.len()).min(DIFFERENT);
                multiples.floats(elements.elem, floats.get_mut(..different).unwrap_or_default(), allows);
                multiples.integers(elements.elem, integers.get_mut(..different).unwrap_or_default());
                repeat_beginning(floats, different);
                repeat_beginning(integers, different);
            }
            Self::Table { table, operand, first } if *operand == elements.number => {
                for (index, number) in floats.iter_mut().enumerate() {
                    *number =
                        table.float(first.wrapping_add(index)).filter(|&key| allows(key)).unwrap_or(*number);
                }
                for (index, number) in integers.iter_mut().enumerate() {
                    *number = table.integer(first.wrapping_add(index)).unwrap_or(*number);
                }
            }
            // Indices into other tables.
            Self::Table { .. } => integers.fill(0),
            Self::Strings { .. } | Self::Sizes(_) => {}
        }
    }
}

/// Makes most numbers zeros of both signs, and some of the others negative.
fn zeros(run: u64, input: usize, floats: &mut [f64], allows: impl Fn(f64) -> bool) {
    let mut rng = SplitMix64::new(run.wrapping_mul(31).wrapping_add(input as u64));
    for number in floats {
        let changed = match rng.below(8) {
            0..3 => 0.0,
            3..6 => -0.0,
            6 => -number.abs(),
            _ => *number,
        };
        if allows(changed) {
            *number = changed;
        }
    }
}

/// Gives the elements behind the first ones the same numbers again.
fn repeat_beginning<T: Copy>(numbers: &mut [T], different: usize) {
    let Some((first, rest)) = numbers.split_at_mut_checked(different) else { return };
    for part in rest.chunks_mut(different.max(1)) {
        part.iter_mut().zip(&*first).for_each(|(number, &other)| *number = other);
    }
}

/// A number of the claim, a small multiple of it, or a multiple of 1/8.
fn threshold(points: &[f64], rng: &mut SplitMix64) -> f64 {
    const FACTORS: [f64; 8] = [1.0, 1.0, 1.0, -1.0, 2.0, 0.5, 1.5, 3.0];
    match rng.pick(points) {
        Some(point) if rng.below(2) == 0 => point * rng.pick(&FACTORS).unwrap_or(1.0),
        _ => rng.below(65) as f64 / 8.0 - 4.0,
    }
}

/// Number of elements of the rows that consist of this many axes.
fn length_of_rows(dims: &[i64], axes: usize, elem: ElemType) -> usize {
    let inner = dims.get(dims.len().saturating_sub(axes)..).unwrap_or_default();
    let length =
        inner.iter().try_fold(1_usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?));
    let parts = if elem.class() == ElemClass::Complex { 2 } else { 1 };
    length.unwrap_or(1).saturating_mul(parts).max(1)
}

fn change_floats(kind: RowKind, row: &mut [f64], allows: impl Fn(f64) -> bool) {
    let first = row.first().copied().unwrap_or(0.0);
    match kind {
        RowKind::Ascending => row.sort_by(f64::total_cmp),
        RowKind::Descending => row.sort_by(|a, b| b.total_cmp(a)),
        _ => {
            let power = |exponent: i32| f64::from(2.0_f32).powi(exponent);
            for (index, number) in row.iter_mut().enumerate() {
                let changed = match kind {
                    RowKind::Negative => -number.abs() - 0.125,
                    RowKind::Positive => number.abs() + 0.125,
                    RowKind::Zero => 0.0,
                    RowKind::Tiny => *number * power(-20),
                    RowKind::Least => *number * power(-60),
                    RowKind::Large => *number * power(40),
                    RowKind::Equal => first,
                    _ => {
                        if index == 1 {
                            *number + 1.0
                        } else {
                            0.0
                        }
                    }
                };
                if allows(changed) {
                    *number = changed;
                }
            }
        }
    }
}

fn change_integers(kind: RowKind, row: &mut [i64], is_signed: bool) {
    let first = row.first().copied().unwrap_or(0);
    match kind {
        RowKind::Ascending => row.sort_unstable(),
        RowKind::Descending => row.sort_unstable_by(|a, b| b.cmp(a)),
        RowKind::Tiny | RowKind::Least | RowKind::Large => {}
        _ => {
            for (index, number) in row.iter_mut().enumerate() {
                let magnitude = number.saturating_abs().saturating_add(1);
                *number = match kind {
                    RowKind::Negative if is_signed => magnitude.saturating_neg(),
                    RowKind::Negative | RowKind::Positive => magnitude,
                    RowKind::Equal => first,
                    _ => {
                        if kind == RowKind::Single && index == 1 {
                            magnitude
                        } else {
                            0
                        }
                    }
                };
            }
        }
    }
}
