//! Weights as protobuf's text, as JSON and as ONNX text: rates of writing and reading.

use std::error::Error;
use std::io::{self, Write};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_formats::{
    ConvertError, Execution, Losses, MessageType, read_json, read_text, write_json, write_text,
};
use onnx_proto::wire::Writer;
use onnx_text::{PrintOptions, print_model_to};

use crate::samples::Samples;

/// Counts bytes.
#[derive(Default)]
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A model with tensors of 16 MiB, whose elements are normal numbers that look random: as raw bytes, or as numbers.
fn model(bytes: u64, is_raw: bool) -> Bytes {
    const ELEMENTS: usize = 4 << 20;
    let mut state = 1_u64;
    let mut element = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (f32::from_bits((state >> 41) as u32 | 0x3f80_0000) - 1.5) * 0.1
    };
    let mut writer = Writer::new();
    writer.int64(1, 10);
    writer.message(7, |graph| {
        for _ in 0..bytes.div_ceil(ELEMENTS as u64 * 4) {
            let elements: Vec<f32> = (0..ELEMENTS).map(|_| element()).collect();
            graph.message(5, |tensor| {
                tensor.int64(1, ELEMENTS as i64);
                tensor.int32(2, 1);
                if is_raw {
                    let bytes: Vec<u8> = elements.into_iter().flat_map(f32::to_le_bytes).collect();
                    tensor.slice(9, &bytes);
                } else {
                    tensor.packed_float(4, elements);
                }
            });
        }
    });
    writer.finish_contiguous()
}

type WriteForm = fn(MessageType, &[u8], &Execution, &mut dyn Write) -> Result<Losses, ConvertError>;
type ReadForm = fn(MessageType, &[u8], &Execution) -> Result<Bytes, ConvertError>;

/// Samples of writing and reading a model of this size; `raw` weights or `typed` ones. The number of its bytes is the
/// sample `bytes`.
///
/// # Errors
///
/// If a form cannot be written or read, or the model comes back changed.
pub fn forms(kind: &str, bytes: &str, rounds: &str, samples: &mut Samples) -> Result<(), Box<dyn Error>> {
    let model = model(bytes.parse()?, kind == "raw");
    let rounds: usize = rounds.parse()?;
    let forms: [(&str, WriteForm, ReadForm); 2] = [
        ("text", |ty, model, execution, out| write_text(ty, [model], execution, out), read_text),
        ("JSON", |ty, model, execution, out| write_json(ty, [model], execution, out), read_json),
    ];
    let (ty, execution) = (MessageType::MODEL, Execution::DEFAULT);
    samples.push("bytes", model.len() as u64);
    for (name, write, read) in forms {
        for _ in 0..rounds {
            let mut count = Count::default();
            samples.time(format!("write-{name}"), || write(ty, &model, &execution, &mut count))?;
            let mut text = Vec::with_capacity(usize::try_from(count.0)?);
            write(ty, &model, &execution, &mut text)?;
            let back = samples.time(format!("read-{name}"), || read(ty, &text, &execution))?;
            if back != model {
                return Err(format!("the model comes back changed from {name}").into());
            }
        }
    }
    let decoded = decode(model, &DecodeOptions::default())?.model;
    for _ in 0..rounds {
        let mut count = Count::default();
        samples.time("write-ONNX text", || print_model_to(&decoded, &PrintOptions::full(), &mut count))?;
    }
    Ok(())
}
