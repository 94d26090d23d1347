//! Numbers for dimension variables: all shapes for given sizes, and sizes from given shapes.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Model, ValueId};
use onnx_types::expr::{Registers, Tape};
use onnx_types::{Dim, Symbol};

use crate::facts::{Fact, FactScope, Strength};
use crate::justification::Justification;
use crate::result::Inference;

/// The shapes of all values, compiled so that they can be evaluated for many sizes of the dimension variables.
///
/// ```
/// # use onnx_ir::{Model, NewNode, OpsetImport, Position};
/// # use onnx_schema::{domain, op};
/// # use onnx_shape_infer::{InferOptions, infer};
/// # use onnx_types::{Dim, ElemType, Shape, Type};
/// # let mut model = Model::new();
/// # model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 18));
/// # let [x, s, n] = ["x", "s", "N"].map(|name| model.intern(name));
/// # let graph = model.main_graph();
/// # let (x, s) = (model.new_value(x), model.new_value(s));
/// # model.push_graph_input(graph, x)?;
/// # model.set_type(x, Some(Type::tensor(ElemType::Float, Some(Shape::new([Dim::Var(n), Dim::Known(3)])))));
/// # model.add_node(Position::End(graph), NewNode::new(op::RELU).inputs([x]).outputs([s]))?;
/// let inference = infer(&model, &InferOptions::default());
/// let mut shapes = inference.shapes(&model);
/// // `s` is what `Relu` makes of `x`, a tensor of shape [N, 3].
/// let sizes = shapes.evaluate(&[(n, 7)]);
/// assert_eq!(sizes.shape(s), Some(vec![Some(7), Some(3)]));
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    tape: Tape,
    /// The range of the dimensions of a value among those that are compiled.
    spans: HashMap<ValueId, (usize, usize), RandomState>,
    registers: Registers,
}

/// The shapes of all values for one choice of sizes.
#[derive(Clone, Debug)]
pub struct Sizes<'a> {
    spans: &'a HashMap<ValueId, (usize, usize), RandomState>,
    sizes: Vec<Option<i64>>,
}

impl Sizes<'_> {
    /// The sizes of a tensor value, outermost first; `None` if its rank is unknown. An entry is `None` if a symbol in
    /// it has no size, or if the expression is undefined for these sizes.
    #[must_use]
    pub fn shape(&self, value: ValueId) -> Option<Vec<Option<i64>>> {
        let &(start, rank) = self.spans.get(&value)?;
        self.sizes.get(start..start.checked_add(rank)?).map(<[_]>::to_vec)
    }
}

impl Shapes {
    /// The shapes for these sizes of dimension variables.
    pub fn evaluate(&mut self, sizes: &[(Symbol, i64)]) -> Sizes<'_> {
        let given = |symbol: &Symbol| sizes.iter().find(|(name, _)| name == symbol).map(|&(_, size)| size);
        let values: Vec<Option<i64>> = self.tape.symbols().iter().map(given).collect();
        let sizes = self.tape.eval(&values, &mut self.registers).collect();
        Sizes { spans: &self.spans, sizes }
    }
}

/// Violated facts whose guards are looked up, each in time linear in the model. More are left out if a guard is violated.
const MAX_EXAMINED: usize = 64;

/// A size at run time that contradicts what the model declares or what inference concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// An input has another rank than declared.
    Rank {
        /// The input.
        input: ValueId,
        /// The declared rank.
        declared: usize,
        /// The rank at run time.
        found: usize,
    },
    /// A dimension of an input has another size than the declaration allows.
    Size {
        /// The input.
        input: ValueId,
        /// Its axis.
        axis: usize,
        /// The declared dimension.
        dim: Dim,
        /// Its size for the given shapes; `None` if it has none, such as a quotient by 0.
        declared: Option<i64>,
        /// The size at run time.
        found: i64,
    },
    /// A fact that the results depend on does not hold for these sizes.
    Fact(Fact),
    /// The same for a guard of a nested graph or function, which applies only if the graph is executed.
    Scoped(Fact),
}

impl Inference {
    /// Compiles the shapes of all values of the model.
    #[must_use]
    pub fn shapes(&self, model: &Model) -> Shapes {
        let mut dims: Vec<Dim> = Vec::new();
        let mut spans = HashMap::default();
        for graph in model.all_graphs() {
            let inputs = model.graph(graph).inputs().iter().copied();
            let outputs =
                model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied());
            for value in inputs.chain(model.initializers(graph)).chain(outputs) {
                if let Some(shape) = self.shape(value) {
                    spans.insert(value, (dims.len(), shape.len()));
                    dims.extend_from_slice(shape);
                }
            }
        }
        Shapes { tape: Tape::compile(&self.exprs, &dims), spans, registers: Registers::default() }
    }

    /// The sizes of the dimension variables for given shapes of the main graph's inputs, and everything about these shapes
    /// that contradicts the declarations or the facts that inference concluded, before the model runs.
    /// [`check_shapes`](Self::check_shapes) reports the same as diagnostics.
    ///
    /// Inputs that are left out are not tested. A variable is solved for if it is a whole dimension of some input; a
    /// relation of a variable without a size is not tested. If a guard is violated, the facts that depend on it say nothing
    /// about these sizes and are left out: the model may run.
    #[must_use]
    pub fn solve(&self, model: &Model, inputs: &[(ValueId, &[i64])]) -> (Vec<(Symbol, i64)>, Vec<Violation>) {
        let mut sizes: Vec<(Symbol, i64)> = Vec::new();
        let mut size_of: HashMap<Symbol, i64> = HashMap::new();
        let mut violations = Vec::new();
        let mut derived = Vec::new();
        for &(input, found) in inputs {
            let Some(declared) = self.shape(input) else { continue };
            if declared.len() != found.len() {
                violations.push(Violation::Rank { input, declared: declared.len(), found: found.len() });
                continue;
            }
            for (axis, (&dim, &size)) in declared.iter().zip(found).enumerate() {
                match dim {
                    Dim::Var(symbol) if !size_of.contains_key(&symbol) => {
                        size_of.insert(symbol, size);
                        sizes.push((symbol, size));
                    }
                    _ => derived.push((input, axis, dim, size)),
                }
            }
        }
        let value = |symbol| size_of.get(&symbol).copied();
        // The size of a dimension, where its symbols have sizes; nothing inside where it means nothing for them.
        let known = |dim: Dim| {
            let is_known = self.exprs.symbols(dim).iter().all(|&symbol| value(symbol).is_some());
            is_known.then(|| self.exprs.eval(dim, &value))
        };
        for (input, axis, dim, found) in derived {
            if let Some(declared) = known(dim)
                && declared != Some(found)
            {
                violations.push(Violation::Size { input, axis, dim, declared, found });
            }
        }
        let violated = self.violated(model, &|fact| fact.relation.fails(|dim| known(dim).flatten()));
        violations.extend(violated.into_iter().filter_map(|fact| match fact {
            Fact { scope: FactScope::Model, .. } => Some(Violation::Fact(fact)),
            // What is proved in a graph that does not run says nothing about the results.
            Fact { strength: Strength::Assumed, .. } => Some(Violation::Scoped(fact)),
            Fact { .. } => None,
        }));
        (sizes, violations)
    }

    /// The facts that fail, without those that depend on a guard that fails as well.
    fn violated(&self, model: &Model, fails: &dyn Fn(&Fact) -> bool) -> Vec<Fact> {
        let is_assumed = |fact: &Fact| fact.strength == Strength::Assumed;
        let guard_of = |fact: &Fact| {
            let mut all = self.facts().conclusions(fact.relation);
            all.find(|other| is_assumed(other) && !other.is_inherited).copied()
        };
        let failing: Vec<Fact> = self.facts().conditions().filter(|fact| fails(fact)).copied().collect();
        if !failing.iter().any(|fact| is_assumed(fact) || guard_of(fact).is_some()) {
            return failing;
        }
        let mut examined = 0_usize;
        let mut depends = |fact: &Fact| {
            examined = examined.saturating_add(1);
            examined > MAX_EXAMINED
                || match self.fact_justification(model, fact) {
                    Justification::Unrecorded => true,
                    justification => justification.guards().iter().any(fails),
                }
        };
        let kept =
            |fact: Fact| if is_assumed(&fact) || !depends(&fact) { Some(fact) } else { guard_of(&fact) };
        failing.into_iter().filter_map(kept).collect()
    }
}
