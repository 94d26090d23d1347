//! Models that are nearly all weights.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_proto::wire::Segments;

use super::write::{External, FLOAT, Graph, Size, Ty};

/// The number of initializers in the models.
const TENSORS: u64 = 16;

/// The size of a `float` in bytes.
const FLOAT_BYTES: u64 = 4;

/// The seed of the weights; any odd number will do.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of elements in each tensor of a model with about `bytes` bytes of weights.
fn elements(bytes: u64) -> u64 {
    (bytes / TENSORS / FLOAT_BYTES).max(1)
}

/// The elements of every tensor: numbers in [1, 2) without a pattern, so that no file system stores them in less than
/// their size.
fn data(elements: u64) -> Bytes {
    let mut data = Vec::new();
    let mut state = SEED;
    for _ in 0..elements {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bits = 0x3f80_0000 | (state >> 41) as u32;
        data.extend_from_slice(&bits.to_le_bytes());
    }
    data.into()
}

/// A chain of `Add` nodes; `initializer` gives each its weights, by number and name.
fn adds(elements: u64, mut initializer: impl FnMut(&mut Graph, u64, &str)) -> Segments {
    let mut graph = Graph::default();
    let shape = [Size::Known(elements.cast_signed())];
    let ty = Ty::new(FLOAT, &shape);
    graph.input("input", ty);
    let mut last = "input".to_owned();
    for index in 0..TENSORS {
        let (name, weight) = (format!("/layers.{index}/Add"), format!("layers.{index}.weight"));
        initializer(&mut graph, index, &weight);
        let output = format!("{name}_output_0");
        graph.node("Add", &name, &[&last, &weight], &[&output]);
        last = output;
    }
    graph.output(&last, ty);
    graph.model(&[("", 17)], |_| ())
}

/// A model with about `bytes` bytes of weights in 16 initializers, as pieces: the weights of all initializers are the
/// same memory.
#[must_use]
pub fn inline_weights(bytes: u64) -> Segments {
    let elements = elements(bytes);
    let data = data(elements);
    adds(elements, |graph, _, name| graph.initializer(name, FLOAT, &[elements.cast_signed()], &data))
}

/// Writes `model.onnx` and `weights.bin` with about `bytes` bytes of weights in 16 initializers to a directory; returns
/// the path of the model.
///
/// # Errors
///
/// When a file cannot be written.
pub fn external_weights(directory: &Path, bytes: u64) -> io::Result<PathBuf> {
    let elements = elements(bytes);
    let data = data(elements);
    let length = elements * FLOAT_BYTES;
    let mut weights = File::create(directory.join("weights.bin"))?;
    for _ in 0..TENSORS {
        weights.write_all(&data)?;
    }
    let segments = adds(elements, |graph, index, name| {
        let place = External { location: "weights.bin", offset: index * length, length };
        graph.external(name, FLOAT, &[elements.cast_signed()], &place);
    });
    let path = directory.join("model.onnx");
    std::fs::write(&path, segments.to_vec())?;
    Ok(path)
}
