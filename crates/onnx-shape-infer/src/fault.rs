//! What inference can find wrong with a model: the rules 3xxx.

use onnx_diag::{Reference, Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $slug:literal, $reference:ident, $summary:literal, $help:literal;)*) => {
        $($(#[$doc])*
        pub static $name: Rule = Rule {
            code: $code,
            slug: $slug,
            severity: Severity::Error,
            summary: $summary,
            spec: "",
            reference: Reference::$reference,
            explain: include_str!(concat!("rules/", $slug, ".md")),
        };)*

        /// The rules of inference, by ascending code.
        pub static RULES: &[&Rule] = &[$(&$name),*];

        /// What to do about a finding of a rule.
        pub(crate) fn help(rule: &Rule) -> &'static str {
            match rule.code {
                $($code => $help,)*
                _ => "look at the node and its inputs",
            }
        }
    };
}

rules! {
    /// An input has a type that the operator does not take.
    TYPE_NOT_ALLOWED = 3001, "input-type-not-allowed", Enforced,
        "An input has a type that the operator does not take.",
        "cast the input to a type that the operator takes";
    /// Inputs that share a type variable have different types.
    TYPES_DIFFER = 3002, "input-types-differ", Enforced,
        "Inputs that must have the same type have different ones.",
        "cast the inputs to one type";
    /// A value is of another kind than the operator takes, such as a sequence in place of a tensor.
    WRONG_KIND = 3003, "value-of-wrong-kind", Enforced,
        "A value is of another kind than the operator takes.",
        "give a value of the kind that the operator takes";
    /// An input has a rank that the operator does not take.
    WRONG_RANK = 3004, "rank-not-allowed", Enforced,
        "An input has a rank that the operator does not take.",
        "reshape the input, or give another one";
    /// An axis is outside the rank of the tensor.
    AXIS_OUT_OF_RANGE = 3005, "axis-beyond-rank", Enforced,
        "An axis is outside the rank of the tensor.",
        "give an axis that the tensor has, or a tensor with more axes";
    /// An axis stands twice where each may stand once.
    AXIS_TWICE = 3006, "axis-named-twice", Enforced,
        "An axis is named twice where each may be named once.",
        "name each axis once";
    /// Two sizes that must be equal are not.
    SIZES_DIFFER = 3007, "sizes-differ", Enforced,
        "Two sizes that must be equal are not.",
        "give inputs whose sizes fit each other";
    /// Shapes do not broadcast.
    NO_BROADCAST = 3008, "shapes-do-not-broadcast", Enforced,
        "The shapes of inputs do not broadcast to one shape.",
        "give sizes that are equal or 1, axis by axis from the last one";
    /// A size would be negative.
    NEGATIVE_SIZE = 3009, "size-negative", Enforced,
        "A dimension of an output would be negative.",
        "give a larger input, or numbers that take less from its size";
    /// A tensor is to be given a shape with another number of elements.
    COUNT_DIFFERS = 3010, "element-count-differs", Enforced,
        "A tensor is given a shape for another number of elements.",
        "give a shape with as many elements as the tensor has";
    /// An attribute has a value with which the operator means nothing.
    BAD_ATTRIBUTE = 3011, "attribute-value-not-allowed", Enforced,
        "An attribute has a value that the operator does not take.",
        "give a value that the operator takes";
    /// The elements of an input have values with which the operator means nothing.
    BAD_VALUE = 3012, "input-value-not-allowed", Enforced,
        "An input has elements that the operator does not take.",
        "give elements that the operator takes";
    /// An input, output or attribute that is needed is missing.
    MISSING = 3013, "part-missing", Enforced,
        "An input, output or attribute that the operator needs is missing.",
        "add what is missing";
    /// The numbers of inputs or outputs of a nested graph do not fit its node.
    BODY_ARITY = 3014, "body-arity-differs", Enforced,
        "The inputs or outputs of a nested graph do not fit its node.",
        "give the graph the inputs and outputs that its node needs";
    /// The branches of a conditional give different types.
    BRANCHES_DIFFER = 3015, "branch-types-differ", Enforced,
        "The branches of a conditional give values of different types.",
        "let all branches give the same types";
    /// What was inferred contradicts what the model declares.
    DECLARED_DIFFERS = 3016, "declared-type-differs", Enforced,
        "An inferred type contradicts the declared one.",
        "correct the declaration or remove it, unless the node is wrong";
    /// A function calls itself.
    RECURSION = 3017, "recursive-call", Enforced,
        "A function calls itself, directly or through others.",
        "remove one of the calls in the circle";
    /// A limit ended inference early.
    LIMIT = 3018, "inference-limit-reached", NotEnforced,
        "A limit ended inference before all values were visited.",
        "raise the limit, or make the model smaller";
    /// The operator set of a node is not imported.
    NOT_IMPORTED = 3019, "operator-set-not-imported", Enforced,
        "A node is of an operator set that is not imported where it stands.",
        "import the operator set";
    /// A size does not fit in 64 bits.
    TOO_LARGE = 3020, "size-too-large", Enforced,
        "A dimension of an output does not fit in 64 bits.",
        "give smaller sizes";
}
