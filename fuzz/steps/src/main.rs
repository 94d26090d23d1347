//! `steps [--growth PROGRAM] [PART OF A NAME]`: the table of hostile cases, with the steps that each takes. `cargo xtask hostile` builds it so
//! that the compiler calls `__sanitizer_cov_trace_pc` wherever the program can go one way or another: the number of calls
//! is the same on every machine, however busy, which no clock is.

use std::process::ExitCode;

use onnx_hostile::memory::Counting;
use onnx_hostile::table::{Row, run};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often the callback was called. Only one thread works at a time.
static mut PASSED: u64 = 0;

/// Called by instrumented code; not instrumented itself, as its name says to the compiler.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc() {
    // SAFETY: only the thread that runs a case is running; the other thread waits for it.
    unsafe { PASSED = PASSED.wrapping_add(1) }
}

fn steps() -> u64 {
    // SAFETY: as above.
    unsafe { PASSED }
}

/// Runs the commands of a program on models that grow.
fn growth(program: String, only: &str) -> ExitCode {
    let mut count = 0;
    let failed = onnx_hostile::growth::run(program.as_ref(), only, |row| {
        println!("{row}");
        count += 1;
    });
    match failed {
        Ok(failed) => {
            println!("\n{count} pairs of a command and an axis, {failed} out of bounds");
            if count == 0 || failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|argument| argument == "--growth").is_some() {
        return growth(arguments.next().unwrap_or_default(), &arguments.next().unwrap_or_default());
    }
    let only = arguments.next().unwrap_or_default();
    println!("{}", Row::head());
    let (mut cases, mut peak, mut most) = (0, 0, 0);
    let failed = run(&only, steps, |row| {
        println!("{}", row.text());
        cases += 1;
        if let Ok(measured) = &row.result {
            peak = peak.max(measured.peak);
            most = most.max(measured.steps);
        }
    });
    println!("\n{cases} cases, at most {} MiB and {most} steps, {failed} out of bounds", peak >> 20);
    if cases == 0 || failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
