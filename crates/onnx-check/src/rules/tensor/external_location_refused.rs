//! The rule `external-location-refused`: external data is at a location that readers do not open.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_types::tensor::Payload;

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2511,
    "external-location-refused",
    Severity::Error,
    "External data is at a location that readers do not open.",
)
.with_spec("IR: External Tensor Data")
.with_reference(Reference::Partly)
.with_explain(include_str!("external_location_refused.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    let Payload::External(external) = cx.tensor.payload() else { return };
    for entry in external.entries().iter().filter(|entry| entry.key == *"location") {
        // That a location is empty is said with the other entries.
        let Some(refusal) = refusal(&entry.value) else { continue };
        cx.report(&RULE, |places| {
            let message = format!("the location {} {}", Quoted(&entry.value), refusal.why);
            Diagnostic::new(&RULE, place.locate(places).field("external_data"), message)
                .help("write the path of a file in the directory of the model or below, relative to that directory")
                .beyond_reference(refusal.is_accepted)
        });
    }
}

/// Why a location is refused.
struct Refusal {
    why: &'static str,
    /// Whether the reference opens it anyway.
    is_accepted: bool,
}

fn refusal(location: &str) -> Option<Refusal> {
    let refuse = |why| Some(Refusal { why, is_accepted: false });
    let accept = |why| Some(Refusal { why, is_accepted: true });
    if location.is_empty() {
        return None;
    }
    if location.starts_with('/') {
        return refuse("is absolute");
    }
    // The reference cancels `..` against the directory before it.
    let mut left: Vec<&str> = Vec::new();
    for component in location.split('/').filter(|component| !matches!(*component, "" | ".")) {
        match (component, left.last()) {
            ("..", Some(&directory)) if directory != ".." => {
                left.pop();
            }
            _ => left.push(component),
        }
    }
    if left.first() == Some(&"..") {
        return refuse("leaves the directory of the model");
    }
    if left.iter().any(|component| component.contains("..")) {
        return refuse("contains `..`, which readers refuse even inside a name");
    }
    if left.is_empty() || location.ends_with('/') || location.ends_with("/.") || location.ends_with("/..") {
        return refuse("is not a file");
    }
    if location.contains('\0') {
        return refuse("contains a NUL character");
    }
    if location.starts_with('\\')
        || matches!(location.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
    {
        return accept("is absolute on some systems");
    }
    if location.split(['/', '\\']).any(|component| component == "..") {
        return accept("contains the component `..`, which strict readers refuse");
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reference_cancels_directories() {
        let is_accepted = |location| super::refusal(location).unwrap().is_accepted;
        assert!(is_accepted("a/../w.bin") && is_accepted("C:w.bin"));
        assert!(!is_accepted("a/../../w.bin") && !is_accepted("..w.bin") && !is_accepted("..\\w.bin"));
    }
}
