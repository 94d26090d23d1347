//! Moving weights out of a model into files of external data, and back.
//!
//! [`externalize`] changes a model so that its large tensors refer to ranges of external files, and returns
//! those files as lists of pieces. Nothing is written and no weight is copied: the pieces are the memory that the tensors
//! held, which may be a map of the file the model came from. [`save`] writes model and files together. [`inline`] is the
//! opposite: it gives external tensors their elements, again without copying them where the source maps its files.
//!
//! # Guarantees
//!
//! * Both visit all tensors of a model; both leave the model unchanged if they fail.
//! * Tensors that share memory share a range of the file.
//! * Offsets are aligned as [`ExternalizeOptions`] specifies, with gaps of less than 64 KiB, as the reference requires.
//! * The same model and options give the same files.
//! * What is written cannot overwrite data that the model still refers to: a new file with the location of a kept one is
//!   an error, and files are replaced by renaming, after all contents are on disk, the model last.
//!
//! The tests are in `tests/externalize.rs`.
//!
//! ```
//! use onnx_codec::{ExternalizeOptions, InlineDataOptions, externalize, inline};
//! use onnx_ir::Model;
//! use onnx_types::tensor::{MemoryData, NoData, Tensor};
//!
//! let mut model = Model::new();
//! let (graph, name) = (model.main_graph(), model.intern("w"));
//! let weights = model.add_initializer(graph, name, Tensor::vector(&[1.5_f32; 1000]));
//!
//! let moved = externalize(&mut model, &ExternalizeOptions::new("w.data"), &NoData)?;
//! assert_eq!(moved.files[0].location(), "w.data");
//! assert_eq!(moved.files[0].len(), 4000);
//!
//! let mut source = MemoryData::new();
//! source.insert("w.data", moved.files[0].pieces().concat());
//! inline(&mut model, &InlineDataOptions::default(), &source)?;
//! assert_eq!(model.constant_tensor(weights), Some(&Tensor::vector(&[1.5_f32; 1000])));
//! # Ok::<(), onnx_codec::ExternalizeError>(())
//! ```

mod inline;
mod layout;
mod save;
pub(crate) mod walk;

use std::collections::BTreeSet;

use bytes::Bytes;
use onnx_ir::{EditError, Model};
use onnx_proto::field::tensor;
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, ExternalData, Payload, Tensor, TensorError, TensorExtra};
use sha1::{Digest, Sha1};

use crate::source::location::Location;
use crate::source::{hex, normalized as spelling};
pub use inline::{InlineDataOptions, inline};
pub use layout::DataFile;
use layout::{Layout, Sameness, Spot};
pub use save::{SaveError, save, save_as};
use walk::{Place, for_each_tensor, replace_tensors};

/// Options for moving weights into external data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalizeOptions {
    /// The file to write, as a path relative to the model. Several files get names made from this one:
    /// `w.data` becomes `w-00001-of-00003.data`.
    pub location: String,
    /// Begin another file if this one would exceed this number of bytes. A larger tensor has a file to itself. Default:
    /// one file.
    pub max_shard_bytes: Option<u64>,
    /// Leave smaller tensors in the model. Default: 1024 bytes, as the reference does.
    pub threshold_bytes: u64,
    /// Offsets of small tensors are multiples of this power of two, at most 65536. Default: 64, the length of a cache line.
    pub alignment: u32,
    /// Offsets of large tensors are multiples of this power of two, at most 65536. Default: 4096, so that they can be
    /// mapped for themselves.
    pub large_alignment: u32,
    /// Minimum number of bytes of a large tensor. Default: 1 MiB.
    pub large_from: u64,
    /// Leave weights that are external already where they are. If not, they are read and written again. Default: yes.
    pub keep_existing: bool,
    /// Move tensors in attributes and sparse tensors as well; few readers expect them elsewhere. Default: no.
    pub everything: bool,
    /// State the SHA-1 digest of the file in every tensor, which reads all weights once. Default: no.
    pub checksum: bool,
    /// The most bytes that tensors of one repeated element may take together: they are small in the model. Default:
    /// [`Limits::splat_bytes`](onnx_types::Limits::splat_bytes).
    pub splat_bytes: u64,
}

onnx_types::option_setters! {
    ExternalizeOptions {
        with_max_shard_bytes => max_shard_bytes: into Option<u64>,
        with_threshold_bytes => threshold_bytes: u64,
        with_alignment => alignment: u32,
        with_large_alignment => large_alignment: u32,
        with_large_from => large_from: u64,
        with_keep_existing => keep_existing: bool,
        with_everything => everything: bool,
        with_checksum => checksum: bool,
        with_splat_bytes => splat_bytes: u64,
    }
}

impl ExternalizeOptions {
    /// The defaults, with the file to write.
    #[must_use]
    pub fn new(location: impl Into<String>) -> Self {
        Self {
            location: location.into(),
            max_shard_bytes: None,
            threshold_bytes: 1024,
            alignment: 64,
            large_alignment: 4096,
            large_from: 1 << 20,
            keep_existing: true,
            everything: false,
            checksum: false,
            splat_bytes: onnx_types::Limits::default().splat_bytes,
        }
    }

    fn check(&self) -> Result<(), ExternalizeError> {
        for alignment in [self.alignment, self.large_alignment] {
            if !alignment.is_power_of_two() || alignment > 1 << 16 {
                return Err(ExternalizeError::Alignment { alignment });
            }
        }
        Location::parse(&self.location)
            .map_err(|reason| ExternalizeError::Location { location: self.location.clone(), reason })?;
        Ok(())
    }
}

/// The result of moving weights.
#[derive(Clone, Debug, Default)]
pub struct Externalized {
    /// The files to write; none if no tensor was moved.
    pub files: Vec<DataFile>,
    /// The number of tensors that were moved.
    pub moved: u64,
    /// The tensors that are large enough but stayed in the model because they are invalid: where, and what is wrong.
    pub invalid: Vec<String>,
}

/// Why weights cannot be moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalizeError {
    /// The options ask for an alignment that readers would refuse.
    #[error("alignment {alignment} is not a power of two up to 65536")]
    Alignment {
        /// The alignment.
        alignment: u32,
    },
    /// The options name a file that must not contain external data.
    #[error("cannot put external data into `{}`: {reason}", location.escape_debug())]
    Location {
        /// The location.
        location: String,
        /// The reason.
        reason: &'static str,
    },
    /// A tensor that is not moved is in a file that would be replaced.
    #[error("`{}` holds weights that stay there; choose another file or move existing weights too", location.escape_debug())]
    InUse {
        /// The location.
        location: String,
    },
    /// A tensor cannot be read.
    #[error("{place}: {source}")]
    Tensor {
        /// The locus of the tensor.
        place: String,
        /// Why it cannot be read.
        source: TensorError,
    },
    /// External data are larger than the caller allows.
    #[error("external data have more than the {limit} bytes allowed: raise the limit `external_bytes`")]
    TooLarge {
        /// The most that is allowed.
        limit: u64,
    },
    /// Tensors of one repeated element take more bytes than the options allow.
    #[error(
        "tensors of one repeated element take more than {limit} bytes: raise the limit `splat_bytes` to write them"
    )]
    SplatTooLarge {
        /// The most that is allowed.
        limit: u64,
    },
    /// The weights have more bytes than 64 bits can count.
    #[error("the weights have more bytes than 64 bits can count")]
    Overflow,
    /// The model refuses the change.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl ExternalizeError {
    /// The limit that was exceeded, if that is the reason, as [`onnx_types::Limits`] names it.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("external_bytes"),
            Self::SplatTooLarge { .. } => Some("splat_bytes"),
            Self::Tensor { source: TensorError::Data(error), .. } => error.limit(),
            _ => None,
        }
    }
}

/// More bytes than 64 bits can count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overflow;

impl From<Overflow> for ExternalizeError {
    fn from(_: Overflow) -> Self {
        Self::Overflow
    }
}

/// Moves the large tensors of a model into external data; see the [module](self). The returned files must be written next
/// to the model, as [`save`] does.
///
/// Tensors of strings cannot be external and stay. `source` is asked only for tensors that are external already, and only
/// if they are not kept.
///
/// # Errors
///
/// Returns an error if the options are wrong, or external data that shall be moved cannot be read. The model is as it
/// was.
pub fn externalize(
    model: &mut Model,
    options: &ExternalizeOptions,
    source: &dyn DataSource,
) -> Result<Externalized, ExternalizeError> {
    options.check()?;
    let mut plan = Plan {
        options,
        source,
        layout: Layout::new(options),
        spots: Vec::new(),
        kept: BTreeSet::new(),
        invalid: Vec::new(),
        splats: 0,
    };
    let mut failure = None;
    for_each_tensor(model, |place, tensor| {
        if failure.is_none() {
            failure = plan.place(model, place, tensor).err();
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let Plan { layout, spots, kept, invalid, .. } = plan;
    let files = layout.finish();
    for file in &files {
        if let Some(in_use) = kept.get(&spelling(&file.location)) {
            return Err(ExternalizeError::InUse { location: in_use.clone() });
        }
    }
    let digests: Vec<_> = files.iter().map(|file| options.checksum.then(|| digest(file))).collect();
    let moved = spots.len() as u64;
    let replacements = spots.into_iter().filter_map(|(place, tensor, spot)| {
        let file = files.get(spot.file)?;
        let digest = digests.get(spot.file)?.as_deref();
        Some((place, pointing_to(tensor, file, spot, digest)))
    });
    let replacements = replacements.collect();
    replace_tensors(model, replacements)?;
    Ok(Externalized { files, moved, invalid })
}

/// The decisions taken so far.
struct Plan<'a> {
    options: &'a ExternalizeOptions,
    source: &'a dyn DataSource,
    layout: Layout<'a>,
    spots: Vec<(Place, Tensor, Spot)>,
    /// The files of weights that stay external where they are.
    kept: BTreeSet<String>,
    invalid: Vec<String>,
    /// Bytes of the tensors of one repeated element.
    splats: u64,
}

impl Plan<'_> {
    fn place(&mut self, model: &Model, place: Place, tensor: &Tensor) -> Result<(), ExternalizeError> {
        let same = match tensor.payload() {
            Payload::External(entries) if self.stays(place) => {
                self.kept.extend(entries.location().map(spelling));
                return Ok(());
            }
            // Elements that are unknown stay that, and the encoder refuses them.
            Payload::None | Payload::Strings(_) | Payload::Elided(_) => return Ok(()),
            payload => sameness(tensor, payload),
        };
        let size = tensor.byte_len().unwrap_or_else(|| tensor.payload().resident_bytes());
        let wanted = place.is_dense_initializer() || self.options.everything || tensor.is_external();
        if !wanted || size < self.options.threshold_bytes || tensor.elem() == ElemType::String {
            return Ok(());
        }
        if let Err(fault) = tensor.validate() {
            self.invalid.push(format!("{}: {fault}", place.describe(model)));
            return Ok(());
        }
        if matches!(tensor.payload(), Payload::Splat(_)) {
            self.splats = self.splats.saturating_add(size);
            let limit = self.options.splat_bytes;
            if self.splats > limit {
                return Err(ExternalizeError::SplatTooLarge { limit });
            }
        }
        let spot = match same.as_ref().and_then(|same| self.layout.find(same)) {
            Some(spot) => spot,
            None => {
                let pieces = tensor
                    .chunks(self.source)
                    .map_err(|source| ExternalizeError::Tensor { place: place.describe(model), source })?;
                self.layout.add(pieces, size, same)?
            }
        };
        self.spots.push((place, tensor.clone(), spot));
        Ok(())
    }

    /// Whether a tensor that is external stays where it is.
    fn stays(&self, place: Place) -> bool {
        self.options.keep_existing || !(place.is_dense_initializer() || self.options.everything)
    }
}

/// What tells whether another tensor has the same contents. Typed fields are decoded anew each time and splats are small
/// in the model, so those are not compared.
fn sameness(tensor: &Tensor, payload: &Payload) -> Option<Sameness> {
    match payload {
        Payload::Raw(bytes) | Payload::Floats(bytes) | Payload::Doubles(bytes) => Some(in_memory(bytes)),
        Payload::External(entries) => {
            let location = spelling(entries.location().ok()?);
            Some(Sameness::Range(location, entries.offset().ok()?, tensor.byte_len()?))
        }
        _ => None,
    }
}

fn in_memory(bytes: &Bytes) -> Sameness {
    Sameness::Memory(bytes.as_ptr() as usize, bytes.len())
}

/// The tensor with its elements at a spot of a file.
fn pointing_to(mut tensor: Tensor, file: &DataFile, spot: Spot, digest: Option<&str>) -> Tensor {
    let mut entries =
        ExternalData::new(file.location.as_str()).with_offset(spot.offset).with_length(spot.length);
    if let Some(digest) = digest {
        entries = entries.with_checksum(digest);
    }
    tensor.set_payload(Payload::External(entries));
    forget_old_place(&mut tensor);
    tensor
}

/// Removes the fields that describe a former location of the elements.
fn forget_old_place(tensor: &mut Tensor) {
    /// The fields that locate the elements.
    const LOCATION_FIELDS: [u32; 3] = [tensor::RAW_DATA, tensor::EXTERNAL_DATA, tensor::DATA_LOCATION];
    let mut forms = tensor.forms();
    LOCATION_FIELDS.iter().for_each(|&number| forms.set_explicit(number, false));
    tensor.set_forms(forms);
    if tensor.extra().is_some_and(|extra| !extra.unused_external.is_empty()) {
        let extra = TensorExtra { unused_external: Vec::new(), ..tensor.extra_mut().clone() };
        tensor.set_extra(extra);
    }
}

fn digest(file: &DataFile) -> String {
    let mut digest = Sha1::new();
    for step in file.pieces.iter().flat_map(|piece| piece.chunks(1 << 22)) {
        digest.update(step);
        crate::mmap::release(step);
    }
    hex(&digest.finalize())
}
