//! Counts the steps of a program that is built with counters, and reports them when it ends. `cargo xtask hostile` compiles this
//! file to an object, which is linked to the `onnx` command: the command itself has nothing of it.
//!
//! The file that the variable `ONNX_STEPS` names receives the number of executed branches and the peak memory in KiB.
#![no_std]

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn creat(path: *const c_char, mode: u32) -> c_int;
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    fn getrusage(who: c_int, usage: *mut [i64; 18]) -> c_int;
}

static PASSED: AtomicU64 = AtomicU64::new(0);

/// Called by instrumented code. Threads work one after the other, so no count is lost.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    PASSED.store(PASSED.load(Relaxed).wrapping_add(1), Relaxed);
}

extern "C" fn report() {
    let steps = PASSED.load(Relaxed);
    let mut usage = [0_i64; 18];
    // SAFETY: the arguments are texts that end with zero, buffers with their lengths, and a structure of the right size.
    unsafe {
        let path = getenv(c"ONNX_STEPS".as_ptr());
        if path.is_null() {
            return;
        }
        getrusage(0, &raw mut usage);
        let file = creat(path, 0o600);
        // The third number of 64 bits after two times of two.
        for number in [steps, usage[4] as u64] {
            let mut text = [b' '; 21];
            let mut rest = number;
            let mut at = 20;
            loop {
                at -= 1;
                text[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            write(file, text.as_ptr().cast(), text.len());
        }
    }
}

/// Run when the program ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = report;
