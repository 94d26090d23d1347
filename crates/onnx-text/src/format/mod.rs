//! The canonical layout of a text, with its comments.

mod comments;

use onnx_ir::Model;
use onnx_types::Limits;

use crate::error::FormatError;
use crate::parse::{ParseOptions, parse_model};
use crate::print::{PrintOptions, print_model};

/// A text in canonical layout, and what it was made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Formatted {
    /// The text.
    pub text: String,
    /// The model of the text that was given.
    pub before: Model,
    /// The model of the text that was made. Equal to `before`; callers with an encoder can compare the bytes before they
    /// replace the file.
    pub after: Model,
}

/// Lays out the text of a model as [`print_model`] does, and keeps the positions of its comments: before a line, behind
/// it, or at the end. Blank lines around comments stay.
///
/// The result differs from the printed model only in comments and white space, and it is canonical except for comments;
/// both are verified. Formatting again changes nothing.
///
/// ```
/// use onnx_text::{ParseOptions, format_model};
///
/// let text = "<ir_version: 10, opset_import: [\"\": 21]>\n# rectifies\ng (float[2] x) => (float[2] y) {y=Relu(x) # all\n}";
/// let formatted = format_model(text, &ParseOptions::default())?;
/// assert_eq!(
///     formatted.text,
///     r#"<
///    ir_version: 10,
///    opset_import: ["": 21]
/// >
/// ## rectifies
/// g (float[2] x) => (float[2] y) {
///    y = Relu (x)  # all
/// }
/// "#
/// );
/// assert_eq!(format_model(&formatted.text, &ParseOptions::default())?.text, formatted.text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the text is not a model, or cannot be laid out without a change to the model, or if the work
/// is [stopped](crate::ParseError::stopped).
pub fn format_model(text: &str, options: &ParseOptions<'_>) -> Result<Formatted, FormatError> {
    let options = options.clone().with_positions(false);
    let before = parse_model(text, &options)?;
    let printed = print_model(&before, &PrintOptions::full())?.text;
    let text = comments::reattach(text, &printed);
    if !comments::says_the_same(&text, &printed) {
        return Err(FormatError::Changed);
    }
    // A layout may be longer than the text.
    let mut again = options;
    let limits = &mut again.execution.limits;
    limits.text_bytes = limits.text_bytes.max(Limits::DEFAULT.text_bytes);
    limits.input_bytes = Limits::DEFAULT.input_bytes;
    let after = parse_model(&text, &again).map_err(|error| match error.stopped() {
        Some(_) => FormatError::Parse(error),
        None => FormatError::Changed,
    })?;
    if print_model(&after, &PrintOptions::full())?.text != printed {
        return Err(FormatError::Changed);
    }
    Ok(Formatted { text, before, after })
}
