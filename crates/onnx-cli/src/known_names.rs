//! Names that an argument takes and a model does not have: what to write instead.

use crate::output::shown;

/// Maximum number of names in a help.
const MOST: usize = 20;

/// The nearest of the names that exist, or else all of them in a sentence that `list` makes; `none` if there are none.
pub(crate) fn advice(name: &str, known: &[&str], none: &str, list: impl FnOnce(&str) -> String) -> String {
    if let Some(near) = onnx_schema::nearest(name, known.iter().copied()) {
        return format!("did you mean `{}`?", shown(near));
    }
    if known.is_empty() {
        return none.to_owned();
    }
    list(&listed(known, MOST))
}

/// The first names, in a row.
pub(crate) fn listed(known: &[&str], most: usize) -> String {
    let mut names: Vec<String> = known.iter().take(most).map(|name| format!("`{}`", shown(name))).collect();
    let more = known.len().saturating_sub(most);
    names.extend((more > 0).then(|| format!("and {more} more")));
    names.join(", ")
}

/// The advice for the name of an input or output (`kind`) that a model does not have.
pub(crate) fn of_ports(name: &str, known: &[&str], kind: &str) -> String {
    advice(name, known, &format!("the model has no {kind}s"), |names| format!("the {kind}s are {names}"))
}
