//! Tensor elements that are stored in another file.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::text::Text;
use crate::{Interrupt, Stopped};

/// One key with its value (`StringStringEntryProto`) in a tensor's metadata or external data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorMetadata {
    /// The key.
    pub key: Text,
    /// The value.
    pub value: Text,
    /// The bytes the entry was decoded from (contents, without tag and length), kept only if an encoder would write
    /// other bytes.
    pub source: Option<Bytes>,
}

impl TensorMetadata {
    /// An entry that does not come from a file.
    #[must_use]
    pub fn new(key: impl Into<Text>, value: impl Into<Text>) -> Self {
        Self { key: key.into(), value: value.into(), source: None }
    }
}

/// The `external_data` entries of a tensor, as written and in file order (specification, "External Tensor Data").
///
/// The keys that the specification knows are `location`, `offset`, `length` and `checksum`. Others and repetitions are
/// kept; the accessors refuse a key that occurs twice, because readers disagree on which one counts.
///
/// ```
/// use onnx_types::tensor::ExternalData;
///
/// let place = ExternalData::new("weights.bin").with_offset(4096).with_length(64);
/// assert_eq!(place.location(), Ok("weights.bin"));
/// assert_eq!(place.offset(), Ok(4096));
/// assert_eq!(place.length(), Ok(Some(64)));
/// assert_eq!(place.entries().len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalData {
    entries: Vec<TensorMetadata>,
}

/// A defect of the entries of an [`ExternalData`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalFault {
    /// `location` is missing or empty.
    #[error("external data has no `location`")]
    NoLocation,
    /// A key occurs more than once.
    #[error("external data has the key `{key}` more than once")]
    Duplicate {
        /// The key.
        key: &'static str,
    },
    /// A value is not a decimal number without sign and blanks.
    #[error("external data `{key}` must be a decimal number, but is `{}`", value.escape_debug())]
    NotANumber {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Text,
    },
    /// A number does not fit into 64 bits.
    #[error("external data `{key}` is `{value}`, which does not fit into 64 bits")]
    TooLarge {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Text,
    },
}

/// The keys that the specification knows.
const KNOWN_KEYS: [&str; 4] = ["location", "offset", "length", "checksum"];

impl ExternalData {
    /// All of the file at `location`, a path relative to the model.
    #[must_use]
    pub fn new(location: impl Into<Text>) -> Self {
        Self { entries: vec![TensorMetadata::new("location", location)] }
    }

    /// The given entries, whatever they say.
    #[must_use]
    pub const fn from_entries(entries: Vec<TensorMetadata>) -> Self {
        Self { entries }
    }

    /// Sets the offset of the elements in the file, in bytes.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.set("offset", offset.to_string());
        self
    }

    /// Sets the number of bytes of the elements.
    #[must_use]
    pub fn with_length(mut self, length: u64) -> Self {
        self.set("length", length.to_string());
        self
    }

    /// Sets the hexadecimal SHA-1 digest of the whole file.
    #[must_use]
    pub fn with_checksum(mut self, checksum: impl Into<Text>) -> Self {
        self.set("checksum", checksum);
        self
    }

    /// Sets the only value of `key`: in its first entry if it has one, else at the end.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "the number of entries in a list that is in memory, at least 1 where 1 is taken away"
        )
    )]
    pub fn set(&mut self, key: &str, value: impl Into<Text>) {
        let entry = TensorMetadata::new(key, value);
        match self.entries.iter().position(|known| known.key == *key) {
            None => self.entries.push(entry),
            Some(first) => {
                let mut at = 0;
                self.entries.retain(|known| {
                    at += 1;
                    at - 1 <= first || known.key != *key
                });
                if let Some(slot) = self.entries.get_mut(first) {
                    *slot = entry;
                }
            }
        }
    }

    /// The entries in file order.
    #[must_use]
    pub fn entries(&self) -> &[TensorMetadata] {
        &self.entries
    }

    /// The path of the file, relative to the model.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is absent, empty or repeated.
    pub fn location(&self) -> Result<&str, ExternalFault> {
        self.one("location")?
            .map(Text::as_str)
            .filter(|location| !location.is_empty())
            .ok_or(ExternalFault::NoLocation)
    }

    /// The byte of the file at which the elements begin; 0 if not given.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is repeated, or its value is not an unsigned decimal number of 64 bits.
    pub fn offset(&self) -> Result<u64, ExternalFault> {
        Ok(self.number("offset")?.unwrap_or(0))
    }

    /// The number of bytes of elements, if given. A tensor whose entry is absent takes the bytes that its type and
    /// dimensions imply.
    ///
    /// # Errors
    ///
    /// See [`ExternalData::offset`].
    pub fn length(&self) -> Result<Option<u64>, ExternalFault> {
        self.number("length")
    }

    /// The hexadecimal SHA-1 digest of the file, if given. Nothing here compares it.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is repeated.
    pub fn checksum(&self) -> Result<Option<&str>, ExternalFault> {
        Ok(self.one("checksum")?.map(Text::as_str))
    }

    /// The keys that the specification does not know, in file order. Readers ignore them.
    pub fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str()).filter(|key| !KNOWN_KEYS.contains(key))
    }

    /// Everything that is wrong with the entries.
    #[must_use]
    pub fn faults(&self) -> Vec<ExternalFault> {
        [self.location().err(), self.offset().err(), self.length().err(), self.checksum().err()]
            .into_iter()
            .flatten()
            .collect()
    }

    fn one(&self, key: &'static str) -> Result<Option<&Text>, ExternalFault> {
        let mut values = self.entries.iter().filter(|entry| entry.key == *key).map(|entry| &entry.value);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(_) => Err(ExternalFault::Duplicate { key }),
        }
    }

    fn number(&self, key: &'static str) -> Result<Option<u64>, ExternalFault> {
        let Some(value) = self.one(key)? else { return Ok(None) };
        // `u64::from_str` would take a leading plus sign.
        if value.is_empty() || !value.as_bytes().iter().all(u8::is_ascii_digit) {
            return Err(ExternalFault::NotANumber { key, value: value.clone() });
        }
        value.parse().map(Some).map_err(|_| ExternalFault::TooLarge { key, value: value.clone() })
    }
}

/// The capability to read external data. This crate does not open files: a caller that reads an external tensor passes
/// a source, which decides which files exist.
///
/// An implementation must check the range against the size of the file *before* it reserves memory: the numbers come
/// from the model and may be anything. [`checked_range`] does the arithmetic.
pub trait DataSource: Send + Sync {
    /// The bytes of the file at `location` from `offset`: `length` of them, or all up to the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no such file, refuses the location, or the range is not inside the file.
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError>;

    /// Like [`read`](Self::read), for work that an interrupt ends. A source that copies files checks it at bounded intervals; by default,
    /// it is checked once, before anything is read.
    ///
    /// # Errors
    ///
    /// Like [`read`](Self::read), and if the interrupt ends the work.
    fn read_until(
        &self,
        location: &str,
        offset: u64,
        length: Option<u64>,
        interrupt: &Interrupt,
    ) -> Result<Bytes, DataError> {
        interrupt.check().map_err(|stopped| DataError {
            location: location.to_owned(),
            offset,
            length,
            reason: stopped.into(),
        })?;
        self.read(location, offset, length)
    }

    /// The size of the file at `location` in bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no such file or refuses the location.
    fn len(&self, location: &str) -> Result<u64, DataError>;

    /// Checks whether `length` bytes of a file may be read, for callers that read a file in pieces: they call it before
    /// the first piece. Sources without a limit accept every length.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit of the source would be exceeded.
    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        let _ = (location, length);
        Ok(())
    }

    /// The same files for another operation, if there is a limit: what was read before does not count. By default there is
    /// none. An evaluator asks for each run, since a model may run any number of times.
    fn restarted(&self) -> Option<Arc<dyn DataSource>> {
        None
    }

    /// Takes elements that were made, and gives the same ones. A source of files can move them to a temporary file that it maps, so that
    /// results which are larger than memory can be collected before they are written. By default they stay where they are.
    fn hold(&self, bytes: Bytes) -> Bytes {
        bytes
    }

    /// Says that bytes were read and are not needed soon: if they are mapped, their pages can go. By default nothing happens.
    fn release(&self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// External data that cannot be read: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// The location as the model gives it.
    pub location: String,
    /// The byte at which reading was to begin.
    pub offset: u64,
    /// The number of bytes to read; `None` for all up to the end.
    pub length: Option<u64>,
    /// Why it failed.
    pub reason: DataErrorReason,
}

/// Why external data cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataErrorReason {
    /// The source has no such file.
    #[error("there is no such file")]
    NotFound,
    /// The range is not inside the file.
    #[error("the file has {file_len} bytes")]
    OutOfRange {
        /// The size of the file in bytes.
        file_len: u64,
    },
    /// The policy of the source forbids it.
    #[error("refused: {0}")]
    Refused(String),
    /// Reading it would exceed a limit.
    #[error("{message}: raise the limit `{name}`")]
    Limit {
        /// The message that names the exceeding quantity.
        message: String,
        /// The limit, as [`Limits`](crate::Limits) names it.
        name: &'static str,
    },
    /// The source gave another number of bytes than was asked for.
    #[error("the source returned {found} bytes")]
    ShortRead {
        /// The number of bytes it gave.
        found: u64,
    },
    /// The system has no memory for it.
    #[error("the system has no memory for them")]
    Memory,
    /// Reading failed.
    #[error("{0}")]
    Io(String),
}

impl From<Stopped> for DataErrorReason {
    fn from(stopped: Stopped) -> Self {
        Self::Io(stopped.to_string())
    }
}

impl DataError {
    /// The error of an operation on the whole file.
    #[must_use]
    pub fn of_file(location: &str, reason: DataErrorReason) -> Self {
        Self { location: location.to_owned(), offset: 0, length: None, reason }
    }

    /// The limit that was exceeded, if that is the reason, as [`Limits`](crate::Limits) names it;
    /// [`MEMORY`](crate::Limits::MEMORY) if the system has no memory.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self.reason {
            DataErrorReason::Limit { name, .. } => Some(name),
            DataErrorReason::Memory => Some(crate::Limits::MEMORY),
            _ => None,
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The location comes from a file: escaped, it cannot draw on a terminal.
        let location = self.location.escape_debug();
        match (self.offset, self.length) {
            (0, None) => write!(f, "cannot read external data `{location}`: {}", self.reason),
            (offset, None) => {
                write!(f, "cannot read external data `{location}` from byte {offset}: {}", self.reason)
            }
            (offset, Some(length)) => write!(
                f,
                "cannot read {length} bytes of external data `{location}` from byte {offset}: {}",
                self.reason
            ),
        }
    }
}

impl std::error::Error for DataError {}

/// The range of bytes that `offset` and `length` (absent: up to the end) mean in a file of `file_len` bytes; `None` unless
/// it lies inside the file. No input overflows.
#[must_use]
pub fn checked_range(offset: u64, length: Option<u64>, file_len: u64) -> Option<Range<u64>> {
    let end = match length {
        Some(length) => offset.checked_add(length)?,
        None => file_len,
    };
    (offset <= end && end <= file_len).then_some(offset..end)
}

/// A source that refuses everything: for readers that must not touch external data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoData;

impl DataSource for NoData {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        let reason = self.reason();
        Err(DataError { location: location.to_owned(), offset, length, reason })
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        Err(DataError::of_file(location, self.reason()))
    }
}

impl NoData {
    fn reason(self) -> DataErrorReason {
        DataErrorReason::Refused("no source of external data was given".to_owned())
    }
}

/// A source that holds its files in memory.
///
/// ```
/// use onnx_types::tensor::{DataSource, MemoryData};
///
/// let mut source = MemoryData::new();
/// source.insert("weights.bin", vec![1, 2, 3, 4]);
/// assert_eq!(source.read("weights.bin", 1, Some(2))?, [2, 3].as_slice());
/// assert!(source.read("weights.bin", 3, Some(2)).is_err());
/// # Ok::<(), onnx_types::tensor::DataError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryData {
    files: BTreeMap<String, Bytes>,
}

impl MemoryData {
    /// A source without files.
    #[must_use]
    pub const fn new() -> Self {
        Self { files: BTreeMap::new() }
    }

    /// Adds or replaces the file at `location`.
    pub fn insert(&mut self, location: impl Into<String>, bytes: impl Into<Bytes>) {
        self.files.insert(location.into(), bytes.into());
    }
}

impl DataSource for MemoryData {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        let fail = |reason| DataError { location: location.to_owned(), offset, length, reason };
        let file = self.files.get(location).ok_or_else(|| fail(DataErrorReason::NotFound))?;
        let file_len = file.len() as u64;
        let out_of_range = || fail(DataErrorReason::OutOfRange { file_len });
        let range = checked_range(offset, length, file_len).ok_or_else(out_of_range)?;
        // The range is inside a slice of this process, so both ends fit.
        Ok(file.slice(range.start as usize..range.end as usize))
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        let file = self.files.get(location);
        file.map(|file| file.len() as u64)
            .ok_or_else(|| DataError::of_file(location, DataErrorReason::NotFound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(key: &str, value: &str) -> ExternalData {
        ExternalData::from_entries(vec![
            TensorMetadata::new("location", "w"),
            TensorMetadata::new(key, value),
        ])
    }

    #[test]
    fn numbers_are_strict() {
        for bad in ["", "+1", " 1", "1 ", "-1", "-0", "0x10", "1e3", "1_000", "١", "1.0", "\0", "1\n"] {
            let fault = with("offset", bad).offset();
            assert!(
                matches!(fault, Err(ExternalFault::NotANumber { key: "offset", .. })),
                "{bad:?}: {fault:?}"
            );
            assert!(with("length", bad).length().is_err(), "{bad:?}");
        }
        let ten_to_40 = format!("1{}", "0".repeat(40));
        for large in ["18446744073709551616", ten_to_40.as_str()] {
            assert!(matches!(with("length", large).length(), Err(ExternalFault::TooLarge { .. })));
        }
        assert_eq!(with("offset", "18446744073709551615").offset(), Ok(u64::MAX));
        assert_eq!(with("offset", "9223372036854775808").offset(), Ok(1 << 63));
        assert_eq!(with("offset", "007").offset(), Ok(7));
        assert_eq!(with("length", "0").length(), Ok(Some(0)));
        assert_eq!(with("x", "y").offset(), Ok(0));
        assert_eq!(with("x", "y").length(), Ok(None));
    }

    #[test]
    fn keys_are_looked_at() {
        let twice = with("location", "v");
        assert_eq!(twice.location(), Err(ExternalFault::Duplicate { key: "location" }));
        assert_eq!(ExternalData::default().location(), Err(ExternalFault::NoLocation));
        assert_eq!(ExternalData::new("").location(), Err(ExternalFault::NoLocation));
        let odd = with("__class__", "x");
        assert_eq!(odd.unknown_keys().collect::<Vec<_>>(), ["__class__"]);
        assert_eq!(odd.faults(), []);
        assert_eq!(twice.faults().len(), 1);
    }

    #[test]
    fn setting_leaves_one_entry() {
        let mut data = with("offset", "1");
        data.entries.push(TensorMetadata::new("offset", "2"));
        data.set("offset", "3");
        assert_eq!(data.offset(), Ok(3));
        let keys: Vec<_> = data.entries().iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["location", "offset"]);
    }

    #[test]
    fn ranges_do_not_overflow() {
        assert_eq!(checked_range(u64::MAX - 1, Some(4), u64::MAX), None);
        assert_eq!(checked_range(u64::MAX, Some(u64::MAX), 10), None);
        assert_eq!(checked_range(11, None, 10), None);
        assert_eq!(checked_range(10, None, 10), Some(10..10));
        assert_eq!(checked_range(10, Some(0), 10), Some(10..10));
        assert_eq!(checked_range(10, Some(1), 10), None);
        assert_eq!(checked_range(2, Some(3), 10), Some(2..5));
    }

    #[test]
    fn sources_name_what_they_refuse() {
        let mut memory = MemoryData::new();
        memory.insert("a", vec![0; 10]);
        assert_eq!(memory.len("a"), Ok(10));
        let text = |source: &dyn DataSource, location: &str, offset, length| {
            source.read(location, offset, length).unwrap_err().to_string()
        };
        assert_eq!(text(&memory, "b", 0, None), "cannot read external data `b`: there is no such file");
        assert_eq!(
            text(&memory, "a", u64::MAX - 1, Some(4)),
            "cannot read 4 bytes of external data `a` from byte 18446744073709551614: the file has 10 bytes"
        );
        assert_eq!(
            text(&NoData, "\u{1b}[2J", 3, None),
            "cannot read external data `\\u{1b}[2J` from byte 3: refused: no source of external data was given"
        );
        assert!(NoData.len("a").is_err());
    }
}
