//! What was inferred about a model, held against what was observed when it ran.

use std::collections::HashMap;

use onnx_ir::{Def, Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::expr::{Registers, Tape};
use onnx_types::{Dim, Symbol, SymbolNames as _};
use serde_json::Value;

use crate::conformance::report::Failure;

/// What is claimed about one value over all runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// All of it was computed, and is what was observed.
    Resolved,
    /// Some of it cannot be computed.
    Open,
    /// Something else was observed.
    Wrong,
}

/// Compares the claims with runs, which are recorded as JSON: sizes of dimension variables under `bindings`, and element
/// types and shapes by name under `values`.
pub(super) struct Look<'a> {
    pub(super) model: &'a Model,
    pub(super) inference: &'a Inference,
    /// What was observed that contradicts a claim.
    pub(super) failures: Vec<Failure>,
}

impl Look<'_> {
    /// The values that the nodes of the main graph make.
    pub(super) fn made(&self) -> impl Iterator<Item = ValueId> + '_ {
        let nodes = self.model.nodes(self.model.main_graph());
        nodes.flat_map(|node| self.model.node(node).outputs().iter().flatten().copied())
    }

    /// What is claimed about values, as far as they were observed in one of the runs.
    pub(super) fn claims(&mut self, values: &[ValueId], runs: &[&Value]) -> HashMap<ValueId, Claim> {
        let mut claims: HashMap<ValueId, Claim> = HashMap::new();
        let shapes = values.iter().flat_map(|&value| self.inference.shape(value).unwrap_or_default());
        let dims: Vec<Dim> = shapes.copied().collect();
        let tape = Tape::compile(self.inference.exprs(), &dims);
        let mut registers = Registers::default();
        for run in runs {
            let sizes = self.sizes(run, tape.symbols());
            let numbers: Vec<i64> = sizes.iter().map(|size| size.unwrap_or(0)).collect();
            let computed: Vec<Option<i64>> = tape.eval(&numbers, &mut registers).collect();
            // What is not known is not computed: only complete sets of symbols give numbers.
            let symbols = tape.symbols().iter().zip(&sizes);
            let missing: Vec<Symbol> =
                symbols.filter(|(_, size)| size.is_none()).map(|(&symbol, _)| symbol).collect();
            let mut at = 0;
            for &value in values {
                let rank = self.inference.shape(value).map_or(0, <[Dim]>::len);
                let slice = computed.get(at..at + rank).unwrap_or_default();
                at += rank;
                let Some(observed) = self.observed(run, value) else { continue };
                let claim = self.claim(value, slice, &missing, &observed);
                let known = claims.entry(value).or_insert(claim);
                if claim == Claim::Wrong || *known == Claim::Resolved {
                    *known = claim;
                }
            }
        }
        claims
    }

    /// The sizes of symbols in a run: as recorded, or as the inputs had them.
    pub(super) fn sizes(&self, run: &Value, symbols: &[Symbol]) -> Vec<Option<i64>> {
        let mut known: HashMap<Symbol, i64> = HashMap::new();
        let inputs = self.model.graph(self.model.main_graph()).inputs();
        for &input in inputs {
            let name = self.model.str(self.model.value(input).name());
            let shape = run.get("inputs").and_then(|inputs| inputs.get(name)?.get(1)?.as_array());
            let dims = self.inference.shape(input).unwrap_or_default();
            for (dim, size) in dims.iter().zip(shape.into_iter().flatten()) {
                if let (Dim::Var(symbol), Some(size)) = (dim, size.as_i64()) {
                    known.insert(*symbol, size);
                }
            }
        }
        let names = self.inference.names(self.model);
        let bound = |symbol: Symbol| run.get("bindings")?.get(&*names.name(symbol))?.as_i64();
        symbols.iter().map(|&symbol| bound(symbol).or_else(|| known.get(&symbol).copied())).collect()
    }

    /// The element type and the shape of a tensor in a run.
    fn observed(&self, run: &Value, value: ValueId) -> Option<(String, Vec<i64>)> {
        let name = self.model.str(self.model.value(value).name());
        let observed = run.get("values")?.get(name)?;
        let shape = observed.get(1)?.as_array()?;
        let elem = observed.get(0)?.as_str()?.to_lowercase();
        Some((elem, shape.iter().map(Value::as_i64).collect::<Option<_>>()?))
    }

    fn claim(
        &mut self,
        value: ValueId,
        computed: &[Option<i64>],
        missing: &[Symbol],
        observed: &(String, Vec<i64>),
    ) -> Claim {
        let (elem, shape) = observed;
        let known = self.inference.elem(value);
        if known.is_some_and(|known| known.name() != elem) {
            return self.wrong(value, observed, computed);
        }
        let Some(dims) = self.inference.shape(value) else { return Claim::Open };
        if dims.len() != shape.len() {
            return self.wrong(value, observed, computed);
        }
        let mut claim = if known.is_some() { Claim::Resolved } else { Claim::Open };
        for ((&dim, &computed_size), &size) in dims.iter().zip(computed).zip(shape) {
            let symbols = self.inference.exprs().symbols(dim);
            if dim.is_unknown() || symbols.iter().any(|symbol| missing.contains(symbol)) {
                claim = Claim::Open;
            } else if computed_size != Some(size) {
                return self.wrong(value, observed, computed);
            }
        }
        claim
    }

    fn wrong(&mut self, value: ValueId, observed: &(String, Vec<i64>), computed: &[Option<i64>]) -> Claim {
        let name = self.model.str(self.model.value(value).name());
        let elem = self.inference.elem(value).map_or("?", onnx_types::ElemType::name);
        let dims = self.inference.shape(value).unwrap_or_default().iter();
        let dims: Vec<String> =
            dims.map(|&dim| self.inference.display(self.model, dim).to_string()).collect();
        let what = format!("`{name}` is {elem}{dims:?} = {computed:?}, observed {observed:?}");
        self.failures.push(Failure::new(format!("wrong:{}", self.maker(value)), what));
        Claim::Wrong
    }

    /// The operator that makes a value.
    pub(super) fn maker(&self, value: ValueId) -> &str {
        match self.model.value(value).def() {
            Def::Output { node, .. } => self.model.str(self.model.node(node).op()),
            _ => "input",
        }
    }
}
