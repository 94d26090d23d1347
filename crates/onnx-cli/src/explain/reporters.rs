//! The commands that report the rules of transformations: no command reports them when it reads a model.

use onnx_diag::Rule;

/// Which commands report a rule.
#[derive(Clone, Copy)]
pub(super) struct Reporter {
    /// The commands, as a list.
    pub(super) commands: &'static str,
    /// A command that does not report it; `None` for refusals, where nothing can be done without.
    pub(super) silencing: Option<&'static str>,
}

const fn refusal(commands: &'static str) -> Reporter {
    Reporter { commands, silencing: None }
}

const fn silenced(commands: &'static str, silencing: &'static str) -> Reporter {
    Reporter { commands, silencing: Some(silencing) }
}

/// By ascending code.
const REPORTERS: &[(&Rule, Reporter)] = &[
    (
        &onnx_functions::rules::CALL_NOT_INLINED,
        silenced("onnx inline", "onnx inline --allow call-not-inlined MODEL -o OUT"),
    ),
    (&onnx_functions::rules::INLINING_DOES_NOT_END, refusal("onnx inline")),
    (&onnx_functions::rules::NODES_NOT_OUTLINED, refusal("onnx outline")),
    (
        &onnx_functions::rules::LINKED_FUNCTION_RENAMED,
        silenced(
            "onnx merge --link",
            "onnx merge --link LIBRARY --allow linked-function-renamed MODEL -o OUT",
        ),
    ),
    (
        &onnx_functions::rules::CALLED_FUNCTION_MISSING,
        silenced(
            "onnx merge --link",
            "onnx merge --link LIBRARY --allow called-function-missing MODEL -o OUT",
        ),
    ),
    (
        &onnx_functions::rules::LIBRARY_NOT_USED,
        silenced("onnx merge --link", "onnx merge --link LIBRARY --allow library-not-used MODEL -o OUT"),
    ),
    (&onnx_version::rules::CONVERSION_REFUSED, refusal(CONVERSION)),
    (&onnx_compose::rules::PATH_NOT_CUT, refusal("onnx extract")),
    (&onnx_compose::rules::BOUNDARY_TYPE_UNKNOWN, refusal("onnx extract")),
    (&onnx_compose::rules::COMPOSITION_REFUSED, refusal("onnx extract, onnx edit, onnx merge")),
    (&onnx_compose::rules::NAMES_COLLIDE, refusal("onnx edit, onnx merge")),
    (&onnx_compose::rules::SIZE_IS_FIXED, refusal("onnx edit --set, onnx simplify --set")),
    (&onnx_version::rules::CONVERSION_TYPE_UNKNOWN, refusal(CONVERSION)),
    (&onnx_version::rules::CONVERSION_TYPE_NOT_ALLOWED, refusal(CONVERSION)),
    (&onnx_version::rules::CONVERSION_NOT_CONSTANT, refusal(CONVERSION)),
    (&onnx_version::rules::CONVERSION_OVERRIDABLE, refusal(CONVERSION)),
    (&onnx_version::rules::CONVERSION_NO_FORM, refusal(CONVERSION)),
    (&onnx_version::rules::CONVERSION_INVALID_NODE, refusal(CONVERSION)),
    (
        &onnx_compose::rules::TARGET_LACKS_FEATURE,
        silenced("onnx check --target", "onnx check --target TARGET --allow target-lacks-feature FILE"),
    ),
];

const CONVERSION: &str = "onnx convert --opset, and onnx merge if the versions of the models differ";

/// Returns who reports a rule, if only transformations do.
pub(super) fn of(rule: &Rule) -> Option<Reporter> {
    REPORTERS.iter().find(|(known, _)| *known == rule).map(|&(_, reporter)| reporter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new rule of these crates must state which commands report it.
    #[test]
    fn every_rule_of_a_transformation_has_reporters() {
        let rules = [onnx_functions::rules::ALL, onnx_version::rules::ALL, onnx_compose::rules::ALL];
        let rules = rules.into_iter().flatten();
        let missing: Vec<&str> = rules.filter(|rule| of(rule).is_none()).map(|rule| rule.slug).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let codes: Vec<_> = REPORTERS.iter().map(|(rule, _)| rule.id()).collect();
        assert!(codes.is_sorted(), "{codes:?}");
    }
}
