//! The known name that is nearest to a misspelled one, for help texts.

use onnx_types::ElemType;

use crate::facts::Schema;
use crate::generated::names::NAMES;
use crate::lookup::operators;

/// A longer name is not a misspelled operator name; this bounds the work for any input.
const LONGEST: usize = 64;

/// The operator name that `name` is most probably a misspelling of; `None` when nothing is near, or `name` is itself the
/// name of an operator.
///
/// ```
/// assert_eq!(onnx_schema::suggest_op("relu"), Some("Relu"));
/// assert_eq!(onnx_schema::suggest_op("BatchNormalisation"), Some("BatchNormalization"));
/// assert_eq!(onnx_schema::suggest_op("FusedConv"), None);
/// ```
#[must_use]
pub fn suggest_op(name: &str) -> Option<&'static str> {
    nearest(name, operators().filter_map(|versions| versions.first()).map(Schema::name))
}

/// The attribute of `schema` that `name` is most probably a misspelling of; `None` when nothing is near, or the operator
/// declares an attribute of that name.
#[must_use]
pub fn suggest_attribute(schema: &Schema, name: &str) -> Option<&'static str> {
    let names = schema.attributes().iter().filter_map(|attribute| NAMES.get(attribute.name.index() as usize));
    nearest(name, names.copied())
}

/// The name of a type, as in ONNX text, that `name` is in other systems, or most probably a misspelling of; `None` when nothing is near,
/// or `name` is itself one.
///
/// ```
/// assert_eq!(onnx_schema::suggest_type("float32"), Some("float"));
/// assert_eq!(onnx_schema::suggest_type("flaot16"), Some("float16"));
/// assert_eq!(onnx_schema::suggest_type("int64"), None);
/// ```
#[must_use]
pub fn suggest_type(name: &str) -> Option<&'static str> {
    /// Names in other systems, the nearest of which would often be another type.
    const OTHERS: [(&str, &str); 12] = [
        ("float32", "float"),
        ("fp32", "float"),
        ("f32", "float"),
        ("float64", "double"),
        ("fp64", "double"),
        ("f64", "double"),
        ("fp16", "float16"),
        ("half", "float16"),
        ("bf16", "bfloat16"),
        ("int", "int64"),
        ("long", "int64"),
        ("boolean", "bool"),
    ];
    /// The types that hold others.
    const CONTAINERS: [&str; 4] = ["seq", "map", "optional", "sparse_tensor"];
    let other = OTHERS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
    other
        .map(|&(_, name)| name)
        .or_else(|| nearest(name, ElemType::all().map(ElemType::name).chain(CONTAINERS)))
}

/// The candidate that `name` is most probably a misspelling of: the one with the fewest edits, of several the first;
/// capitals do not count as edits. `None` when nothing is near, or `name` is itself a candidate.
///
/// ```
/// assert_eq!(onnx_schema::nearest("imput", ["output", "input"].into_iter()), Some("input"));
/// ```
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted: Vec<char> = name.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    // A third of the name may be wrong, and no more than three letters.
    let allowed = (wanted.len() / 3).min(3);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        if candidate == name {
            return None;
        }
        if candidate.len().abs_diff(name.len()) > 4 * (allowed + wanted.len()) {
            // No need to read a long name: a letter has at most four bytes.
            continue;
        }
        let letters: Vec<char> = candidate.chars().map(|letter| letter.to_ascii_lowercase()).collect();
        if letters.len().abs_diff(wanted.len()) > allowed {
            continue;
        }
        let distance = edit_distance(&wanted, &letters);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number of letters to insert, delete, replace or exchange with their neighbors that make `from` into `to`.
fn edit_distance(from: &[char], to: &[char]) -> usize {
    // The distances of the beginnings of `from` that are two letters and one letter shorter to those of `to`.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let mut least = last[column] + usize::from(letter != other);
            least = least.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && letter == &to[column - 1] && &from[row - 1] == other {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let distance =
            |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("ab", "ba", 1),
            ("flaot", "float", 1),
            ("abcd", "bacx", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        for (name, expected) in [
            ("Relu", None),
            ("RELU", Some("Relu")),
            ("Matmul", Some("MatMul")),
            ("Convolution", None),
            ("Softmaxx", Some("Softmax")),
            ("", None),
            ("\u{1F600}", None),
            ("ReduceSumm", Some("ReduceSum")),
        ] {
            assert_eq!(suggest_op(name), expected, "{name}");
        }
        assert_eq!(suggest_op(&"A".repeat(1_000_000)), None);
        let conv = crate::lookup_by_name("", "Conv", 11).unwrap();
        assert_eq!(suggest_attribute(conv, "kernelshape"), Some("kernel_shape"));
        assert_eq!(suggest_attribute(conv, "pads"), None);
    }
}
