//! Defects that a candidate must not have unless the original has them.

use std::collections::HashSet;

use onnx_check::{CheckOptions, check};
use onnx_diag::{RuleId, Severity};
use onnx_ir::{Callee, Model, ValueId};
use onnx_shape_infer::{Inference, infer};
use onnx_types::{Dim, Symbol, Type};

use super::{ReduceOptions, inference_options};

/// The defects of a model.
#[derive(Default)]
pub(super) struct Defects {
    /// Rules that the model violates: errors of the checker, and contradictions that inference finds.
    rules: HashSet<RuleId>,
    /// Domain, name and overload of operators that nodes name and nothing defines. The checker accepts those of custom
    /// domains, because a runtime may have them.
    undefined: HashSet<(Symbol, Symbol, Symbol)>,
    /// Number of values whose declared type is not the inferred one. Inference uses the types of the operands of a node for
    /// the inputs of its graphs, and does not report what these declare.
    other_types: usize,
}

impl Defects {
    /// The defects of a model; none if models with new defects are tried, too.
    pub(super) fn of(model: &Model, options: &ReduceOptions<'_>) -> Self {
        if !options.only_valid {
            return Self::default();
        }
        let found = check(model, &CheckOptions::default().with_execution(options.execution.clone()));
        let errors = found.diagnostics().iter().filter(|found| found.severity == Severity::Error);
        let mut rules: HashSet<RuleId> = errors.map(|found| found.rule.id()).collect();
        let inference = infer(model, &inference_options(options));
        rules.extend(inference.findings().diagnostics().iter().map(|found| found.rule.id()));
        let undefined = undefined(model, options).collect();
        Self { rules, undefined, other_types: other_types(model, &inference) }
    }

    /// Returns `true` if the original, which has the defects `known`, has all of these.
    pub(super) fn are_known(&self, known: &Self) -> bool {
        self.rules.is_subset(&known.rules)
            && self.undefined.is_subset(&known.undefined)
            && self.other_types <= known.other_types
    }
}

fn undefined<'a>(
    model: &'a Model,
    options: &'a ReduceOptions<'_>,
) -> impl Iterator<Item = (Symbol, Symbol, Symbol)> + 'a {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    let is_undefined = |callee: Callee<'_>| {
        matches!(callee, Callee::Undefined | Callee::Unknown { .. } | Callee::NotImported)
    };
    nodes.filter(move |&node| is_undefined(model.callee(node, options.registry))).map(|node| {
        let record = model.node(node);
        (record.domain(), record.op(), record.overload())
    })
}

fn other_types(model: &Model, inference: &Inference) -> usize {
    let differs = |value: ValueId| {
        let (declared, inferred) = (model.ty(value), inference.ty(value).to_type());
        declared.zip(inferred.as_ref()).is_some_and(|(declared, inferred)| contradicts(declared, inferred))
    };
    let values = model.graphs_in(model.main_graph()).flat_map(|graph| {
        let inputs = model.graph(graph).inputs().iter().copied();
        inputs.chain(model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied()))
    });
    values.filter(|&value| differs(value)).count()
}

/// Returns `true` if no value has both types, as far as ranks and sizes show that.
fn contradicts(declared: &Type, inferred: &Type) -> bool {
    let (mut declared, mut inferred) = (declared, inferred);
    while let (Some(inner), Some(other)) = (declared.inner(), inferred.inner()) {
        (declared, inferred) = (inner, other);
    }
    let (Some(declared), Some(inferred)) = (declared.shape(), inferred.shape()) else { return false };
    let differs = |(declared, inferred): (&Dim, &Dim)| matches!((declared, inferred), (Dim::Known(declared), Dim::Known(inferred)) if declared != inferred);
    declared.rank() != inferred.rank() || declared.dims().iter().zip(inferred.dims()).any(differs)
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::*;

    /// The defects of a loop whose body declares a type for the carried value `s`.
    fn of_loop(carried: &str) -> Defects {
        let text = format!(
            "<ir_version: 9, opset_import: [\"\": 18]>
            g (float[N, 2] x, int64 n) => (float[N, 2] y) {{
               y = Loop (n, \"\", x) <body = b (int64 i, bool c, {carried} s) => (bool d, float[N, 2] t) {{
                  t = Add (s, x)
                  d = Identity (c)
               }}>
            }}"
        );
        Defects::of(&parse_model(&text, &ParseOptions::default()).unwrap(), &ReduceOptions::default())
    }

    #[test]
    fn declared_types_of_nested_inputs_are_compared_with_those_of_operands() {
        let original = of_loop("float[]");
        for fitting in ["float[]", "float[N, 2]", "float[M, 2]"] {
            assert!(of_loop(fitting).are_known(&original), "{fitting}");
        }
        for other in ["float[N, 4]", "float[2]"] {
            assert!(!of_loop(other).are_known(&original), "{other}");
            assert!(of_loop(other).are_known(&of_loop(other)), "{other}");
        }
    }
}
