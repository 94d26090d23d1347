//! The rules of decoding: content of files that the graph cannot represent exactly.
//!
//! The decoder stores such content separately from the graph if possible, so that writing the model restores the file;
//! the diagnostic names the stored content. Codes 1xxx.

use onnx_diag::{Reference, Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal $slug:literal $severity:ident $reference:ident $summary:literal;)*) => {
        $(
            $(#[$doc])*
            pub static $name: Rule = Rule::new($code, $slug, Severity::$severity, $summary).with_spec("Protocol Buffers: Encoding").with_reference(Reference::$reference).with_explain(include_str!(concat!("rules/", $slug, ".md")));
        )*
        /// All rules of this crate, by ascending code.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    /// A string field holds bytes that are not UTF-8.
    TEXT_NOT_UTF8 = 1001 "text-not-utf8" Error NotEnforced
        "A string is not UTF-8; its wrong bytes are held as private use characters and written back.";
    /// A known field has a wire type that its type in the schema does not allow.
    FIELD_OF_OTHER_TYPE = 1002 "field-of-other-type" Error NotEnforced
        "A field has a wire type that its type in the schema does not allow; it is kept as an unknown field.";
    /// An attribute has more than one value.
    ATTRIBUTE_WITH_SEVERAL_VALUES = 1003 "attribute-with-several-values" Error Enforced
        "An attribute holds more than one value; the one its type names counts, and the others are stored separately.";
    /// A tensor has more than one data field.
    TENSOR_WITH_SEVERAL_DATA_FIELDS = 1004 "tensor-with-several-data-fields" Error Enforced
        "A tensor fills more than one data field; the lowest-numbered one counts, the others are stored separately.";
    /// A type names an element type that does not exist.
    UNKNOWN_ELEMENT_TYPE = 1005 "unknown-element-type" Error NotEnforced
        "A type names an element type that does not exist; it is taken as undefined.";
    /// A type gives several kinds.
    TYPE_WITH_SEVERAL_KINDS = 1006 "type-with-several-kinds" Error NotEnforced
        "A type is of more than one kind; the last one counts.";
    /// A dimension gives both a number and a variable.
    DIMENSION_WITH_TWO_VALUES = 1007 "dimension-with-two-values" Error NotEnforced
        "A dimension is both a number and a variable; the last one counts.";
    /// The file has no graph.
    NO_GRAPH = 1008 "no-graph" Error Enforced "The model has no graph; it is taken as an empty one.";
    /// An attribute that refers to another one holds a value.
    REFERENCE_WITH_VALUE = 1009 "reference-with-value" Error Partly
        "An attribute refers to an attribute of the function and also holds a value; the value is stored separately.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_ascend_in_the_range_of_decoding() {
        let codes: Vec<u16> = super::ALL.iter().map(|rule| rule.code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b));
        assert!(codes.iter().all(|code| (1000..2000).contains(code)));
    }
}
