//! Texts of a picture: escaped names, short types, and estimates of widths.

use std::fmt::Write as _;

use onnx_diag::Clean;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, Type, TypeKind};

use crate::scene::SMALL_FONT;

/// Characters of a name that are shown.
const MOST_CHARS: usize = 44;
/// Elements of a weight that are shown, and characters of them.
const MOST_ELEMENTS: u64 = 6;
const MOST_ELEMENTS_TEXT: usize = 26;
/// Dimensions of a type that are shown.
const MOST_DIMS: usize = 8;

/// A name as a picture shows it: what acts on a terminal or changes the direction of text is escaped, and the middle of a
/// long name is left out.
///
/// ```
/// assert_eq!(onnx_draw::shown("a\u{202e}b"), "a\\u{202e}b");
/// assert!(onnx_draw::shown(&"x".repeat(1000)).chars().count() < 50);
/// ```
#[must_use]
pub fn shown(name: &str) -> String {
    shortened(name, MOST_CHARS)
}

/// A name with at most `most` characters before it is escaped.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    if name.len() <= most || name.char_indices().nth(most).is_none() {
        return Clean(name).to_string();
    }
    let half = most / 2;
    let start = name.char_indices().nth(half).map_or(name.len(), |(at, _)| at);
    let end = name.char_indices().rev().nth(half.saturating_sub(2)).map_or(name.len(), |(at, _)| at);
    let (start, end) = (name.get(..start).unwrap_or_default(), name.get(end..).unwrap_or_default());
    format!("{}…{}", Clean(start), Clean(end))
}

/// The type of a value for an edge: `N×3×224×224`, with the element type in front of it unless that is `float`.
#[must_use]
pub fn type_text(model: &Model, inference: Option<&Inference>, value: ValueId) -> String {
    let inferred = inference.and_then(|inference| inference.ty(value).to_type());
    // Without an inferred type, the declared one is shown; its dimensions are those of the model.
    let ty = inferred.as_ref().or_else(|| model.ty(value).filter(|_| inference.is_none()));
    ty.map_or_else(|| "?".to_owned(), |ty| of_type(model, inference, ty))
}

fn of_type(model: &Model, inference: Option<&Inference>, ty: &Type) -> String {
    let mut text = String::new();
    let mut closing = 0;
    let mut inner = Some(ty);
    while let Some(ty) = inner {
        inner = ty.inner();
        match &ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                let is_float = tensor.elem.name() == "float";
                if matches!(ty.kind, TypeKind::SparseTensor(_)) {
                    text.push_str("sparse ");
                }
                if !is_float {
                    text.push_str(tensor.elem.name());
                }
                let Some(shape) = &tensor.shape else {
                    text.push_str(if is_float { "float[…]" } else { "[…]" });
                    continue;
                };
                if shape.rank() == 0 {
                    text.push_str(if is_float { "float" } else { "" });
                    continue;
                }
                text.push_str(if is_float { "" } else { " " });
                dims(&mut text, model, inference, shape.dims());
            }
            TypeKind::Sequence(_) => text.push_str("seq("),
            TypeKind::Optional(_) => text.push_str("optional("),
            TypeKind::Map { key, .. } => {
                let _ = write!(text, "map({key}, ");
            }
            TypeKind::Undefined | TypeKind::Opaque { .. } => text.push('?'),
        }
        closing += usize::from(matches!(
            ty.kind,
            TypeKind::Sequence(_) | TypeKind::Optional(_) | TypeKind::Map { .. }
        ));
    }
    text.extend(std::iter::repeat_n(')', closing));
    text
}

fn dims(text: &mut String, model: &Model, inference: Option<&Inference>, dims: &[Dim]) {
    for (axis, &dim) in dims.iter().take(MOST_DIMS).enumerate() {
        if axis > 0 {
            text.push('×');
        }
        let name = match (dim, inference) {
            (Dim::Known(size), _) => size.to_string(),
            (Dim::Unknown, _) => "?".to_owned(),
            (dim, Some(inference)) => inference.display(model, dim).to_string(),
            (dim, None) => model.exprs().display(dim, model.names()).to_string(),
        };
        let name = shortened(&name, 18);
        // `seq + past` between signs of multiplication is one size.
        if dims.len() > 1 && has_operator(&name) {
            let _ = write!(text, "({name})");
        } else {
            text.push_str(&name);
        }
    }
    if dims.len() > MOST_DIMS {
        text.push_str("×…");
    }
}

/// Returns `true` if a size is a formula with an operator that is not in parentheses.
fn has_operator(size: &str) -> bool {
    let mut depth = 0_usize;
    size.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && "+-*/".contains(c)
    })
}

/// A number with the digits that people read.
///
/// ```
/// assert_eq!(onnx_draw::number_text(0.1 + 0.2), "0.3");
/// assert_eq!(onnx_draw::number_text(1.0e-5), "1.000e-5");
/// ```
#[must_use]
pub fn number_text(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || !number.is_finite() || (number.fract() == 0.0 && size < 1e7) {
        return format!("{number}");
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{number:.3e}");
    }
    let digits = if size < 1.0 { 5 } else { 4 };
    let text = format!("{number:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The elements of a tensor of up to [`MOST_ELEMENTS`] numbers that is in memory: `[0, -1, 64]`, or `0` for a scalar.
pub(crate) fn elements_text(tensor: &Tensor) -> Option<String> {
    let is_short =
        tensor.element_count().is_some_and(|count| count <= MOST_ELEMENTS) && tensor.dims().len() < 2;
    if !is_short {
        return None;
    }
    let numbers: Vec<String> = match tensor.iter_i64(&NoData) {
        Ok(elements) => elements.map(|element| element.to_string()).collect(),
        Err(_) => tensor.iter_f64(&NoData).ok()?.map(number_text).collect(),
    };
    let text = numbers.join(", ");
    let text = if tensor.dims().is_empty() { text } else { format!("[{text}]") };
    (text.len() <= MOST_ELEMENTS_TEXT).then_some(text)
}

/// Widths of the characters from the space to `~` in thousandths of the font size, as wide as common sans-serif fonts have
/// them.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// A label that is not wider: its end is left out.
pub(crate) fn fitted(mut label: String, width: f64) -> String {
    if text_width(&label, SMALL_FONT) <= width {
        return label;
    }
    let room = width - text_width("…", SMALL_FONT);
    while text_width(&label, SMALL_FONT) > room && label.pop().is_some() {}
    label.push('…');
    label
}

/// An estimate of the width of a text, rather too large than too small.
#[must_use]
pub fn text_width(text: &str, font_size: f64) -> f64 {
    text.chars().map(char_width).sum::<f64>() * font_size
}

/// The width of a character as a part of the font size.
pub(crate) fn char_width(c: char) -> f64 {
    let units = match u32::from(c).checked_sub(0x20).and_then(|index| WIDTHS.get(index as usize)) {
        Some(&width) => f64::from(width),
        // The multiplication sign, and other characters of European scripts.
        None if (c as u32) < 0x250 => 760.0,
        None => 1000.0,
    };
    units / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_shortened() {
        assert_eq!(shown("plain/name"), "plain/name");
        assert_eq!(shown("a\nb\u{7}"), "a\\nb\\u{7}");
        let long = "a".repeat(30) + &"b".repeat(30);
        assert_eq!(shown(&long), format!("{}…{}", "a".repeat(22), "b".repeat(21)));
        assert_eq!(shown(&"é".repeat(44)), "é".repeat(44));
        assert!(shown(&"\u{202e}".repeat(5000)).starts_with("\\u{202e}"));
    }

    #[test]
    fn formulas_with_operators_are_found() {
        for (size, is_one) in
            [("seq + past", true), ("2*n", true), ("min(a + b, 3)", false), ("n", false), ("(a)//(b)", true)]
        {
            assert_eq!(has_operator(size), is_one, "{size}");
        }
    }

    #[test]
    fn wide_characters_are_wide() {
        assert!(text_width("漢字", 10.0) >= 20.0);
        assert!(text_width("iiii", 10.0) < text_width("MMMM", 10.0));
        assert_eq!(text_width("", 12.0), 0.0);
    }
}
