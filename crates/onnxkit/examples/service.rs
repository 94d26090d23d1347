//! Examines uploads as a service does: `cargo run -p onnxkit --example service FILES`.
//!
//! Each upload has a separate deadline and limits, one switch ends all, and the result of an upload never depends on how fast
//! the machine is: it is complete, or it is late.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use onnxkit::check::{CheckOptions, check};
use onnxkit::codec::{DecodeOptions, decode};
use onnxkit::diag::Severity;
use onnxkit::infer::{InferOptions, infer};
use onnxkit::types::{Execution, Interrupt, Limits};

/// What the service answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Number of nodes, and the errors of the checker and of inference.
    Examined {
        /// Number of nodes.
        nodes: usize,
        /// The messages of the errors.
        errors: Vec<String>,
    },
    /// The bytes are not a model that can be read.
    Unreadable(String),
    /// The deadline passed, or the service ended.
    Late,
}

/// Limits for models from strangers.
fn limits() -> Limits {
    Limits::default().with_input_bytes(64 << 20).with_nodes(200_000)
}

/// Examines one upload.
pub fn examine(bytes: Vec<u8>, deadline: Duration, stop: &Arc<AtomicBool>) -> Answer {
    let (end, stop) = (Instant::now() + deadline, Arc::clone(stop));
    let interrupt = Interrupt::when(move || stop.load(Ordering::Relaxed) || Instant::now() >= end);
    let execution = Execution::from(limits()).with_interrupt(interrupt.clone());
    let decoded = match decode(bytes.into(), &DecodeOptions::default().with_execution(execution.clone())) {
        Ok(decoded) => decoded,
        Err(_) if interrupt.check().is_err() => return Answer::Late,
        Err(error) => return Answer::Unreadable(error.to_string()),
    };
    let mut found = decoded.findings;
    found.merge(check(&decoded.model, &CheckOptions::default().with_execution(execution.clone())));
    let inference = infer(&decoded.model, &InferOptions::default().with_execution(execution));
    found.merge(inference.findings().clone());
    if interrupt.check().is_err() {
        return Answer::Late;
    }
    let errors = found.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    Answer::Examined {
        nodes: decoded.model.node_count(),
        errors: errors.map(|found| found.message.clone()).collect(),
    }
}

/// Examines uploads in several threads; the answers have the order of the uploads.
pub fn serve(
    uploads: Vec<Vec<u8>>,
    deadline: Duration,
    threads: usize,
    stop: &Arc<AtomicBool>,
) -> Vec<Answer> {
    let count = uploads.len();
    let queue = Mutex::new(uploads.into_iter().enumerate());
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (queue, send) = (&queue, send.clone());
            scope.spawn(move || {
                while let Some((index, bytes)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let _ = send.send((index, examine(bytes, deadline, stop)));
                }
            });
        }
        drop(send);
    });
    let mut answers = vec![Answer::Late; count];
    for (index, answer) in receive {
        answers[index] = answer;
    }
    answers
}

fn main() -> Result<(), Box<dyn Error>> {
    let uploads: Vec<Vec<u8>> = std::env::args().skip(1).map(std::fs::read).collect::<Result<_, _>>()?;
    let begin = Instant::now();
    let answers = serve(uploads, Duration::from_secs(10), 2, &Arc::default());
    let late = answers.iter().filter(|answer| **answer == Answer::Late).count();
    println!("{} uploads in {:?}, {late} late", answers.len(), begin.elapsed());
    for answer in answers {
        println!("{answer:?}");
    }
    Ok(())
}
