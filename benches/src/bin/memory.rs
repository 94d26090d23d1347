//! Measures what a model takes in memory: `memory PATH` prints a JSON object for `cargo xtask bench --peers`.
//!
//! The allocator counts, which takes time, so nothing is timed here.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its caller")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use onnx_benches::samples::Samples;
use onnx_benches::{decode, decode_messages};
use onnx_codec::ReadMode;

/// The allocator of the system, counting.
struct Counting;

/// Bytes that were asked for and not given back.
static LIVE: AtomicU64 = AtomicU64::new(0);
/// The most that [`LIVE`] ever was.
static PEAK: AtomicU64 = AtomicU64::new(0);
/// How often memory was asked for.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn grew(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let live = LIVE.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

#[expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait; every call goes to that of the system as it came"
)]
// SAFETY: all methods do what the allocator of the system does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the memory came from the system with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grew(size);
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the memory came from the system with this layout, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Records what making something took: what it keeps, the most it took meanwhile, and how often it asked.
fn record<T>(name: &str, samples: &mut Samples, make: impl FnOnce() -> T) -> T {
    let live = LIVE.load(Ordering::Relaxed);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    PEAK.store(live, Ordering::Relaxed);
    let made = make();
    let (now, peak) = (LIVE.load(Ordering::Relaxed), PEAK.load(Ordering::Relaxed));
    let count = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    samples.push(format!("{name}-live"), now.saturating_sub(live));
    samples.push(format!("{name}-peak"), peak.saturating_sub(live));
    samples.push(format!("{name}-allocations"), count);
    made
}

fn main() -> ExitCode {
    let bytes = std::env::args().nth(1).map(|path| onnx_codec::file::read(path, ReadMode::Memory));
    let bytes = match bytes {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => {
            eprintln!("memory: {error}");
            return ExitCode::FAILURE;
        }
        None => {
            eprintln!("memory PATH");
            return ExitCode::FAILURE;
        }
    };
    let mut samples = Samples::default();
    samples.push("input", bytes.len() as u64);
    drop(record("prost", &mut samples, || decode_messages(bytes.clone())));
    let model = record("decode", &mut samples, || decode(bytes.clone()));
    samples.push("nodes", model.node_count() as u64);
    samples.push("values", model.value_count() as u64);
    drop(record("clone", &mut samples, || model.clone()));
    drop(record("encode", &mut samples, || onnx_benches::encode(&model)));
    println!("{}", samples.to_json());
    ExitCode::SUCCESS
}
