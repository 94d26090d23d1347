//! Operators with graphs, and calls of functions: a rule that is entered again after each graph.
//!
//! The rule of such an operator is called with an empty [`Control`]. It gives the inputs of a graph their types with
//! [`Cx::bind`] and answers [`Step::Enter`]; the engine then visits the graph, without recursion, and calls the rule again
//! with [`Control::round`] one higher. The rule reads what came out with [`Cx::raw_results`], and either enters a graph again
//! or sets the outputs of the node and answers [`Step::Done`].
//!
//! A size that is not known inside a graph has a symbol of that visit. It never gets out: [`Cx::export`] replaces it by a
//! symbol of the node. What is in the side table about the values of a body must hold in every run of it, so a rule that
//! gives up before it has seen that everything stays the same forgets the graph with
//! [`State::forget_graph`](super::state::State::forget_graph).

use onnx_ir::{GraphId, ValueId};
use onnx_types::{Dim, ElemType, Symbol};

pub(crate) use super::frame::Runs;
use super::state::Basis;
use crate::content::{Content, Elem};
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BODY_ARITY, MISSING};
use crate::ty::{Ty, with_shapes};

/// What an operator with graphs does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Visit this graph, then call the rule again. The graph runs as stated if the node does.
    Enter(GraphId, Runs),
    /// The outputs of the node are set.
    Done,
}

/// A type with the elements of a small tensor.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Known {
    pub(crate) ty: Ty,
    pub(crate) content: Option<Content>,
}

/// What the rule of an operator with graphs keeps between its calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// How many graphs were entered.
    pub(crate) round: u32,
    /// What the rule wants to see again: results of graphs, types of carried values.
    pub(crate) saved: Vec<Vec<Known>>,
    /// How many iterations were visited one by one.
    pub(crate) visited: u32,
    /// The number of facts before the graph was entered.
    pub(crate) mark: usize,
    /// Whether the rule needs an assumption that the options exclude.
    pub(crate) is_refused: bool,
    /// The function that is called, and how the call is remembered.
    pub(crate) call: Option<super::call::Call>,
}

impl Cx<'_, '_> {
    /// What is known about an input of the node.
    pub(crate) fn known(&mut self, index: usize) -> Known {
        Known { ty: self.ty(index), content: self.content(index) }
    }

    /// Says what an input of a nested graph is, before the graph is entered. Unknown sizes become symbols of the input. The
    /// type that the graph declares for its input completes what is not known at all.
    ///
    /// # Errors
    ///
    /// With a finding when the declared type is another one. Sizes are compared only where `sizes` says so.
    pub(crate) fn bind(&mut self, graph: GraphId, index: usize, mut known: Known, sizes: bool) -> Outcome {
        let model = self.state.model;
        let Some(&value) = model.graph(graph).inputs().get(index) else { return Ok(()) };
        if let Some(ty) = model.value(value).ty() {
            let declared = self.state.declared_inside(ty);
            let basis = self.state.differs(&known.ty, &declared);
            if let Some(basis) = basis.filter(|&basis| sizes || basis == Basis::Structure) {
                let message = format_args!("input {index} of the graph is of another type than it declares");
                self.state.declared_differs(basis, (Some(self.id), Some(value)), message);
                return Err(Stop::Failed);
            }
            if self.state.options.uses_declared() && complete(&mut known.ty, declared) {
                self.state.assume_declared(value, Some(self.id));
            }
        }
        self.state.bind(value, known);
        Ok(())
    }

    /// A graph attribute that the node must have.
    ///
    /// # Errors
    ///
    /// As for [`Cx::graph_attr`], and with a finding when the node has none.
    pub(crate) fn required_graph(&mut self, name: Symbol) -> Outcome<GraphId> {
        if self.node.attribute(name).is_none() {
            let name = self.names().resolve(name).to_owned();
            return Err(self.fail(&MISSING, format_args!("attribute `{name}` is missing")));
        }
        self.graph_attr(name)
    }

    /// Checks that a nested graph takes and gives as many values as its node asks for.
    ///
    /// # Errors
    ///
    /// With a finding when it does not.
    pub(crate) fn body_arity(&mut self, graph: GraphId, inputs: usize, outputs: usize) -> Outcome {
        let model = self.state.model;
        let formal = model.graph(graph).inputs();
        // Before version 4 of the format every initializer had to be an input, too.
        let legacy = model.info().ir_version < 4;
        let rest = formal.get(inputs..).unwrap_or_default();
        let fits = formal.len() == inputs
            || (legacy
                && formal.len() > inputs
                && rest.iter().all(|&value| model.value(value).initializer().is_some()));
        if !fits {
            let found = formal.len();
            return Err(
                self.fail(&BODY_ARITY, format_args!("the graph has {found} inputs where {inputs} are given"))
            );
        }
        let found = model.graph(graph).outputs().len();
        if found != outputs {
            return Err(self.fail(
                &BODY_ARITY,
                format_args!("the graph has {found} outputs where {outputs} are needed"),
            ));
        }
        Ok(())
    }

    /// What is known about the outputs of a graph after it was visited, with the symbols of the graph.
    pub(crate) fn raw_results(&mut self, graph: GraphId) -> Vec<Known> {
        self.state.raw_results(graph)
    }

    /// Replaces the symbols that were made inside a graph by symbols of this node.
    pub(crate) fn export(&mut self, raw: Vec<Known>, graph: GraphId) -> Vec<Known> {
        match self.node.outputs().iter().flatten().copied().next() {
            Some(owner) => {
                raw.into_iter().map(|known| self.state.export_known(known, graph, owner)).collect()
            }
            None => Vec::new(),
        }
    }

    /// Says what an output of the node is.
    pub(crate) fn set_known(&mut self, index: usize, known: Known) {
        if let Some(out) = self.outs.get_mut(index) {
            if !known.ty.is_unknown() {
                out.set(known.ty);
            }
            out.content = known.content;
        }
    }
}

/// Takes a declared type where nothing is known, and a declared shape where that is not known. Returns `true` if it took
/// something.
fn complete(known: &mut Ty, declared: Ty) -> bool {
    let before = known.clone();
    match (&mut *known, declared) {
        (known @ Ty::Unknown, declared) => *known = declared,
        (Ty::Tensor(elem, dims), Ty::Tensor(other, shape)) => {
            if *elem == ElemType::Undefined {
                *elem = other;
            }
            if dims.is_none() {
                *dims = shape;
            }
        }
        _ => {}
    }
    *known != before
}

impl super::state::State<'_> {
    pub(crate) fn bind(&mut self, value: ValueId, mut known: Known) {
        if let Ty::Tensor(_, Some(dims)) = &mut known.ty {
            self.materialize(value, dims);
        }
        self.table.set(value, &known.ty);
        self.table.set_content(value, known.content);
    }

    /// What is known about the outputs of a graph, with the symbols of the graph.
    fn raw_results(&mut self, graph: GraphId) -> Vec<Known> {
        let outputs = self.model.graph(graph).outputs().iter();
        outputs
            .map(|output| Known { ty: self.table.ty(output.value()), content: self.content(output.value()) })
            .collect()
    }

    /// Replaces the symbols that were made inside a graph by symbols of a value outside of it.
    pub(crate) fn export_known(&mut self, known: Known, graph: GraphId, owner: ValueId) -> Known {
        let ty = match known.ty {
            Ty::Tensor(elem, Some(mut dims)) => {
                dims.iter_mut().for_each(|dim| *dim = self.export(*dim, graph, owner));
                Ty::Tensor(elem, Some(dims))
            }
            Ty::Other(ty) => with_shapes(&ty, &mut |shape| {
                let mut shape = shape.clone();
                shape.dims_mut().iter_mut().for_each(|dim| *dim = self.export(*dim, graph, owner));
                Some(shape)
            })
            .into(),
            ty => ty,
        };
        let export = |elem: &Elem| match *elem {
            Elem::Int(dim) => Elem::int(self.export(dim, graph, owner)),
            Elem::Dyadic(dim, shift) => match self.export(dim, graph, owner) {
                Dim::Unknown => Elem::Unknown,
                dim => Elem::Dyadic(dim, shift),
            },
            Elem::Quotient(dim, by) => match self.export(dim, graph, owner) {
                Dim::Unknown => Elem::Unknown,
                dim => Elem::Quotient(dim, by),
            },
            elem => elem,
        };
        let content = known.content.map(|content| content.iter().map(export).collect());
        Known { ty, content }
    }
}
