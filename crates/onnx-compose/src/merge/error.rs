//! Why models were not merged.

use onnx_diag::{Diagnostic, Locus, Quoted, Sink};
use onnx_ir::{Cycle, EditError, Model};
use onnx_types::{Execution, Stopped};
use onnx_version::VersionError;

use crate::rules::COMPOSITION_REFUSED;

/// Maximum number of names that a message lists.
const MOST: usize = 8;

/// Why models were not merged. None of them is changed. Messages number the models from 1.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// No model is given.
    #[error("no model is given")]
    NoModels,
    /// A connection is impossible.
    #[error("{reason}")]
    Connection {
        /// The index of the connection.
        index: usize,
        /// The reason.
        reason: String,
    },
    /// A model cannot be merged with others.
    #[error("model {}: {reason}", number(.model))]
    Model {
        /// The index of the model.
        model: usize,
        /// The reason.
        reason: String,
    },
    /// A model cannot be raised to the version of an operator set that another model imports.
    #[error("model {} cannot be raised to version {version} of the operator set {domain}: {source}", number(.model))]
    Version {
        /// The index of the model.
        model: usize,
        /// The domain, quoted.
        domain: String,
        /// The version.
        version: i64,
        /// The reason.
        source: Box<VersionError>,
    },
    /// The merged model contradicts itself: sizes or types of a model do not fit those of another one.
    #[error("the models contradict each other: {reason}")]
    Contradiction {
        /// The first contradiction.
        reason: String,
    },
    /// A connected input depends on the value that is connected to it.
    #[error("the connections form a cycle: {0}")]
    Cycle(#[from] Cycle),
    /// The merged model would exceed a limit.
    #[error("the models have {count} {name} together, more than the limit `{name}` of {limit}")]
    Limit {
        /// The name of the limit.
        name: &'static str,
        /// The number that the merged model would have.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A part of a model cannot be copied.
    #[error("model {} cannot be copied: {source}", number(.model))]
    Import {
        /// The index of the model.
        model: usize,
        /// The reason.
        source: EditError,
    },
    /// No model has a dimension variable that all models must share.
    #[error("no model has the dimension variable {}{}", Quoted(.name), only(.known))]
    Dimension {
        /// The name.
        name: String,
        /// The dimension variables of the models.
        known: Vec<String>,
    },
    /// An edit of the merged model failed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// The variables that there are, as a part of a sentence.
fn only(known: &[String]) -> String {
    if known.is_empty() {
        return " or any other".to_owned();
    }
    let shown: Vec<String> = known.iter().take(MOST).map(|name| Quoted(name).to_string()).collect();
    let more = if known.len() > MOST { ", …" } else { "" };
    format!(", only {}{more}", shown.join(", "))
}

fn number(model: &usize) -> usize {
    model.saturating_add(1)
}

impl MergeError {
    /// The limit that would be exceeded.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Limit { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Diagnostics, and the index of the model of their loci.
    #[must_use]
    pub fn findings(&self, models: &[&Model]) -> (usize, Sink) {
        let mut sink = Sink::new();
        let of = match self {
            Self::Model { model, .. } | Self::Version { model, .. } | Self::Import { model, .. } => *model,
            _ => 0,
        };
        if let (Self::Version { source, .. }, Some(model)) = (self, models.get(of)) {
            sink.merge(source.findings(model));
        }
        if sink.is_empty() {
            let message = match (self, models.get(of)) {
                (Self::Import { model, source }, Some(part)) => {
                    format!("model {} cannot be copied: {}", number(model), source.show(part))
                }
                _ => self.to_string(),
            };
            sink.report(Diagnostic::new(&COMPOSITION_REFUSED, Locus::model(), message));
        }
        (of, sink)
    }
}

/// Refuses models that exceed limits together.
pub(super) fn check_limits(models: &[&Model], execution: &Execution) -> Result<(), MergeError> {
    execution.interrupt.check()?;
    let limits = &execution.limits;
    let sum = |count: fn(&Model) -> usize| {
        models.iter().fold(0_u64, |sum, model| sum.saturating_add(count(model) as u64))
    };
    let counts = [
        ("nodes", sum(Model::node_count), limits.nodes),
        ("values", sum(Model::value_count), limits.values),
        ("graphs", sum(Model::graph_count), limits.graphs),
        ("functions", sum(|model| model.functions().len()), limits.functions),
    ];
    match counts.into_iter().find(|&(_, count, limit)| count > limit) {
        Some((name, count, limit)) => Err(MergeError::Limit { name, count, limit }),
        None => Ok(()),
    }
}
