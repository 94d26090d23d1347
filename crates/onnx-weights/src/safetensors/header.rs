//! The header: JSON whose objects have every key once, and ranges that cover the elements once.

use std::fmt;

use foldhash::fast::RandomState;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::{SafetensorsError, dtype};

/// The key of the metadata.
pub(super) const METADATA: &str = "__metadata__";

/// A tensor of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) dims: Vec<u64>,
    /// The range among the elements.
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The contents of a header.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// In the order of their ranges.
    pub(super) entries: Vec<Entry>,
    pub(super) metadata: Vec<(String, String)>,
}

/// A tensor without its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// An object whose keys are names of which each occurs once.
struct Texts(Vec<(String, String)>);

/// The beginning of the message about a duplicate name, which distinguishes it from other errors.
const DUPLICATE: &str = "\u{0}duplicate:";
/// The same for too many tensors.
const TOO_MANY: &str = "\u{0}too many";

/// Parses a header.
pub(super) fn parse(text: &[u8], max_tensors: u64) -> Result<Header, SafetensorsError> {
    let invalid = |reason: &str| SafetensorsError::Header(reason.to_owned());
    if text.first() != Some(&b'{') {
        return Err(invalid("it does not begin with `{`"));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let parsed = reader.deserialize_map(HeaderVisitor { max_tensors }).and_then(|header| {
        reader.end()?;
        Ok(header)
    });
    parsed.map_err(|error| error_of(&error.to_string(), max_tensors))
}

/// The error that a visitor reported through the parser.
fn error_of(message: &str, max_tensors: u64) -> SafetensorsError {
    if message.starts_with(TOO_MANY) {
        return SafetensorsError::TooMany(max_tensors);
    }
    match message.strip_prefix(DUPLICATE) {
        Some(rest) => {
            let name = rest.rsplit_once(" at line").map_or(rest, |(name, _)| name);
            SafetensorsError::DuplicateName(name.to_owned())
        }
        None => SafetensorsError::Header(message.to_owned()),
    }
}

struct HeaderVisitor {
    max_tensors: u64,
}

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        let mut names: std::collections::HashSet<String, RandomState> = Default::default();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(de::Error::custom(format_args!("{DUPLICATE}{name}")));
            }
            if name == METADATA {
                header.metadata = map.next_value::<Texts>()?.0;
                continue;
            }
            if header.entries.len() as u64 >= self.max_tensors {
                return Err(de::Error::custom(TOO_MANY));
            }
            let Description { dtype, shape, data_offsets: (begin, end) } = map.next_value_seed(AsObject)?;
            header.entries.push(Entry { name, dtype, dims: shape, begin, end });
        }
        // Tensors without elements have the same range; names make the order unique.
        header.entries.sort_by(|a, b| (a.begin, a.end, &a.name).cmp(&(b.begin, b.end, &b.name)));
        Ok(header)
    }
}

/// Reads a description, which must be an object: a list of the same values is not one.
struct AsObject;

impl<'de> DeserializeSeed<'de> for AsObject {
    type Value = Description;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Description, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AsObject {
    type Value = Description;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that describes a tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Description, A::Error> {
        Description::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextsVisitor).map(Self)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose values are texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        let mut names: std::collections::HashSet<String, RandomState> = Default::default();
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            if !names.insert(key.clone()) {
                return Err(de::Error::custom(format_args!("{DUPLICATE}{key}")));
            }
            texts.push((key, value));
        }
        Ok(texts)
    }
}

/// Reads an object of texts, such as the map of an index.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    deserializer.deserialize_map(TextsVisitor)
}

/// The error of a parser that uses [`texts`].
pub(super) fn error_of_texts(error: &serde_json::Error) -> SafetensorsError {
    error_of(&error.to_string(), u64::MAX)
}

impl Header {
    /// Tests that every range has the length of its tensor, and that together they are all elements of the file, each once.
    pub(super) fn check(&self, data: u64) -> Result<(), SafetensorsError> {
        let mut expected = 0_u64;
        for entry in &self.entries {
            let name = || entry.name.clone();
            let found =
                entry.end.checked_sub(entry.begin).ok_or_else(|| SafetensorsError::NegativeRange(name()))?;
            if dtype::elem(&entry.dtype).is_none() {
                return Err(SafetensorsError::UnknownType { name: name(), dtype: entry.dtype.clone() });
            }
            let length = dtype::byte_len(&entry.dtype, &entry.dims);
            if length != Some(found) {
                return Err(SafetensorsError::WrongLength { name: name(), expected: length, found });
            }
            if entry.begin != expected {
                return Err(SafetensorsError::NotContiguous { name: name(), expected, found: entry.begin });
            }
            expected = entry.end;
        }
        if expected != data {
            return Err(SafetensorsError::WrongFileLength { tensors: expected, file: data });
        }
        Ok(())
    }
}
