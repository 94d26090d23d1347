//! Conversion between versions of operator sets: time, and growth with the number of nodes.

use std::error::Error;

use onnx_codec::ReadMode;
use onnx_codec::file::read;
use onnx_tests::models::chain;
use onnx_version::{ConvertOptions, convert};

use crate::decode;
use crate::samples::Samples;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Decodes a model and converts it to a version, interleaved.
///
/// # Errors
///
/// Returns an error if the file cannot be read or the model cannot be converted.
pub fn converting(path: &str, version: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    let version: i64 = version.parse()?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse::<usize>()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let mut model = samples.time("decode", || decode(bytes.clone()));
        samples.time("convert", || convert(&mut model, version, &ConvertOptions::default()))?;
    }
    Ok(())
}

/// Converts chains of these numbers of nodes.
///
/// # Errors
///
/// Returns an error if a number is not one, or the model cannot be converted.
pub fn growth(version: &str, rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    let (version, rounds): (i64, usize) = (version.parse()?, rounds.parse()?);
    for size in sizes {
        let nodes: usize = size.parse()?;
        let bytes = chain(nodes);
        for _ in 0..rounds {
            let mut model = decode(bytes.clone());
            let name = format!("convert/{nodes}");
            samples.time(name, || convert(&mut model, version, &ConvertOptions::default()))?;
        }
    }
    Ok(())
}
