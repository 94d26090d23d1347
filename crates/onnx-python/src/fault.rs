//! Errors on their way from the library to Python.

use onnxkit::diag::{Diagnostic, Sink};
use onnxkit::types::{Limits, Stopped};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::json::to_py;

/// An error with the name of its class in `onnxkit._errors`, and the findings that it carries.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) class: &'static str,
    pub(crate) message: String,
    pub(crate) findings: Vec<Value>,
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// The class of Python for memory that is refused, which carries no findings.
const MEMORY: &str = "MemoryError";

impl Fault {
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), findings: Vec::new() }
    }

    /// An error of an edit.
    pub(crate) fn edit(message: impl ToString) -> Self {
        Self::new("EditError", message.to_string())
    }

    /// A handle whose element is not in the model any more.
    pub(crate) fn stale(what: &str) -> Self {
        Self::new("StaleHandleError", format!("this {what} was erased from its model"))
    }

    /// An argument that has no meaning.
    pub(crate) fn argument(message: impl ToString) -> Self {
        Self::new("ArgumentError", message.to_string())
    }

    /// Memory that the system refuses.
    pub(crate) fn memory(error: impl ToString) -> Self {
        Self::new(MEMORY, error.to_string())
    }

    /// An error of a class with its findings; the first one is its message.
    pub(crate) fn of_findings(class: &'static str, what: &str, sink: &Sink) -> Self {
        let message = match sink.diagnostics() {
            [] => what.to_owned(),
            [one] => format!("{what}: {}: {}", one.locus, one.message),
            [first, rest @ ..] => {
                format!("{what}: {}: {} (and {} more)", first.locus, first.message, rest.len())
            }
        };
        Self { class, message, findings: sink.diagnostics().iter().map(finding).collect() }
    }

    /// An error of the class for an exceeded limit if there is one, of `class` otherwise.
    pub(crate) fn limited(class: &'static str, limit: Option<&str>, error: impl ToString) -> Self {
        match limit {
            Some(Limits::MEMORY) => Self::memory(error),
            Some(name) => Self::new(
                "LimitError",
                format!("{}; `limits={{\"{name}\": N}}` allows more", error.to_string()),
            ),
            None => Self::new(class, error.to_string()),
        }
    }
}

impl From<Stopped> for Fault {
    fn from(stopped: Stopped) -> Self {
        Self::new("Stopped", stopped.to_string())
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| raise(py, &fault).unwrap_or_else(|error| error))
    }
}

fn raise(py: Python<'_>, fault: &Fault) -> PyResult<PyErr> {
    if fault.class == MEMORY {
        return Ok(PyMemoryError::new_err(fault.message.clone()));
    }
    let class = py.import("onnxkit._errors")?.getattr(fault.class)?;
    let findings = to_py(py, &Value::Array(fault.findings.clone()))?;
    let error = class.call1((fault.message.as_str(), findings))?;
    Ok(PyErr::from_value(error))
}

/// The error for a panic, which is a defect of the library.
pub(crate) fn bug(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    let message = format!("a defect of onnxkit, please report it: {text}");
    Python::attach(|py| {
        raise(py, &Fault::new("BugError", message.clone()))
            .unwrap_or_else(|_| PyRuntimeError::new_err(message))
    })
}

/// A diagnostic as Python sees it.
pub(crate) fn finding(diagnostic: &Diagnostic) -> Value {
    json!({
        "rule": diagnostic.rule.id().to_string(),
        "slug": diagnostic.rule.slug,
        "severity": diagnostic.severity.as_str(),
        "message": diagnostic.message,
        "place": diagnostic.locus.to_string(),
        "selector": diagnostic.locus.selector(),
        "help": diagnostic.help,
        "notes": diagnostic.notes,
    })
}

/// All diagnostics of a list.
pub(crate) fn findings(sink: &Sink) -> Vec<Value> {
    sink.diagnostics().iter().map(finding).collect()
}
