//! Digests of the elements of tensors.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Model, Places, TensorHolder, TensorPlace};
use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};
use onnx_types::{Execution, Limits, Stopped, Watch};

use super::HashError;
use super::message::{Digest, Message, Stream};

/// Number of bytes after which the interrupt is checked.
const INTERVAL: u64 = 1 << 20;
/// Number of tensors after which it is.
const TENSORS: u64 = 256;

/// The digests of the elements of all tensors of a model.
#[derive(Default)]
pub(crate) struct Contents {
    digests: HashMap<TensorPlace, Digest, RandomState>,
    /// Type, dimensions and elements of each tensor.
    tensors: Vec<Digest>,
    /// The tensors whose elements cannot be read, with the reason.
    unread: HashMap<TensorPlace, TensorError, RandomState>,
    /// The first of them.
    first: Option<TensorPlace>,
    /// The tensors whose digest is that of their range, because it is not read.
    by_range: HashSet<TensorPlace, RandomState>,
}

/// A range of a file, and the type of the elements in it.
pub(crate) type Range = (String, u64, u64, i32);

/// The ranges of files that tensors of both models are, and that exist.
pub(crate) fn shared_ranges(a: &Model, b: &Model, source: &dyn DataSource) -> HashSet<Range> {
    let ranges = |model: &Model| {
        let mut found = HashSet::new();
        model.for_each_tensor(|_, tensor| found.extend(range(tensor)));
        found
    };
    let (mut of_a, of_b) = (ranges(a), ranges(b));
    let mut lengths: HashMap<String, Option<u64>> = HashMap::new();
    of_a.retain(|range| {
        let (location, offset, length, _) = range;
        let is_there = of_b.contains(range).then(|| {
            let known = lengths.entry(location.clone()).or_insert_with(|| source.len(location).ok());
            known.is_some_and(|known| offset.checked_add(*length).is_some_and(|end| end <= known))
        });
        is_there.unwrap_or(false)
    });
    of_a
}

impl Contents {
    /// Reads all tensors of a model, each range of a file once.
    pub(crate) fn read(
        model: &Model,
        source: &dyn DataSource,
        execution: &Execution,
    ) -> Result<Self, Stopped> {
        Self::read_except(model, source, &HashSet::new(), execution)
    }

    /// Reads the tensors of a model, except those that are one of these ranges: the range identifies their elements.
    pub(crate) fn read_except(
        model: &Model,
        source: &dyn DataSource,
        shared: &HashSet<Range>,
        execution: &Execution,
    ) -> Result<Self, Stopped> {
        let mut all: Vec<(TensorPlace, &Tensor)> = Vec::new();
        model.for_each_tensor(|place, tensor| all.push((place, tensor)));
        let bytes = |tensor: &Tensor| tensor.byte_len().unwrap_or_default();
        let total = all.iter().fold(0_u64, |sum, (_, tensor)| sum.saturating_add(bytes(tensor)));
        let mut watch = Watch::new(execution, "hash", total, INTERVAL);
        let mut contents = Self::default();
        contents.digests.reserve(all.len());
        let mut ranges: HashMap<Range, Digest, RandomState> = HashMap::default();
        let mut message = Message::new();
        // Many small tensors take long, too.
        let mut tensors = Watch::silent(&execution.interrupt, TENSORS);
        for (place, tensor) in all {
            tensors.work(1)?;
            let range = range(tensor);
            let known = range.as_ref().and_then(|range| ranges.get(range)).copied();
            let is_shared = range.as_ref().is_some_and(|range| shared.contains(range));
            let read = match known {
                _ if is_shared => {
                    contents.by_range.insert(place);
                    Ok(range.as_ref().map(of_range).unwrap_or_default())
                }
                Some(digest) => Ok(digest),
                None => elements(tensor, source, &execution.limits, &mut watch),
            };
            match read {
                Ok(digest) => {
                    ranges.extend(range.filter(|_| !is_shared).map(|range| (range, digest)));
                    contents.digests.insert(place, digest);
                    message.begin("tensor").signed(tensor.data_type().into()).count(tensor.rank());
                    tensor.dims().iter().for_each(|&dim| _ = message.signed(dim));
                    contents.tensors.push(message.digest(digest).finish());
                }
                Err(ReadError::Stopped) => return Err(Stopped),
                Err(ReadError::Tensor(error)) => {
                    contents.first.get_or_insert(place);
                    contents.unread.insert(place, error);
                }
            }
        }
        Ok(contents)
    }

    /// The digest of the elements of a tensor; that of no message if they could not be read.
    pub(crate) fn of(&self, place: TensorPlace) -> Digest {
        self.digests.get(&place).copied().unwrap_or_default()
    }

    /// Whether the digest of a tensor is that of its range, so that it says nothing about the elements of other ranges.
    pub(crate) fn is_by_range(&self, place: TensorPlace) -> bool {
        self.by_range.contains(&place)
    }

    /// Why the elements of a tensor could not be read.
    pub(crate) fn error(&self, place: TensorPlace) -> Option<&TensorError> {
        self.unread.get(&place)
    }

    /// The digest of all weights, independent of their owners.
    pub(crate) fn weights(&self) -> Digest {
        Message::new().begin("weights").multiset(self.tensors.clone()).finish()
    }

    /// Returns an error if a tensor could not be read.
    pub(crate) fn complete(self, model: &Model) -> Result<Self, HashError> {
        let Some((place, error)) = self.first.and_then(|place| self.unread.get_key_value(&place)) else {
            return Ok(self);
        };
        let places = Places::new(model);
        let locus = match place.holder {
            TensorHolder::Initializer(value) => places.initializer(value),
            TensorHolder::Attribute(node, position) => match model.node(node).attributes().get(position) {
                Some(attribute) => places.attribute(node, attribute.name()),
                None => places.node(node),
            },
            TensorHolder::Default(function, _) => places.function(function),
        };
        Err(HashError::Unreadable(Box::new((locus, error.clone()))))
    }
}

enum ReadError {
    Stopped,
    Tensor(TensorError),
}

impl From<TensorError> for ReadError {
    fn from(error: TensorError) -> Self {
        Self::Tensor(error)
    }
}

/// The digest of a range that is not read.
fn of_range((location, offset, length, data_type): &Range) -> Digest {
    let mut message = Message::new();
    message.begin("range").text(location.as_bytes()).signed(i64::from(*data_type));
    message.digest(Digest::default());
    [*offset, *length]
        .into_iter()
        .for_each(|number| _ = message.count(usize::try_from(number).unwrap_or(usize::MAX)));
    message.finish()
}

/// The range of a file that a tensor is, so that it is read once although several tensors name it.
fn range(tensor: &Tensor) -> Option<Range> {
    let Payload::External(external) = tensor.payload() else { return None };
    let (location, offset) = (external.location().ok()?.to_owned(), external.offset().ok()?);
    Some((location, offset, tensor.byte_len()?, tensor.data_type()))
}

/// The digest of the elements: of their bytes as [`Tensor::visit_bytes`] gives them.
fn elements(
    tensor: &Tensor,
    source: &dyn DataSource,
    limits: &Limits,
    watch: &mut Watch,
) -> Result<Digest, ReadError> {
    let size = tensor.byte_len().unwrap_or_default();
    if matches!(tensor.payload(), Payload::Splat(_)) && size > limits.splat_bytes {
        let limit = limits.splat_bytes;
        return Err(ReadError::Tensor(TensorError::TooLarge { size, limit, unit: "bytes" }));
    }
    let mut stream = Stream::default();
    tensor.visit_bytes(source, |piece| {
        stream.update(piece);
        watch.work(piece.len() as u64).map_err(|Stopped| ReadError::Stopped)
    })?;
    Ok(stream.finish())
}
