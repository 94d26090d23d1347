//! Results of inlining for reports: by function, and as diagnostics.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_ir::{Model, Places};
use onnx_types::Symbol;

use crate::inline::{InlineError, Inlined, identity};
use crate::rules;

/// The results of the calls of one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlinedFunction {
    /// The domain, name and overload of the function.
    pub function: (Symbol, Symbol, Symbol),
    /// Number of calls that were inlined, each copy of a call counted.
    pub inlined: usize,
    /// Number of nodes that replaced these calls; calls that were inlined in turn are included.
    pub nodes: u64,
    /// The calls that were not inlined, as indices of [`Inlined::calls`].
    pub kept: Vec<usize>,
}

impl Inlined {
    /// The results by function, in the order of the first call of each.
    #[must_use]
    pub fn by_function(&self) -> Vec<InlinedFunction> {
        let mut indices: HashMap<(Symbol, Symbol, Symbol), usize, RandomState> = HashMap::default();
        let mut functions: Vec<InlinedFunction> = Vec::new();
        for (index, call) in self.calls.iter().enumerate() {
            let at = *indices.entry(call.function).or_insert_with(|| {
                functions.push(InlinedFunction {
                    function: call.function,
                    inlined: 0,
                    nodes: 0,
                    kept: Vec::new(),
                });
                functions.len() - 1
            });
            let Some(function) = functions.get_mut(at) else { continue };
            match call.result {
                Ok(nodes) => {
                    function.inlined += 1;
                    function.nodes = function.nodes.saturating_add(nodes as u64);
                }
                Err(_) => function.kept.push(index),
            }
        }
        functions
    }

    /// The calls that were not inlined, as diagnostics of the rule `call-not-inlined`, at the loci of the calls in the
    /// model that was edited; and the nodes that have the name of a function and call a standard operator.
    #[must_use]
    pub fn findings(&self, model: &Model) -> Sink {
        let (places, mut sink) = (Places::new(model), Sink::new());
        for (call, reason) in self.kept() {
            sink.report_with(&rules::CALL_NOT_INLINED, || {
                let locus = match model.get_node(call.node) {
                    Some(_) => places.node(call.node),
                    None => Locus::model(),
                };
                let (domain, name, overload) = call.function;
                let function = identity(model, domain, name, overload);
                let message = format!("a call of {function} stays: {reason}");
                let found = Diagnostic::new(&rules::CALL_NOT_INLINED, locus, message);
                match call.parent {
                    None => found,
                    Some(_) => found.note(format!("it took the place of calls: {}", self.path(call, model))),
                }
            });
        }
        for &node in self.shadowed.iter().filter(|&&node| model.get_node(node).is_some()) {
            sink.report_with(&rules::CALL_NOT_INLINED, || {
                let op = onnx_diag::Quoted(model.str(model.node(node).op()));
                let message =
                    format!("a node calls the standard operator {op}, and not the function of this name");
                Diagnostic::new(&rules::CALL_NOT_INLINED, places.node(node), message)
                    .help("give the function a name or a domain that no standard operator has")
            });
        }
        sink
    }
}

impl InlineError {
    /// The diagnostic for functions that call themselves; `None` for a limit or an interrupt, which are not defects of the model.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            Self::Recursive { .. } => Some(
                Diagnostic::new(&rules::INLINING_DOES_NOT_END, Locus::model(), self.to_string())
                    .help("do not select one of them"),
            ),
            Self::TooLarge { .. } | Self::Stopped(_) => None,
        }
    }

    /// The name of the limit that the result would exceed.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { limit, .. } => Some(limit),
            Self::Recursive { .. } | Self::Stopped(_) => None,
        }
    }
}
