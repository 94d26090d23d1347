//! The rules of text: what can be wrong with it, and what the reference's syntax cannot say. Codes 0xxx.

use onnx_diag::{Reference, Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal $slug:literal $severity:ident $reference:ident $summary:literal;)*) => {
        $(
            $(#[$doc])*
            pub static $name: Rule = Rule::new($code, $slug, Severity::$severity, $summary).with_spec("Textual Syntax").with_reference(Reference::$reference).with_explain(include_str!(concat!("rules/", $slug, ".md")));
        )*
        /// All rules of this crate, by ascending code.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    /// A token that the syntax does not allow at its position.
    UNEXPECTED_TOKEN = 1 "unexpected-token" Error Enforced
        "The text does not follow the syntax at this place.";
    /// A string has no end, or an escape in it is malformed.
    MALFORMED_STRING = 2 "malformed-string" Error Partly
        "A string has no closing quote, or a malformed escape.";
    /// A number has no digits where it needs some.
    MALFORMED_NUMBER = 3 "malformed-number" Error Partly
        "A number is malformed.";
    /// A number does not fit its place.
    NUMBER_OUT_OF_RANGE = 4 "number-out-of-range" Error Partly
        "A number does not fit the field or the element type that it is for.";
    /// A literal of one kind is at a position that requires another kind.
    WRONG_LITERAL = 5 "wrong-literal" Error Enforced
        "A literal is not of the kind that its place needs.";
    /// A tensor has more or fewer elements than its dimensions say.
    WRONG_ELEMENT_COUNT = 6 "wrong-element-count" Error NotEnforced
        "A tensor has another number of elements than its dimensions say.";
    /// A key that the place does not know.
    UNKNOWN_KEY = 7 "unknown-key" Error Enforced
        "There is no such key at this place.";
    /// The data of a tensor were left out when the text was printed.
    ELIDED_TENSOR = 9 "elided-tensor" Error Enforced
        "The data of a tensor were left out when the text was printed.";
    /// Text follows the parsed construct.
    TRAILING_TEXT = 10 "trailing-text" Error Partly
        "The parsed construct is followed by more text.";
    /// The text is larger or nested more deeply than allowed.
    TEXT_LIMIT = 11 "text-limit" Error NotEnforced
        "The text exceeds a limit of the parser.";
    /// The type annotation of an attribute does not fit its value.
    KIND_MISMATCH = 12 "attribute-kind-mismatch" Error Enforced
        "The declared kind of an attribute is not the kind of its value.";
    /// A model has something that the reference's syntax cannot say.
    LEFT_OUT = 20 "left-out-of-text" Warning NotEnforced
        "The reference's text syntax cannot say this, so it was left out.";
    /// A model has something that the reference's syntax can say in another form only.
    STORED_OTHERWISE = 21 "stored-otherwise" Note NotEnforced
        "The reference's text syntax says this in another form of the same meaning.";
    /// The elements of tensors are not in a text.
    ELEMENTS_LEFT_OUT = 22 "elements-left-out" Note NotEnforced
        "The text does not contain the elements of some tensors, so nothing that depends on them is checked.";
}
