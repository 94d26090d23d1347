//! Repairs that keep the meaning of a model. Each is in the module of the rule whose diagnostics it fixes.

use onnx_diag::Rule;
use onnx_ir::Model;
use onnx_types::{Interrupt, Stopped};

use crate::rules::FIXES;

/// What was repaired.
#[derive(Clone, Debug)]
pub struct Fix {
    /// The rule whose finding it takes away.
    pub rule: &'static Rule,
    /// What was done, in the past tense.
    pub what: String,
}

/// Returns `true` if [`fix`] repairs violations of a rule, at least some of them.
#[must_use]
pub fn is_fixable(rule: &Rule) -> bool {
    FIXES.iter().any(|entry| entry.rule == rule)
}

/// Repairs what can be repaired without changing the meaning of a model: sorts nodes, drops entries that repeat others
/// or describe nothing, gives nodes unique names, adds the import of the ONNX operators, raises the IR version.
///
/// Ambiguous defects are not fixed: for example, two imports for which readers disagree on precedence, or nodes that
/// form a cycle.
///
/// ```
/// use onnx_check::fix;
/// use onnx_ir::{Model, NewNode, Position};
///
/// // Two nodes in the wrong order.
/// let mut model = Model::new();
/// model.info_mut().ir_version = 10;
/// let graph = model.main_graph();
/// let [op, x, y, z] = ["Relu", "x", "y", "z"].map(|name| model.intern(name));
/// let [x, y, z] = [x, y, z].map(|name| model.new_value(name));
/// model.push_graph_input(graph, x)?;
/// let second = model.add_node(Position::End(graph), NewNode::new(op).inputs([y]).outputs([z]))?;
/// let first = model.add_node(Position::End(graph), NewNode::new(op).inputs([x]).outputs([y]))?;
///
/// let done = fix(&mut model);
/// assert!(done.iter().any(|fix| fix.rule.slug == "node-not-sorted"));
/// assert_eq!(model.nodes(graph).collect::<Vec<_>>(), [first, second]);
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
///
/// # Panics
///
/// When the arenas of the model do not fit together: see [`Model::verify`].
pub fn fix(model: &mut Model) -> Vec<Fix> {
    fix_until(model, &Interrupt::NEVER).unwrap_or_default()
}

/// Like [`fix`], until an interrupt.
///
/// # Errors
///
/// Returns an error if the work is interrupted. Some defects are repaired then.
///
/// # Panics
///
/// When the arenas of the model do not fit together: see [`Model::verify`].
pub fn fix_until(model: &mut Model, interrupt: &Interrupt) -> Result<Vec<Fix>, Stopped> {
    let mut done = Vec::new();
    for entry in FIXES {
        interrupt.check()?;
        done.extend((entry.check)(model).into_iter().map(|what| Fix { rule: entry.rule, what }));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_ends_repairs() {
        let interrupt = Interrupt::new();
        assert!(fix_until(&mut Model::new(), &interrupt).is_ok());
        interrupt.cancel();
        assert!(matches!(fix_until(&mut Model::new(), &interrupt), Err(Stopped)));
    }
}
