//! Inlining: time, also compared with decoding, and growth with the number of nodes that are created.

use std::error::Error;

use onnx_codec::ReadMode;
use onnx_codec::file::read;
use onnx_functions::{InlineOptions, inline_all};
use onnx_tests::models::functions;

use crate::decode;
use crate::samples::Samples;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Number of nodes that take the place of each call in [`functions`].
const NODES_OF_CALL: usize = 3;

/// Decodes a model and inlines all of its calls, interleaved.
///
/// # Errors
///
/// Returns an error if the file cannot be read or the calls cannot be inlined.
pub fn inlining(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse::<usize>()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let mut model = samples.time("decode", || decode(bytes.clone()));
        let done = samples.time("inline", || inline_all(&mut model, &InlineOptions::default()))?;
        assert!(done.kept().next().is_none(), "every call is inlined");
    }
    Ok(())
}

/// Inlines models in which inlining creates these numbers of nodes.
///
/// # Errors
///
/// Returns an error if a number is not one, or the calls cannot be inlined.
pub fn growth(rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    let rounds: usize = rounds.parse()?;
    for size in sizes {
        let nodes: usize = size.parse()?;
        let bytes = functions(nodes.div_ceil(NODES_OF_CALL));
        for _ in 0..rounds {
            let mut model = decode(bytes.clone());
            samples.time(format!("inline/{nodes}"), || inline_all(&mut model, &InlineOptions::default()))?;
        }
    }
    Ok(())
}
