//! What inference can find wrong with a model: the rules 3xxx.

use onnx_diag::{Reference, Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $slug:literal, $severity:ident, $reference:ident, $summary:literal, $help:literal;)*) => {
        $($(#[$doc])*
        pub static $name: Rule = Rule::new($code, $slug, Severity::$severity, $summary).with_reference(Reference::$reference).with_explain(include_str!(concat!("rules/", $slug, ".md")));)*

        /// The rules of inference, by ascending code.
        pub static RULES: &[&Rule] = &[$(&$name),*];

        /// What to do about a finding of a rule.
        pub(crate) fn help(rule: &Rule) -> &'static str {
            match rule.code {
                $($code => $help,)*
                _ => "check the node and its inputs",
            }
        }
    };
}

/// Returns `true` if the rule is about sizes, axes or elements: it then contradicts the model only if the node is
/// executed. The other rules are about types and structure, which must be valid in graphs that are never executed, too.
pub(crate) fn depends_on_sizes(rule: &Rule) -> bool {
    let rules = [
        &WRONG_RANK,
        &AXIS_OUT_OF_RANGE,
        &AXIS_TWICE,
        &SIZES_DIFFER,
        &NO_BROADCAST,
        &NEGATIVE_SIZE,
        &COUNT_DIFFERS,
        &BAD_ATTRIBUTE,
        &BAD_VALUE,
        &DECLARED_DIFFERS,
        &DECLARED_SHAPE_DIFFERS,
        &TOO_LARGE,
        &ELEMENTS_OVERFLOW,
    ];
    rules.iter().any(|other| other.code == rule.code)
}

rules! {
    /// An input has a type that the operator does not take.
    TYPE_NOT_ALLOWED = 3001, "input-type-not-allowed", Error, Enforced,
        "An input has a type that the operator does not take.",
        "cast the input to a type that the operator takes";
    /// Inputs that share a type variable have different types.
    TYPES_DIFFER = 3002, "input-types-differ", Error, Enforced,
        "Inputs that must have the same type have different ones.",
        "cast the inputs to one type";
    /// A value is of another kind than the operator takes, such as a sequence in place of a tensor.
    WRONG_KIND = 3003, "value-of-wrong-kind", Error, Enforced,
        "A value is of another kind than the operator takes.",
        "give a value of the kind that the operator takes";
    /// An input has a rank that the operator does not take.
    WRONG_RANK = 3004, "rank-not-allowed", Error, Enforced,
        "An input has a rank that the operator does not take.",
        "reshape the input, or give another one";
    /// An axis is outside the rank of the tensor.
    AXIS_OUT_OF_RANGE = 3005, "axis-beyond-rank", Error, Enforced,
        "An axis is outside the rank of the tensor.",
        "give an axis that the tensor has, or a tensor with more axes";
    /// An axis occurs twice where each may occur once.
    AXIS_TWICE = 3006, "axis-named-twice", Error, Enforced,
        "An axis is named twice where each may be named once.",
        "name each axis once";
    /// Two sizes that must be equal are not.
    SIZES_DIFFER = 3007, "sizes-differ", Error, Enforced,
        "Two sizes that must be equal are not.",
        "give inputs whose sizes fit each other";
    /// Shapes do not broadcast.
    NO_BROADCAST = 3008, "shapes-do-not-broadcast", Error, Enforced,
        "The shapes of inputs do not broadcast to one shape.",
        "give sizes that are equal or 1, axis by axis from the last one";
    /// A size would be negative.
    NEGATIVE_SIZE = 3009, "size-negative", Error, Enforced,
        "A dimension of an output would be negative.",
        "give a larger input, or numbers that take less from its size";
    /// A tensor is reshaped to a shape with a different number of elements.
    COUNT_DIFFERS = 3010, "element-count-differs", Error, Enforced,
        "A tensor is given a shape for another number of elements.",
        "give a shape with as many elements as the tensor has";
    /// An attribute has a value with which the operator means nothing.
    BAD_ATTRIBUTE = 3011, "attribute-value-not-allowed", Error, Enforced,
        "An attribute has a value that the operator does not take.",
        "give a value that the operator takes";
    /// The elements of an input have values with which the operator means nothing.
    BAD_VALUE = 3012, "input-value-not-allowed", Error, Enforced,
        "An input has elements that the operator does not take.",
        "give elements that the operator takes";
    /// An input, output or attribute that is needed is missing.
    MISSING = 3013, "part-missing", Error, Enforced,
        "An input, output or attribute that the operator needs is missing.",
        "add what is missing";
    /// The numbers of inputs or outputs of a nested graph do not fit its node.
    BODY_ARITY = 3014, "body-arity-differs", Error, Enforced,
        "The inputs or outputs of a nested graph do not fit its node.",
        "give the graph the inputs and outputs that its node needs";
    /// The branches of a conditional give different types.
    BRANCHES_DIFFER = 3015, "branch-types-differ", Error, Enforced,
        "The branches of a conditional give values of different types.",
        "let all branches give the same types";
    /// What was inferred contradicts what the model declares.
    DECLARED_DIFFERS = 3016, "declared-type-differs", Error, Enforced,
        "An inferred type contradicts the declared one.",
        "correct the declaration: `onnx infer --merge override` writes the inferred types; if the node is wrong, correct its attribute, as `onnx edit --attribute 'Cast() & finding(ONNX3016).to=float16'` does";
    /// A function calls itself.
    RECURSION = 3017, "recursive-call", Error, Enforced,
        "A function calls itself, directly or through others.",
        "remove one of the calls in the circle";
    /// A limit ended inference early.
    LIMIT = 3018, "inference-limit-reached", Error, NotEnforced,
        "A limit ended inference before all values were visited.",
        "raise the limit, or make the model smaller";
    /// The operator set of a node is not imported.
    NOT_IMPORTED = 3019, "operator-set-not-imported", Error, Enforced,
        "A node is of an operator set that its model or function does not import.",
        "import the operator set";
    /// A size does not fit in 64 bits.
    TOO_LARGE = 3020, "size-too-large", Error, Enforced,
        "A dimension of an output does not fit in 64 bits.",
        "give smaller sizes";
    /// A node contradicts itself in a graph that need not run.
    CONDITIONAL = 3021, "contradiction-if-executed", Warning, Partly,
        "A graph that need not be executed contradicts itself.",
        "correct the graph, or remove it if it is never executed";
    /// A given shape contradicts the declaration of the input.
    GIVEN_SHAPE = 3022, "given-shape-differs", Error, NotEnforced,
        "A given shape contradicts the declared type of the input.",
        "give a shape that the model declares, or change the declaration";
    /// Given shapes violate a condition that inferred results depend on.
    GUARD_VIOLATED = 3023, "guard-violated", Error, NotEnforced,
        "Given shapes violate a condition that inferred results depend on.",
        "give other shapes; for these, the model fails or its inferred shapes do not hold";
    /// Given shapes violate a condition of a graph that need not be executed.
    CONDITIONAL_GUARD = 3024, "conditional-guard-violated", Warning, NotEnforced,
        "Given shapes violate a condition of a graph that need not be executed.",
        "give other shapes if the graph is executed; its inferred shapes do not hold for these";
    /// What a value is declared to be has another shape than what was inferred.
    DECLARED_SHAPE_DIFFERS = 3025, "declared-shape-differs", Error, Enforced,
        "The declared shape of a value contradicts the inferred one.",
        "correct the declaration or remove it, unless the node is wrong: `onnx infer --merge override` writes the inferred shapes";
    /// Integers that are computed from constants and sizes leave the range of their type.
    ELEMENTS_OVERFLOW = 3026, "elements-overflow", Warning, Partly,
        "An integer that is computed from constants and sizes does not fit in 64 bits.",
        "give smaller constants, unless the result is meant to wrap around";
}
