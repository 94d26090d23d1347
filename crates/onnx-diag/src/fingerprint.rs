//! Fingerprints of diagnostics, by which baselines and code hosts recognize them in later versions of a model.

use crate::diagnostic::Diagnostic;
use crate::locus::LocusStep;

/// Version of the algorithm, the first part of a fingerprint.
const VERSION: u32 = 1;

/// The fingerprint of a diagnostic: the rule and the names along the path, without positions, bytes and the path of the
/// file, so that it survives reordering.
pub(crate) fn fingerprint(found: &Diagnostic) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.text(&found.rule.id().to_string());
    for step in found.locus.steps() {
        match step {
            LocusStep::Graph { name } => hash.words("graph", [name.as_str()]),
            LocusStep::Function { domain, name, overload } => {
                hash.words("function", [domain.as_str(), name.as_str(), overload.as_str()]);
            }
            LocusStep::Node { op, name, .. } => hash.words("node", [op.as_str(), name.as_str()]),
            LocusStep::Input { name, .. } => hash.words("input", [name.as_str()]),
            LocusStep::Output { name, .. } => hash.words("output", [name.as_str()]),
            LocusStep::Attribute { name } => hash.words("attribute", [name.as_str()]),
            LocusStep::Initializer { name } => hash.words("initializer", [name.as_str()]),
            LocusStep::SparseInitializer { name } => hash.words("sparse-initializer", [name.as_str()]),
            LocusStep::Value { name } => hash.words("value", [name.as_str()]),
            LocusStep::ValueInfo { name } => hash.words("value-info", [name.as_str()]),
            LocusStep::QuantizationAnnotation { name } => hash.words("annotation", [name.as_str()]),
            LocusStep::Tensor { name } => hash.words("tensor", [name.as_str()]),
            LocusStep::Type => hash.words("type", []),
            LocusStep::Dimension { .. } => hash.words("dimension", []),
            LocusStep::Element { .. } => hash.words("element", []),
            LocusStep::OpsetImport { domain } => hash.words("opset-import", [domain.as_str()]),
            LocusStep::Metadata { key } => hash.words("metadata", [key.as_str()]),
            LocusStep::TrainingInfo { .. } => hash.words("training-info", []),
            LocusStep::DeviceConfiguration { name } => hash.words("device-configuration", [name.as_str()]),
            LocusStep::Field { name } => hash.words("field", [name.as_str()]),
        }
    }
    format!("{VERSION}:{:016x}", hash.0)
}

/// The 64-bit hash FNV-1a, which gives the same number on every platform.
struct Fnv(u64);

impl Fnv {
    fn words<const N: usize>(&mut self, kind: &str, names: [&str; N]) {
        self.text(kind);
        names.into_iter().for_each(|name| self.text(name));
    }

    /// A text and a byte that is not in UTF-8, so that texts do not run into each other.
    fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
