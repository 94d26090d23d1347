//! Operator set documents in use: from a document to the operators it declares, and back.
//!
//! The message has no place for signatures. They come from a companion, the same operator set as JSON
//! (`onnx_formats::signatures_to_json`), and where that says nothing, from the function bodies of the document: a body tells how many
//! inputs and outputs a call can have and which attributes, but not which of them a call needs, nor their types. Of an
//! operator with neither, only its existence and versions are known. `docs/operator-sets.md` describes both files.
//!
//! ```
//! use onnx_codec::{DecodeOptions, EncodeOptions, decode_operator_set, encode_operator_set, operator_set};
//! use onnx_schema::OperatorSet;
//!
//! // The operators of classical machine learning at version 3, as a document and its companion.
//! let set = OperatorSet::standard("ai.onnx.ml", 3).expect("ONNX has this set");
//! let document = operator_set::document(&set)?;
//! let bytes = encode_operator_set(&document, &EncodeOptions::default())?.into_bytes();
//! let json = onnx_formats::signatures_to_json(&set)?;
//!
//! // And back.
//! let document = decode_operator_set(bytes, &DecodeOptions::default())?.document;
//! let signatures = onnx_formats::signatures_from_json(&json)?;
//! assert_eq!(operator_set::declared(&document, Some(&signatures))?, set);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_ir::{FunctionId, Model, OperatorEntry, OperatorSetDocument};
use onnx_proto::field::{operator, operator_set};
use onnx_proto::wire::Writer;
use onnx_schema::{
    DeclareError, DeclaredFormal, DeclaredSchema, DeclaredType, Differentiation, FormalOption,
    LATEST_IR_VERSION, OperatorSet, SupportLevel,
};

use crate::decode::{DecodeOptions, decode_operator_set};
use crate::encode::{EncodeOptions, functions};
use crate::error::{DecodeError, EncodeError};

/// Why a document declares no operator set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorSetError {
    /// A declaration contradicts itself or another one.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// A function body cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The companion is that of another operator set.
    #[error(
        "the signatures are those of version {found_version} of `{found}`, and the document has version {version} of `{domain}`"
    )]
    OtherSet {
        /// The domain of the document.
        domain: String,
        /// The version of the document.
        version: i64,
        /// The domain of the companion.
        found: String,
        /// The version of the companion.
        found_version: i64,
    },
}

/// The operators that a document declares, with the signatures of its companion, if it has one.
///
/// An operator that the document does not list is none of the set's, whatever the companion says.
///
/// # Errors
///
/// Returns an error if the declarations contradict each other: an operator is listed twice, is newer than the set, or
/// has no name. The rules of the checker report all such defects at once, with their loci.
pub fn declared(
    document: &OperatorSetDocument,
    signatures: Option<&OperatorSet>,
) -> Result<OperatorSet, OperatorSetError> {
    let mut set = OperatorSet::new(document.str(document.domain), document.opset_version);
    if let Some(found) =
        signatures.filter(|found| (found.domain(), found.version()) != (set.domain(), set.version()))
    {
        return Err(OperatorSetError::OtherSet {
            domain: set.domain().to_owned(),
            version: set.version(),
            found: found.domain().to_owned(),
            found_version: found.version(),
        });
    }
    let signed = signatures.map(OperatorSet::operators).unwrap_or_default();
    let signed: HashMap<&str, &DeclaredSchema, RandomState> =
        signed.iter().map(|schema| (schema.name(), schema)).collect();
    let mut bodies: HashMap<&str, Body, RandomState> = HashMap::default();
    for (id, bytes) in functions(&document.functions, &EncodeOptions::default())? {
        let name = document.str(document.functions.function(id).name());
        bodies.entry(name).or_insert(Body { id, bytes });
    }
    for entry in &document.operators {
        let name = document.str(entry.name);
        let schema = schema_of(document, entry, signed.get(name).copied(), bodies.remove(name));
        set.add_schema(schema)?;
    }
    // The format has no version for individual functions: one without an entry came with the set itself.
    for &id in document.functions.functions() {
        let record = document.functions.function(id);
        if let Some(body) = bodies.remove(document.str(record.name())) {
            let entry = OperatorEntry {
                name: record.name(),
                since_version: document.opset_version,
                status: OperatorEntry::STABLE,
                ..OperatorEntry::default()
            };
            let signature = signed.get(document.str(entry.name)).copied();
            set.add_schema(schema_of(document, &entry, signature, Some(body)))?;
        }
    }
    Ok(set)
}

/// A function of a document.
struct Body {
    id: FunctionId,
    bytes: Bytes,
}

fn schema_of(
    document: &OperatorSetDocument,
    entry: &OperatorEntry,
    signature: Option<&DeclaredSchema>,
    body: Option<Body>,
) -> DeclaredSchema {
    let name = document.str(entry.name);
    let mut schema = DeclaredSchema::empty(document.str(document.domain), name, entry.since_version);
    if let Some(signature) = signature.filter(|found| found.since_version() == entry.since_version) {
        schema = signature.clone();
        schema.bodies.clear();
    } else if let Some(body) = &body {
        body::signature(&mut schema, &document.functions, body.id);
    } else {
        schema.inputs.push(anything("inputs"));
        schema.outputs.push(anything("outputs"));
        schema.allows_unchecked_attributes = true;
    }
    schema.support = if entry.status == OperatorEntry::EXPERIMENTAL {
        SupportLevel::Experimental
    } else {
        SupportLevel::Common
    };
    if let Some(body) = body {
        let version = body::version(document, body.id);
        schema.bodies.push((version, body.bytes.to_vec().into()));
    }
    schema
}

/// A formal that takes whatever there is.
fn anything(name: &str) -> DeclaredFormal {
    DeclaredFormal {
        name: name.to_owned(),
        ty: DeclaredType::Any,
        option: FormalOption::Variadic,
        min_arity: 0,
        is_homogeneous: false,
        differentiation: Differentiation::Unknown,
    }
}

/// An operator set as a document: every operator with its version and status, and the function bodies that are in force.
/// The signatures go to a companion: `onnx_formats::signatures_to_json`.
///
/// # Errors
///
/// Returns an error if a function body of the set is not a `FunctionProto`.
pub fn document(set: &OperatorSet) -> Result<OperatorSetDocument, DecodeError> {
    let entries = set.operators().iter().map(|schema| {
        let is_stable = schema.support == SupportLevel::Common;
        let status = if is_stable { OperatorEntry::STABLE } else { OperatorEntry::EXPERIMENTAL };
        (schema.name(), schema.since_version(), status)
    });
    let bodies = set.operators().iter().filter_map(|schema| schema.function_body(set.version()));
    assembled(set.domain(), set.version(), entries, bodies)
}

/// The functions that a model has in a domain as a document, all of them stable and as old as the set. Of several
/// overloads the first one counts: operators have none.
///
/// # Errors
///
/// Returns an error if a function cannot be written, or is too large to be read again.
pub fn document_of_functions(
    model: &Model,
    domain: &str,
    version: i64,
) -> Result<OperatorSetDocument, Box<dyn std::error::Error + Send + Sync>> {
    let of_domain: Vec<(FunctionId, Bytes)> = functions(model, &EncodeOptions::default())?
        .into_iter()
        .filter(|&(id, _)| {
            let record = model.function(id);
            model.str(record.domain()) == domain && record.overload().is_empty()
        })
        .collect();
    let entries = of_domain
        .iter()
        .map(|&(id, _)| (model.str(model.function(id).name()), version, OperatorEntry::STABLE));
    let bodies = of_domain.iter().map(|(_, bytes)| &**bytes);
    Ok(assembled(domain, version, entries, bodies)?)
}

/// A document of entries and serialized functions.
fn assembled<'a>(
    domain: &str,
    version: i64,
    entries: impl Iterator<Item = (&'a str, i64, i64)>,
    bodies: impl Iterator<Item = &'a [u8]>,
) -> Result<OperatorSetDocument, DecodeError> {
    let mut writer = Writer::with_capacity(1024);
    writer.string(operator_set::MAGIC, OperatorSetDocument::MAGIC);
    writer.int64(operator_set::IR_VERSION, LATEST_IR_VERSION);
    writer.string(operator_set::DOMAIN, domain);
    writer.int64(operator_set::OPSET_VERSION, version);
    for (name, since, status) in entries {
        writer.message(operator_set::OPERATOR, |writer| {
            writer.string(operator::OP_TYPE, name);
            writer.int64(operator::SINCE_VERSION, since);
            writer.int64(operator::STATUS, status);
        });
    }
    for body in bodies {
        writer.slice(operator_set::FUNCTIONS, body);
    }
    Ok(decode_operator_set(writer.finish().into_bytes(), &DecodeOptions::default())?.document)
}
