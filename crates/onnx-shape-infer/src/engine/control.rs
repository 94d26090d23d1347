//! Operators with graphs, and calls of functions: a rule that is entered again after each graph.
//!
//! The rule of such an operator is called with an empty [`Control`]. It gives the inputs of a graph their types with
//! [`Cx::bind`] and answers [`Step::Enter`]; the engine then visits the graph, without recursion, and calls the rule again
//! with [`Control::round`] one higher. The rule reads what came out with [`Cx::results`], and either enters a graph again
//! or sets the outputs of the node and answers [`Step::Done`].

use onnx_ir::{GraphId, ValueId};

use crate::content::Content;
use crate::cx::Cx;
use crate::ty::{Ty, with_shapes};

/// What an operator with graphs does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Visit this graph, then call the rule again.
    Enter(GraphId),
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
    /// The function that is called, and how the call is remembered.
    pub(crate) call: Option<super::call::Call>,
}

impl Cx<'_, '_> {
    /// What is known about an input of the node.
    pub(crate) fn known(&mut self, index: usize) -> Known {
        Known { ty: self.ty(index), content: self.content(index) }
    }

    /// Says what an input of a nested graph is, before the graph is entered. Unknown sizes become symbols of the input.
    pub(crate) fn bind(&mut self, graph: GraphId, index: usize, known: Known) {
        if let Some(&value) = self.state.model.graph(graph).inputs().get(index) {
            self.state.bind(value, known);
        }
    }

    /// What is known about the outputs of a nested graph after it was visited. Symbols that were made inside it have been
    /// replaced by symbols of this node.
    pub(crate) fn results(&mut self, graph: GraphId, round: u32) -> Vec<Known> {
        let owner = self.node.outputs().iter().flatten().copied().next();
        self.state.results(graph, owner, round)
    }

    /// What is known about the outputs of a graph after it was visited, with the symbols of the graph.
    pub(crate) fn raw_results(&mut self, graph: GraphId) -> Vec<Known> {
        self.state.raw_results(graph)
    }

    /// Says what an output of the node is.
    pub(crate) fn set_known(&mut self, index: usize, known: Known) {
        if let Some(out) = self.outs.get_mut(index) {
            if !known.ty.is_unknown() {
                out.ty = known.ty;
            }
            out.content = known.content;
        }
    }
}

impl super::state::State<'_> {
    pub(crate) fn bind(&mut self, value: ValueId, mut known: Known) {
        if let Ty::Tensor(_, Some(dims)) = &mut known.ty {
            self.materialize(value, dims);
        }
        self.table.set(value, &known.ty);
        self.table.set_content(value, known.content);
    }

    pub(crate) fn results(&mut self, graph: GraphId, owner: Option<ValueId>, round: u32) -> Vec<Known> {
        let raw = self.raw_results(graph);
        match owner {
            Some(owner) => self.export_all(raw, graph, owner, round),
            None => Vec::new(),
        }
    }

    /// What is known about the outputs of a graph, with the symbols of the graph.
    fn raw_results(&mut self, graph: GraphId) -> Vec<Known> {
        let outputs = self.model.graph(graph).outputs().iter();
        outputs
            .map(|output| Known { ty: self.table.ty(output.value()), content: self.content(output.value()) })
            .collect()
    }

    /// Replaces the symbols of a graph by symbols of a value outside of it.
    pub(crate) fn export_all(
        &mut self,
        mut raw: Vec<Known>,
        graph: GraphId,
        owner: ValueId,
        round: u32,
    ) -> Vec<Known> {
        let mut map = Vec::new();
        for known in &mut raw {
            match &mut known.ty {
                Ty::Unknown | Ty::Tensor(_, None) => {}
                Ty::Tensor(_, Some(dims)) => self.export(dims, graph, owner, round, &mut map),
                Ty::Other(ty) => {
                    known.ty = with_shapes(ty, &mut |shape| {
                        let mut shape = shape.clone();
                        self.export(shape.dims_mut(), graph, owner, round, &mut map);
                        Some(shape)
                    })
                    .into();
                }
            }
            known.content = known.content.take().map(|content| {
                content.iter().map(|&elem| self.export_elem(elem, graph, owner, round, &mut map)).collect()
            });
        }
        raw
    }

    fn export_elem(
        &mut self,
        elem: crate::content::Elem,
        graph: GraphId,
        owner: ValueId,
        round: u32,
        map: &mut Vec<(onnx_types::Symbol, onnx_types::Symbol)>,
    ) -> crate::content::Elem {
        use crate::content::Elem;
        let mut export = |dim| {
            let mut dims = [dim];
            self.export(&mut dims, graph, owner, round, map);
            dims[0]
        };
        match elem {
            Elem::Int(dim) => Elem::int(export(dim)),
            Elem::Dyadic(dim, shift) => match export(dim) {
                onnx_types::Dim::Unknown => Elem::Unknown,
                dim => Elem::Dyadic(dim, shift),
            },
            Elem::Quotient(dim, by) => match export(dim) {
                onnx_types::Dim::Unknown => Elem::Unknown,
                dim => Elem::Quotient(dim, by),
            },
            Elem::Unknown | Elem::Float(_) => elem,
        }
    }
}
