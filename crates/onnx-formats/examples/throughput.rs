//! Measures how fast weights become text and JSON and return, in bytes of tensors per second:
//! `cargo run --release -p onnx-formats --example throughput -- [MIB]`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example measures and reports")]

use std::io::{self, Write};
use std::time::Duration;

use onnx_formats::{
    ConvertError, Execution, Losses, MessageType, read_json, read_text, write_json, write_text,
};
use onnx_proto::wire::Writer;

/// Counts bytes; keeps them if asked to.
#[derive(Default)]
struct Sink {
    count: u64,
    kept: Option<Vec<u8>>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += bytes.len() as u64;
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A model with tensors of 16 MiB, whose elements are normal numbers that look random: as raw bytes, or as numbers.
fn model(mib: u64, raw: bool) -> Vec<u8> {
    const ELEMENTS: usize = 4 << 20;
    let mut state = 1_u64;
    let mut element = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (f32::from_bits((state >> 41) as u32 | 0x3f80_0000) - 1.5) * 0.1
    };
    let mut writer = Writer::new();
    writer.message(7, |graph| {
        for _ in 0..mib.div_ceil(16) {
            let elements: Vec<f32> = (0..ELEMENTS).map(|_| element()).collect();
            graph.message(5, |tensor| {
                tensor.int64(1, ELEMENTS as i64);
                tensor.int32(2, 1);
                if raw {
                    let bytes: Vec<u8> = elements.into_iter().flat_map(f32::to_le_bytes).collect();
                    tensor.slice(9, &bytes);
                } else {
                    tensor.packed_float(4, elements);
                }
            });
        }
    });
    writer.finish_contiguous().into()
}

type WriteForm = fn(MessageType, &[u8], &Execution, &mut dyn Write) -> Result<Losses, ConvertError>;
type Read = fn(MessageType, &[u8], &Execution) -> Result<bytes::Bytes, ConvertError>;

/// Time of this thread on a processor where the system counts it, so that other processes do not matter; else time.
fn now() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_processor = stat.split(' ').next().and_then(|number| number.parse().ok());
    on_processor.map_or_else(Duration::default, Duration::from_nanos)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mib: u64 = std::env::args().nth(1).map_or(Ok(256), |argument| argument.parse())?;
    println!("{:<24} {:>10} {:>10} {:>12}", "form", "write MB/s", "read MB/s", "text, bytes");
    for (kind, raw) in [("raw_data", true), ("float_data", false)] {
        let model = model(mib, raw);
        let forms: [(&str, WriteForm, Read); 2] = [
            ("text", |ty, model, execution, out| write_text(ty, [model], execution, out), read_text),
            ("JSON", |ty, model, execution, out| write_json(ty, [model], execution, out), read_json),
        ];
        for (name, write, read) in forms {
            let rate = |start: Duration| model.len() as f64 / 1e6 / (now() - start).as_secs_f64();
            let mut sink = Sink::default();
            let start = now();
            write(MessageType::MODEL, &model, &Execution::DEFAULT, &mut sink)?;
            let written = rate(start);
            let size = usize::try_from(sink.count)?;
            let mut sink = Sink { kept: Some(Vec::with_capacity(size)), ..Sink::default() };
            write(MessageType::MODEL, &model, &Execution::DEFAULT, &mut sink)?;
            let text = sink.kept.unwrap_or_default();
            let start = now();
            let back = read(MessageType::MODEL, &text, &Execution::DEFAULT)?;
            let read = rate(start);
            if back != model {
                return Err("the model came back changed".into());
            }
            println!("{:<24} {written:>10.0} {read:>10.0} {size:>12}", format!("{name}, {kind}"));
        }
    }
    Ok(())
}
