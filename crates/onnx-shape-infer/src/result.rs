//! The result of a run: a table beside the model.

use onnx_diag::{Caps, Sink};
use onnx_ir::{CallGraph, Model, NodeId, ValueId};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType, Interner, Symbol};

use crate::content::Content;
use crate::engine::state::{Failure, Fresh};
use crate::engine::{Changed, Engine, sets};
use crate::facts::Facts;
use crate::findings::findings;
use crate::options::Options;
use crate::table::Table;
use crate::ty::Ty;

/// What was inferred about a model: types, shapes and small contents of its values, and the facts they rest on.
///
/// It belongs to the model that it was made from: symbols and expressions are those of the model's tables. The model's own
/// types are not changed until [`Inference::apply`](Self::apply).
#[derive(Clone, Default)]
pub struct Inference {
    pub(crate) table: Table,
    pub(crate) facts: Facts,
    pub(crate) fresh: Fresh,
    pub(crate) failures: Vec<Failure>,
    pub(crate) findings: Sink,
}

/// Infers the types and shapes of all values of the main graph and of the graphs nested in it.
///
/// The model's types are not changed; its tables of names and expressions gain what the result needs.
///
/// # Panics
///
/// When the arenas of the model do not fit together (see [`Model::verify`]), or when a custom rule panics. The model's
/// tables of names and expressions are lost then.
#[must_use]
pub fn infer(model: &mut Model, options: &Options<'_>) -> Inference {
    run(model, options, None, |engine| {
        engine.run();
        true
    })
    .unwrap_or_default()
}

/// Runs with the model's tables lent to the engine; nothing comes back where `work` says no.
fn run(
    model: &mut Model,
    options: &Options<'_>,
    before: Option<Inference>,
    work: impl FnOnce(&mut Engine<'_>) -> bool,
) -> Option<Inference> {
    let lent = lend(model, options);
    let mut engine = Engine::new(model, options, lent);
    if let Some(before) = before {
        engine.state.table = before.table;
        engine.state.fresh = before.fresh;
        engine.state.facts = before.facts.bounds_alone();
        engine.state.earlier = Some((before.facts, before.failures));
    }
    let done = work(&mut engine);
    let inference = Raw::from(engine).finish(model);
    done.then_some(inference)
}

/// What a model lends to a run, and what is computed before.
pub(crate) struct Lent {
    pub(crate) names: Interner,
    pub(crate) exprs: ExprTable,
    /// For each cycle of calls, the node that closes it.
    pub(crate) cycles: Vec<NodeId>,
}

/// Takes the tables of names and expressions out of a model; [`Raw::finish`] puts them back.
pub(crate) fn lend(model: &mut Model, options: &Options<'_>) -> Lent {
    let cycles = if model.functions().is_empty() {
        Vec::new()
    } else {
        CallGraph::new(model, sets(options)).cycles().map(|(_, cycle)| cycle.node).collect()
    };
    let (exprs, names) = model.exprs_mut();
    Lent { names: std::mem::take(names), exprs: std::mem::take(exprs), cycles }
}

/// What a run leaves behind, before the model has its tables again.
pub(crate) struct Raw {
    inference: Inference,
    names: Interner,
    exprs: ExprTable,
    caps: Caps,
}

impl From<Engine<'_>> for Raw {
    fn from(engine: Engine<'_>) -> Self {
        let state = engine.state;
        let limits = &state.options.limits;
        let caps = Caps { per_rule: limits.findings_per_rule, total: limits.findings };
        let (table, facts, fresh, failures) = (state.table, state.facts, state.fresh, state.failures);
        let inference = Inference { table, facts, fresh, failures, findings: Sink::new() };
        Self { inference, names: state.names, exprs: state.exprs, caps }
    }
}

impl Raw {
    /// Gives the model its tables back, and looks up the places of what was found.
    pub(crate) fn finish(self, model: &mut Model) -> Inference {
        let lent = model.exprs_mut();
        (*lent.0, *lent.1) = (self.exprs, self.names);
        let findings = findings(model, &self.inference.table, &self.inference.failures, self.caps);
        Inference { findings, ..self.inference }
    }
}

impl Inference {
    /// Infers again what edits of the model can have changed: the nodes named, and those after them whose inputs turn out
    /// to be different. The result is that of [`infer`] on the edited model, but for the names of new symbols.
    ///
    /// Every change since the last run must be named, but for nodes and values that were erased. The whole model is
    /// inferred anew where that is needed: after changes in functions.
    ///
    /// # Panics
    ///
    /// As for [`infer`].
    #[must_use]
    pub fn update(self, model: &mut Model, options: &Options<'_>, changed: &[Changed]) -> Self {
        run(model, options, Some(self), |engine| engine.update(changed))
            .unwrap_or_else(|| infer(model, options))
    }

    /// The type of a value.
    #[must_use]
    pub fn ty(&self, value: ValueId) -> Ty {
        self.table.ty(value)
    }

    /// The element type of a tensor value.
    #[must_use]
    pub fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.table.elem(value)
    }

    /// The dimensions of a tensor value, if its rank is known.
    #[must_use]
    pub fn shape(&self, value: ValueId) -> Option<&[Dim]> {
        self.table.dims(value)
    }

    /// The elements of a small tensor value, in row-major order, as far as they were followed.
    #[must_use]
    pub fn content(&self, value: ValueId) -> Option<&Content> {
        self.table.content(value)
    }

    /// What was concluded about dimensions.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The contradictions that were found.
    #[must_use]
    pub const fn findings(&self) -> &Sink {
        &self.findings
    }

    /// The place of the size that a symbol was made for, if this run made it: the value and the axis.
    #[must_use]
    pub fn origin(&self, symbol: Symbol) -> Option<(ValueId, usize)> {
        self.fresh.origin(symbol).map(|(value, axis)| (value, axis as usize))
    }
}
