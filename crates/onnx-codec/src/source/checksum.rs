//! The digest that a model may state for a file of external data.

use onnx_types::tensor::{DataError, DataErrorReason, DataSource, ExternalData};
use sha1::{Digest, Sha1};

/// Number of bytes of a file that are hashed at once.
const STEP: u64 = 4 << 20;

/// The result of comparing a file with its stated digest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// The model states none.
    Absent,
    /// The file has the digest that the model states.
    Matches,
    /// The file has another digest.
    Differs {
        /// The digest that the model states.
        stated: String,
        /// The SHA-1 digest of the file in lower-case hexadecimal.
        found: String,
    },
}

/// Compares the file of some external data with the SHA-1 digest that the model states for it (specification, "External
/// Tensor Data", key `checksum`). The whole file is read, 4 MiB at a time; nothing else in this crate does this unasked.
///
/// ```
/// use onnx_codec::{Checksum, verify_checksum};
/// use onnx_types::tensor::{ExternalData, MemoryData};
///
/// let mut source = MemoryData::new();
/// source.insert("w", "abc");
/// let place = ExternalData::new("w").with_checksum("a9993e364706816aba3e25717850c26c9cd0d89d");
/// assert_eq!(verify_checksum(&place, &source), Ok(Checksum::Matches));
/// ```
///
/// # Errors
///
/// Returns an error if the entries are faulty, or the file cannot be read or is larger than the source admits.
pub fn verify_checksum(place: &ExternalData, source: &dyn DataSource) -> Result<Checksum, DataError> {
    let entry_error = |fault: onnx_types::tensor::ExternalFault| {
        let location = place.location().unwrap_or_default();
        DataError::of_file(location, DataErrorReason::Refused(fault.to_string()))
    };
    let location = place.location().map_err(entry_error)?;
    let Some(stated) = place.checksum().map_err(entry_error)? else { return Ok(Checksum::Absent) };
    let found = sha1_hex(location, source)?;
    Ok(if stated.eq_ignore_ascii_case(&found) {
        Checksum::Matches
    } else {
        Checksum::Differs { stated: stated.to_owned(), found }
    })
}

fn sha1_hex(location: &str, source: &dyn DataSource) -> Result<String, DataError> {
    let len = source.len(location)?;
    source.admit(location, len)?;
    let mut digest = Sha1::new();
    let mut offset = 0;
    while offset < len {
        let step = STEP.min(len.saturating_sub(offset));
        digest.update(source.read(location, offset, Some(step))?);
        offset = offset.saturating_add(step);
    }
    Ok(hex(&digest.finalize()))
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
