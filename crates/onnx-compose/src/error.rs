//! Why an operation was refused.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use onnx_diag::{Diagnostic, Sink};
use onnx_ir::{Cycle, EditError, Model, Places, ValueId};
use onnx_types::Stopped;

use crate::rename::NameCollision;
use crate::rules::{BOUNDARY_TYPE_UNKNOWN, COMPOSITION_REFUSED, NAMES_COLLIDE, PATH_NOT_CUT};
use crate::sizes::FixedSize;

/// Maximum number of values of a path that a message lists; the middle of longer ones is left out.
const MAX_PATH: usize = 12;

/// A path to an output that no given input cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uncovered {
    /// The input of the graph, or the value that nothing defines, where the path begins.
    pub input: ValueId,
    /// The names of the values from the beginning to an output.
    pub path: Vec<String>,
}

impl std::fmt::Display for Uncovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.path.first().map_or("", String::as_str);
        write!(f, "an output depends on `{first}`, which is not cut off: ")?;
        let half = MAX_PATH / 2;
        let omitted = self.path.len().saturating_sub(MAX_PATH);
        for (index, name) in self.path.iter().enumerate() {
            if omitted > 0 && (half..half + omitted).contains(&index) {
                if index == half {
                    write!(f, " -> … ({omitted} more)")?;
                }
                continue;
            }
            f.write_str(if index == 0 { "" } else { " -> " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// Why an operation was refused. The models are unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Some paths to outputs are not cut by the inputs.
    #[error("{}{}", first(.0), more(.0.len()))]
    Uncovered(Vec<Uncovered>),
    /// Values that become inputs or outputs have no known types: their names.
    #[error("the type of `{}` is not known{}", first(.1), more(.1.len()))]
    UnknownType(Vec<ValueId>, Vec<String>),
    /// Elements would have the names of others: all of them.
    #[error("{}{}", first(.0), more(.0.len()))]
    Collisions(Vec<NameCollision>),
    /// The model works for other sizes only: all reasons that were found.
    #[error("{}{}", first(.0), more(.0.len()))]
    FixedSizes(Vec<FixedSize>),
    /// The request contradicts the model: the reason, and a value that it is about.
    #[error("{0}")]
    Refused(String, Option<ValueId>),
    /// Like [`Refused`](Self::Refused), with what to do about it.
    #[error("{0}")]
    Advised(String, Option<ValueId>, &'static str),
    /// The nodes of the graph depend on each other in a cycle.
    #[error("the nodes cannot be sorted: {0}")]
    Cycle(#[from] Cycle),
    /// The work was interrupted. The model is unchanged, unless [`extract`](crate::extract) had begun to remove nodes.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// An edit of the graph is impossible, because a key is of another model or was erased.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl ComposeError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into(), None)
    }

    /// Diagnostics with loci in the model, which is unchanged.
    #[must_use]
    pub fn findings(&self, model: &Model) -> Sink {
        let (places, mut sink) = (Places::new(model), Sink::new());
        let locus = |value: Option<ValueId>| match value.filter(|&value| model.get_value(value).is_some()) {
            Some(value) => places.definition(value),
            None => onnx_diag::Locus::model(),
        };
        match self {
            Self::Uncovered(paths) => {
                for path in paths {
                    let found = Diagnostic::new(&PATH_NOT_CUT, locus(Some(path.input)), path.to_string());
                    sink.report(found.help("name a value on the path as an input"));
                }
            }
            Self::UnknownType(values, names) => {
                for (&value, name) in values.iter().zip(names) {
                    let message = format!("the type of `{name}` is not known");
                    let found = Diagnostic::new(&BOUNDARY_TYPE_UNKNOWN, locus(Some(value)), message);
                    sink.report(found.help("declare the type in `value_info`, or cut elsewhere"));
                }
            }
            Self::Collisions(collisions) => {
                for (collision, others) in by_new_name(collisions) {
                    let node = collision.node.filter(|&node| model.get_node(node).is_some());
                    let locus = node.map_or_else(|| locus(collision.value), |node| places.node(node));
                    let mut message = collision.to_string();
                    if others > 0 {
                        let plural = if others == 1 { "" } else { "s" };
                        let _ = write!(message, ", and so would {others} more {}{plural}", collision.kind);
                    }
                    let found = Diagnostic::new(&NAMES_COLLIDE, locus, message);
                    sink.report(found.help("choose another name, or rename both in one request"));
                }
            }
            Self::FixedSizes(fixed) => FixedSize::report(fixed, model, &mut sink),
            Self::Refused(reason, value) => {
                sink.report(Diagnostic::new(&COMPOSITION_REFUSED, locus(*value), reason.clone()));
            }
            Self::Advised(reason, value, help) => {
                let found = Diagnostic::new(&COMPOSITION_REFUSED, locus(*value), reason.clone());
                sink.report(found.help(*help));
            }
            Self::Edit(error) => {
                sink.report(Diagnostic::new(
                    &COMPOSITION_REFUSED,
                    locus(None),
                    error.show(model).to_string(),
                ));
            }
            other => {
                sink.report(Diagnostic::new(&COMPOSITION_REFUSED, locus(None), other.to_string()));
            }
        }
        sink
    }
}

/// The first collision of each new name, with the number of other elements that would have it.
fn by_new_name(collisions: &[NameCollision]) -> Vec<(&NameCollision, usize)> {
    let mut positions: HashMap<(&str, &str), usize> = HashMap::new();
    let mut seen: HashSet<(&str, &str, &str)> = HashSet::new();
    let mut groups: Vec<(&NameCollision, usize)> = Vec::new();
    for collision in collisions {
        let NameCollision { kind, old, new, .. } = collision;
        let position = *positions.entry((kind, new)).or_insert(groups.len());
        let is_other = seen.insert((kind, new, old));
        match groups.get_mut(position) {
            Some((_, others)) => *others = others.saturating_add(usize::from(is_other)),
            None => groups.push((collision, 0)),
        }
    }
    groups
}

fn first(items: &[impl ToString]) -> String {
    items.first().map(ToString::to_string).unwrap_or_default()
}

fn more(count: usize) -> String {
    if count < 2 { String::new() } else { format!(" (and {} more)", count.saturating_sub(1)) }
}
