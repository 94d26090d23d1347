//! Tensors in files of the format, in pieces that share memory with them.

use bytes::Bytes;
use onnx_diag::render::safe_json;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;
use serde_json::{Map, Value, json};

use super::header::METADATA;
use super::{SafetensorsError, TYPE_KEY, dtype};

/// Headers are filled with blanks up to a multiple of this number of bytes, so that elements are aligned.
const ALIGNMENT: usize = 8;

/// Options of [`layout`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutOptions {
    /// The most bytes of elements in a file; a larger tensor has a separate file. Without this, there is one file.
    pub max_shard_bytes: Option<u64>,
    /// Metadata of each file.
    pub metadata: Vec<(String, String)>,
}

onnx_types::option_setters! {
    LayoutOptions {
        with_max_shard_bytes => max_shard_bytes: into Option<u64>,
        with_metadata => metadata: Vec<(String, String)>,
    }
}

/// A file to write: the header, followed by the elements of tensors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SafetensorsFile {
    /// The length and the text of the header.
    pub header: Bytes,
    /// The positions of the tensors whose elements follow, in their order among the arguments of [`layout`].
    pub tensors: Vec<usize>,
    /// Bytes of the elements.
    pub data_bytes: u64,
}

impl SafetensorsFile {
    /// The size of the file in bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.data_bytes.saturating_add(self.header.len() as u64)
    }
}

/// The files of tensors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// The files in order.
    pub files: Vec<SafetensorsFile>,
    /// Bytes of all elements.
    pub data_bytes: u64,
}

/// Places tensors in one or several files. No elements are read: the caller writes those of each tensor behind the header, in
/// canonical form ([`Tensor::chunks`]).
///
/// Tensors of wider types come first, so that elements are aligned without gaps; otherwise their order is kept.
///
/// # Errors
///
/// Returns an error if a tensor holds strings or is invalid, if two have the same name, or if a name cannot be stored.
pub fn layout(tensors: &[(&str, &Tensor)], options: &LayoutOptions) -> Result<Layout, SafetensorsError> {
    let mut names: std::collections::HashSet<&str, foldhash::fast::RandomState> = Default::default();
    let mut sizes = Vec::with_capacity(tensors.len());
    for &(name, tensor) in tensors {
        sizes.push(size(name, tensor)?);
        if !names.insert(name) {
            return Err(SafetensorsError::DuplicateName(name.to_owned()));
        }
    }
    let mut shards: Vec<(Vec<usize>, u64)> = Vec::new();
    for (position, &size) in sizes.iter().enumerate() {
        let fits = |bytes: u64| {
            let sum = bytes.checked_add(size);
            sum.is_some_and(|sum| options.max_shard_bytes.is_none_or(|most| sum <= most))
        };
        match shards.last_mut() {
            Some((positions, bytes)) if fits(*bytes) => {
                positions.push(position);
                *bytes = bytes.saturating_add(size);
            }
            _ => shards.push((vec![position], size)),
        }
    }
    if shards.is_empty() {
        shards.push((Vec::new(), 0));
    }
    let mut files = Vec::with_capacity(shards.len());
    let mut data_bytes = 0_u64;
    for (mut positions, bytes) in shards {
        data_bytes = data_bytes.saturating_add(bytes);
        let width = |&position: &usize| tensors.get(position).and_then(|(_, tensor)| tensor.elem().bits());
        positions.sort_by_key(|position| std::cmp::Reverse(width(position)));
        let header = header(tensors, &sizes, &positions, &options.metadata);
        files.push(SafetensorsFile { header, tensors: positions, data_bytes: bytes });
    }
    Ok(Layout { files, data_bytes })
}

/// Bytes of the elements.
fn size(name: &str, tensor: &Tensor) -> Result<u64, SafetensorsError> {
    if name == METADATA {
        return Err(SafetensorsError::ReservedName(name.to_owned()));
    }
    let elem = tensor.elem();
    let not_storable = || SafetensorsError::NotStorable { name: name.to_owned(), elem };
    if elem == ElemType::Undefined || !dtype::is_storable(elem) || tensor.validate().is_err() {
        return Err(not_storable());
    }
    tensor.byte_len().ok_or_else(not_storable)
}

/// The length and the text of a header, filled with blanks.
fn header(
    tensors: &[(&str, &Tensor)],
    sizes: &[u64],
    positions: &[usize],
    metadata: &[(String, String)],
) -> Bytes {
    let mut stated: Vec<(String, String)> = metadata.to_vec();
    let mut text = String::from("{");
    let mut begin = 0_u64;
    let mut entries = Vec::with_capacity(positions.len());
    for &position in positions {
        let (Some(&(name, tensor)), Some(&size)) = (tensors.get(position), sizes.get(position)) else {
            continue;
        };
        let end = begin.saturating_add(size);
        let (dtype, dims) = match dtype::name(tensor.elem()) {
            Some(dtype) => (dtype, tensor.dims().to_vec()),
            None => {
                stated.push((format!("{TYPE_KEY}{name}"), dtype::stated(tensor)));
                ("U8", vec![i64::try_from(size).unwrap_or(i64::MAX)])
            }
        };
        let description = json!({ "dtype": dtype, "shape": dims, "data_offsets": [begin, end] });
        entries.push(format!("{}:{description}", Value::from(name)));
        begin = end;
    }
    if !stated.is_empty() {
        let stated: Map<String, Value> =
            stated.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        entries.insert(0, format!("\"{METADATA}\":{}", Value::Object(stated)));
    }
    text.push_str(&safe_json(&entries.join(",")));
    text.push('}');
    let filled = text.len().next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', filled.saturating_sub(text.len())));
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.into()
}

impl Layout {
    /// The names of the files of a model: `model.safetensors`, or `model-00001-of-00003.safetensors` and so on.
    #[must_use]
    pub fn file_names(&self, stem: &str) -> Vec<String> {
        let count = self.files.len();
        match count {
            1 => vec![format!("{stem}.safetensors")],
            _ => (1..=count).map(|number| format!("{stem}-{number:05}-of-{count:05}.safetensors")).collect(),
        }
    }

    /// The text of the index of several files with these names.
    #[must_use]
    pub fn index(&self, tensors: &[(&str, &Tensor)], names: &[String]) -> String {
        let mut map = Map::new();
        for (file, name) in self.files.iter().zip(names) {
            for &position in &file.tensors {
                if let Some(&(tensor, _)) = tensors.get(position) {
                    map.insert(tensor.to_owned(), Value::from(name.as_str()));
                }
            }
        }
        let document = json!({ "metadata": { "total_size": self.data_bytes }, "weight_map": map });
        safe_json(&format!("{document:#}\n"))
    }
}
