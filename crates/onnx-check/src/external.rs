//! External data, gathered while tensors are visited and checked file by file when all are known.

use std::fmt::Write;
use std::sync::Arc;

use onnx_types::tensor::{DataError, DataSource, Payload, Tensor};
use onnx_types::{Interrupt, Stopped};
use sha1::{Digest, Sha1};

use crate::cx::{Cx, ExternalCx, TensorPlace};
use crate::rules::external;

/// The files of external data, as [`CheckOptions::external`](crate::CheckOptions::external) gives them to the checker.
///
/// ```
/// use onnx_check::{CheckOptions, ExternalFiles};
/// use onnx_types::tensor::MemoryData;
///
/// let mut files = MemoryData::new();
/// files.insert("weights.bin", vec![0; 4096]);
/// let external = Some(ExternalFiles::new(files).with_digests());
/// let options = CheckOptions::default().with_external(external);
/// assert!(options.external.is_some());
/// ```
#[derive(Clone)]
pub struct ExternalFiles {
    source: Arc<dyn DataSource>,
    digests: bool,
}

impl ExternalFiles {
    /// The files of this source. Their sizes are compared with what the model says.
    #[must_use]
    pub fn new(source: impl DataSource + 'static) -> Self {
        Self { source: Arc::new(source), digests: false }
    }

    /// The same; files for which the model states a digest are read and compared with it.
    #[must_use]
    pub fn with_digests(mut self) -> Self {
        self.digests = true;
        self
    }

    /// What reads the files.
    #[must_use]
    pub fn source(&self) -> &dyn DataSource {
        self.source.as_ref()
    }

    /// Whether files are compared with the digests that the model states.
    #[must_use]
    pub const fn digests(&self) -> bool {
        self.digests
    }
}

impl std::fmt::Debug for ExternalFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalFiles").field("digests", &self.digests).finish_non_exhaustive()
    }
}

/// The elements of one tensor in another file.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) location: &'a str,
    pub(crate) place: TensorPlace,
    pub(crate) offset: u64,
    /// The number of bytes, as far as the entries, or else type and dimensions, say it.
    pub(crate) length: Option<u64>,
    /// The digest that is stated for the file.
    pub(crate) checksum: Option<&'a str>,
    /// Whether the reference does not check the tensor.
    pub(crate) is_unchecked: bool,
}

/// The beginning of the location that `onnx weights strip` writes in the place of weights.
const STRIPPED: &str = "stripped-weights";

impl<'a> Piece<'a> {
    /// Returns `true` if `onnx weights strip` has removed the elements of the tensor, so that no file has them.
    pub(crate) fn is_stripped(&self) -> bool {
        self.location.starts_with(STRIPPED)
    }

    /// The file range of a tensor, or `None` if the tensor is in memory or names no file. If the other entries are
    /// invalid, the file is still checked, but its range is unknown.
    pub(crate) fn of(tensor: &'a Tensor, place: TensorPlace, is_unchecked: bool) -> Option<Self> {
        let Payload::External(external) = tensor.payload() else { return None };
        let location = match external.location() {
            Ok(location) => location,
            Err(_) => external.entries().iter().find(|entry| entry.key == *"location")?.value.as_str(),
        };
        let (offset, length) = match (external.offset(), external.length()) {
            (Ok(offset), Ok(length)) => (offset, length.or_else(|| tensor.byte_len())),
            _ => (0, None),
        };
        let checksum = external.checksum().ok().flatten();
        (!location.is_empty()).then_some(Self { location, place, offset, length, checksum, is_unchecked })
    }

    /// The bytes of the file that it takes, if their number is known and they are any.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        let length = self.length.filter(|&length| length > 0)?;
        Some((self.offset, self.offset.checked_add(length)?))
    }
}

/// Runs the rules about files over all pieces, which come in the order of the traversal.
///
/// # Errors
///
/// Returns the reason if the work is to end.
pub(crate) fn check(cx: &mut Cx<'_>) -> Result<(), Stopped> {
    let mut pieces = std::mem::take(&mut cx.pieces);
    // The sort is stable: the pieces of a file stay in their order.
    pieces.sort_by_key(|piece| piece.location);
    cx.is_unchecked = false;
    for pieces in pieces.chunk_by(|a, b| a.location == b.location) {
        let Some(&first) = pieces.first() else { continue };
        cx.options.execution.interrupt.check()?;
        let files = cx.options.external.as_ref();
        let size = files.map(|files| files.source().len(first.location));
        let digest = match (files.filter(|files| files.digests()), &size) {
            (Some(files), Some(Ok(size))) if pieces.iter().any(|piece| piece.checksum.is_some()) => {
                Some(digest(files.source(), first.location, *size, &cx.options.execution.interrupt)?)
            }
            _ => None,
        };
        let unread = cx.unread.remove(first.location);
        let mut cx = ExternalCx { cx, first, pieces, size, unread, digest };
        for entry in external::ENTRIES {
            (entry.check)(&mut cx);
        }
    }
    Ok(())
}

/// How many bytes of a file are read between two checks of the interrupt.
const STEP: u64 = 1 << 20;

/// The SHA-1 digest of a file in lower-case hexadecimal.
fn digest(
    source: &dyn DataSource,
    location: &str,
    size: u64,
    interrupt: &Interrupt,
) -> Result<Result<String, DataError>, Stopped> {
    let mut digest = Sha1::new();
    let mut offset = 0;
    while offset < size {
        interrupt.check()?;
        let step = STEP.min(size.saturating_sub(offset));
        match source.read(location, offset, Some(step)) {
            Ok(bytes) => digest.update(bytes),
            Err(error) => return Ok(Err(error)),
        }
        offset = offset.saturating_add(step);
    }
    Ok(Ok(digest.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })))
}
