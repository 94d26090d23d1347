//! The series of runs that a claim has which holds in all others.

use onnx_eval::SplitMix64;
use onnx_ir::{AttrValue, ValueId};
use onnx_schema::traits::Rounding;
use onnx_schema::{Registry, Schema, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Type};

use crate::assumption::Exactness;
use crate::elements::{NUMERALS, STRINGS};
use crate::equivalence::Equivalence;
use crate::prove::{Attempt, Runner};
use crate::sample::Sampler;
use crate::sweeps::{RowKind, Sweep, Table};
use crate::verdict::{Counterexample, Verdict};

/// The share of the operations of a run that each series takes; of claims that are expensive, its third power.
const SHARE: u64 = 4;

/// Most runs of a series.
const MOST: usize = 4096;

/// Shorter tables are read in other runs.
const SHORT: usize = 4;

/// Most tables whose indices are tried.
const TABLES: usize = 4;

impl Runner<'_> {
    /// The verdict of a claim that holds in all runs so far, after series of runs.
    pub(crate) fn on_series(&self, verdict: Verdict) -> Verdict {
        let verdict = self.on_pairs(verdict);
        if !matches!(verdict, Verdict::Tested { .. }) {
            return verdict;
        }
        let mut series = Series {
            runner: self,
            sampler: Sampler::new(self.eq, self.execution.limits.proof_elements),
            most: 0,
        };
        type One<'a, 'r> = fn(&mut Series<'a, 'r>) -> Option<Verdict>;
        let all: [One<'_, '_>; 7] = [
            Series::on_thresholds,
            Series::on_multiples,
            Series::on_combinations,
            Series::on_rows,
            Series::on_strings,
            Series::on_tables,
            Series::on_sizes,
        ];
        for one in all {
            let share = if series.sampler.points.is_expensive { SHARE.pow(3) } else { SHARE };
            series.most = self.steps().saturating_add(self.execution.limits.proof_steps / share);
            series.sampler.unscale();
            if let Some(refuted) = one(&mut series) {
                return refuted;
            }
        }
        verdict
    }
}

struct Series<'a, 'r> {
    runner: &'r Runner<'a>,
    sampler: Sampler<'r>,
    /// The operations after which a series ends.
    most: u64,
}

impl Series<'_, '_> {
    /// Whether a node of the claim calls a standard operator of a kind.
    fn has(&self, is_of: impl Fn(&Schema) -> bool) -> bool {
        let model = self.runner.eq.model();
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        nodes.any(|node| model.callee(node, Registry::STANDARD).standard().is_some_and(&is_of))
    }

    /// The verdict after one run, if it refutes the claim; `Err` if there are no more runs.
    fn run(&mut self, sweep: Sweep) -> Result<Option<Verdict>, ()> {
        let runner = self.runner;
        if runner.steps() >= self.most || runner.execution.interrupt.check().is_err() {
            return Err(());
        }
        self.sampler.sweep = Some(sweep);
        let mut rng = SplitMix64::new(runner.execution.seed);
        let Ok(case) = self.sampler.case(0, &mut rng) else { return Ok(None) };
        Ok(match runner.attempt(&case, &mut rng) {
            Attempt::Different(difference) => {
                Some(Verdict::Refuted(Box::new(Counterexample::new(runner.eq, &case, &difference))))
            }
            _ => None,
        })
    }

    /// The verdict after runs, if one refutes the claim.
    fn run_all(&mut self, sweeps: impl IntoIterator<Item = Sweep>) -> Option<Verdict> {
        for sweep in sweeps {
            match self.run(sweep) {
                Ok(None) => {}
                Ok(refuted) => return refuted,
                Err(()) => break,
            }
        }
        None
    }

    fn on_thresholds(&mut self) -> Option<Verdict> {
        const RUNS: u64 = 6;
        if self.runner.eq.class() == Exactness::Exact || !self.has(|schema| schema.traits().jumps()) {
            return None;
        }
        self.run_all((0..RUNS).map(Sweep::Thresholds))
    }

    /// Runs with numbers at which results jump. A claim about real numbers may differ there.
    fn on_multiples(&mut self) -> Option<Verdict> {
        const ELEMENTS: usize = 1 << 13;
        const RUNS: usize = 192;
        if !self.jumps_exactly() {
            return None;
        }
        let operands = self.sampler.paired.clone();
        let count = self.elements(Sweep::Multiples(0), &operands)?;
        let runs = ELEMENTS.div_ceil(count).clamp(4, RUNS) as u64;
        self.run_all((0..runs).map(Sweep::Multiples))
    }

    /// Whether results of an exact claim jump next to numbers.
    fn jumps_exactly(&self) -> bool {
        let jumps = |schema: &Schema| {
            schema.traits().jumps()
                || matches!(schema.op(), op::DIV | op::BIT_SHIFT | op::CLIP | op::MIN | op::MAX)
        };
        self.runner.eq.class() == Exactness::Exact && self.has(jumps)
    }

    /// Runs with what the numbers of the claim are combined to.
    fn on_combinations(&mut self) -> Option<Verdict> {
        if !self.jumps_exactly() {
            return None;
        }
        let combinations = self.sampler.points.combinations();
        self.on_each(combinations)
    }

    fn on_rows(&mut self) -> Option<Verdict> {
        if !self.has(|schema| schema.traits().compares_along_axes()) {
            return None;
        }
        let is_scaled = self.sampler.scale();
        let mut found = self.run_all(self.rows());
        if is_scaled && found.is_some() {
            // The claim is about its own sizes.
            self.sampler.unscale();
            found = self.run_all(self.rows());
        }
        self.sampler.unscale();
        let sizes = self.sampler.sizes_beyond();
        let (Some(first), Some(last)) = (sizes.first().copied(), sizes.last().copied()) else { return found };
        let kinds = [RowKind::Negative, RowKind::Positive, RowKind::Equal, RowKind::Ascending];
        let all = |large: Option<(usize, i64)>| {
            kinds.map(|kind| Sweep::Rows { kind, axes: usize::MAX, is_mixed: false, operand: None, large })
        };
        let variables = self.sampler.variables().min(2);
        let large = (0..variables).flat_map(|variable| [(variable, first), (variable, last)]);
        let large: Vec<_> = if variables == 0 { vec![None] } else { large.map(Some).collect() };
        found.or_else(|| self.run_all(large.into_iter().flat_map(all)))
    }

    /// Rows of all kinds.
    fn rows(&self) -> Vec<Sweep> {
        let free = self.free(|elem| !matches!(elem.class(), ElemClass::String | ElemClass::None));
        let mut operands = vec![None];
        if free.len() > 1 {
            operands.extend(free.into_iter().take(2).map(Some));
        }
        let mut sweeps = Vec::new();
        for operand in operands {
            for kind in RowKind::ALL {
                // Results that overflow or underflow say nothing about real numbers.
                let leaves_range = matches!(kind, RowKind::Large | RowKind::Tiny | RowKind::Least);
                if leaves_range && self.runner.eq.class() != Exactness::Exact {
                    continue;
                }
                let mut row = |axes, is_mixed| {
                    sweeps.push(Sweep::Rows { kind, axes, is_mixed, operand, large: None });
                };
                row(1, false);
                if kind.depends_on_rows() {
                    row(2, false);
                    row(usize::MAX, false);
                }
                row(1, true);
            }
        }
        sweeps
    }

    /// The inputs without known elements, of certain types.
    fn free(&self, is_one: impl Fn(ElemType) -> bool) -> Vec<usize> {
        let eq = self.runner.eq;
        let is_free = |&(_, input): &(usize, ValueId)| {
            eq.constant(input).is_none() && eq.model().ty(input).map(Type::elem).is_some_and(&is_one)
        };
        eq.inputs().into_iter().enumerate().filter(is_free).map(|(index, _)| index).collect()
    }

    fn on_strings(&mut self) -> Option<Verdict> {
        const ROUNDS: usize = 12;
        let operands = self.free(|elem| elem == ElemType::String);
        if operands.is_empty() {
            return None;
        }
        let kinds =
            if self.has(|schema| schema.traits().rounding() == Rounding::Converts) { 0..3 } else { 0..1 };
        let rounds = if operands.len() > 1 { ROUNDS } else { 1 };
        for kind in kinds {
            let length = match kind {
                0 => self.sampler.points.strings.len().saturating_add(STRINGS.len()),
                _ => NUMERALS.len(),
            };
            let Some(count) = self.elements(Sweep::Strings { run: 0, kind }, &operands) else { continue };
            let runs = length.div_ceil(count).saturating_mul(rounds).min(MOST);
            if let Some(refuted) = self.run_all((0..runs).map(|run| Sweep::Strings { run, kind })) {
                return Some(refuted);
            }
        }
        None
    }

    /// The least number of elements of operands in a run; `None` if there are none.
    fn elements(&mut self, sweep: Sweep, operands: &[usize]) -> Option<usize> {
        self.sampler.sweep = Some(sweep);
        let case = self.sampler.case(0, &mut SplitMix64::new(self.runner.execution.seed)).ok()?;
        let counts =
            operands.iter().filter_map(|&operand| case.inputs.get(operand)?.tensor()?.element_count());
        usize::try_from(counts.min()?).ok().filter(|&count| count > 0)
    }

    fn on_tables(&mut self) -> Option<Verdict> {
        if !self.has(|schema| schema.traits().chooses()) {
            return None;
        }
        self.on_each(tables(self.runner.eq))
    }

    /// Runs in which an operand has each element of a table.
    fn on_each(&mut self, tables: impl IntoIterator<Item = Table>) -> Option<Verdict> {
        for table in tables {
            for operand in self.free(|elem| table.has_keys_of(elem)).into_iter().take(3) {
                let sweep = |first: usize| Sweep::Table { table: table.clone(), operand, first };
                let Some(count) = self.elements(sweep(0), &[operand]) else { continue };
                let runs = table.len().div_ceil(count).min(MOST);
                let refuted = self.run_all((0..runs).map(|run| sweep(run.saturating_mul(count))));
                if refuted.is_some() {
                    return refuted;
                }
            }
        }
        None
    }

    fn on_sizes(&mut self) -> Option<Verdict> {
        const SINGLE: i64 = 66;
        const SIDE: i64 = 16;
        const VARIABLES: usize = 3;
        let measures = |schema: &Schema| matches!(schema.op(), op::SHAPE | op::SIZE);
        let variables = self.sampler.variables().min(VARIABLES);
        if variables == 0 || !self.has(measures) || !self.has(|schema| schema.traits().is_piecewise()) {
            return None;
        }
        if variables == 1 {
            return self.run_all((0..=SINGLE).map(|size| Sweep::Sizes([(0, size); 2])));
        }
        let pairs = (0..variables).flat_map(|one| (0..one).map(move |other| (one, other)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let sizes = |(one, other): (usize, usize)| {
            (0..SIDE).flat_map(move |a| (0..SIDE).map(move |b| Sweep::Sizes([(one, a), (other, b)])))
        };
        self.run_all(pairs.into_iter().flat_map(sizes))
    }
}

/// The tables of a claim, the longest first: axes of constants, and lists of keys.
fn tables(eq: &Equivalence) -> Vec<Table> {
    let model = eq.model();
    let mut tables: Vec<Table> = Vec::new();
    let inside = model.all_graphs().flat_map(|graph| model.initializers(graph));
    let inside = inside.filter_map(|value| model.constant_tensor(value));
    let constants = eq.inputs().into_iter().filter_map(|input| eq.constant(input)).chain(inside);
    let mut lengths: Vec<usize> =
        constants.flat_map(Tensor::dims).filter_map(|&size| usize::try_from(size).ok()).collect();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        for attribute in model.node(node).attributes() {
            let table = match attribute.value() {
                AttrValue::Ints(keys) => Table::Integers(keys.clone()),
                AttrValue::Floats(keys) => Table::Floats(keys.iter().map(|&key| f64::from(key)).collect()),
                AttrValue::Strings(keys) => {
                    let texts = keys.iter().filter_map(|key| std::str::from_utf8(key).ok());
                    Table::Strings(texts.map(str::to_owned).collect())
                }
                AttrValue::Tensor(tensor) => {
                    lengths.extend(tensor.dims().iter().filter_map(|&size| usize::try_from(size).ok()));
                    let Some(table) = keys_of(tensor) else { continue };
                    table
                }
                _ => continue,
            };
            tables.push(table);
        }
    }
    lengths.sort_unstable();
    lengths.dedup();
    tables.extend(lengths.into_iter().map(Table::Indices));
    tables.retain(|table| table.len() > SHORT);
    tables.sort_by_key(|table| std::cmp::Reverse(table.len()));
    tables.truncate(TABLES);
    tables
}

/// The elements of a tensor as keys.
fn keys_of(tensor: &Tensor) -> Option<Table> {
    Some(match tensor.elem().class() {
        ElemClass::Int | ElemClass::Uint => Table::Integers(tensor.iter_i64(&NoData).ok()?.collect()),
        ElemClass::Float => Table::Floats(tensor.iter_f64(&NoData).ok()?.collect()),
        ElemClass::String => {
            let texts = tensor.string_bytes().ok()?;
            let texts = texts.iter().filter_map(|text| std::str::from_utf8(text).ok());
            Table::Strings(texts.map(str::to_owned).collect())
        }
        _ => return None,
    })
}
