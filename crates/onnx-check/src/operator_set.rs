//! Checking operator set documents.

use std::ops::{Deref, DerefMut};

use onnx_diag::Sink;
use onnx_ir::OperatorSetDocument;

use crate::cx::{Cx, leads_to_cx};
use crate::options::{CheckOptions, Part, Profile};
use crate::rules::operator_set::ENTRIES;
use crate::run;

/// An operator set document.
pub(crate) struct OperatorSetCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) document: &'a OperatorSetDocument,
}

leads_to_cx!(OperatorSetCx);

/// Reports every defect of an operator set document: in its descriptions of operators, and in the bodies of its
/// functions. The reference does not support such documents, so all diagnostics are beyond the reference.
///
/// Bodies may call operators of the document that are not functions of it. They are known if the registry of the
/// options contains them.
///
/// ```
/// use onnx_check::{CheckOptions, check_operator_set};
/// use onnx_ir::{OperatorEntry, OperatorSetDocument};
///
/// let mut document = OperatorSetDocument::new("com.acme", 2);
/// let name = document.functions.intern("Frob");
/// document.operators.push(OperatorEntry { name, since_version: 3, status: 1, ..OperatorEntry::default() });
///
/// let findings = check_operator_set(&document, &CheckOptions::default());
/// let [found] = findings.diagnostics() else { panic!("one thing is wrong") };
/// assert_eq!(found.rule.slug, "operator-version-out-of-range");
/// ```
///
/// # Panics
///
/// When the arenas of the functions do not fit together: see [`Model::verify`](onnx_ir::Model::verify). No file makes such
/// a document.
#[must_use]
pub fn check_operator_set(document: &OperatorSetDocument, options: &CheckOptions) -> Sink {
    // No model exists whose operator sets could differ from those of the functions.
    let options = options.clone().with_profile(Profile::Spec).with_opset_compatibility(false);
    let mut cx = Cx::new(&document.functions, Part::Model, &options);
    cx.is_unchecked = true;
    for entry in ENTRIES {
        (entry.check)(&mut OperatorSetCx { cx: &mut cx, document });
    }
    run::functions(&document.functions, &options, cx.sink)
}
