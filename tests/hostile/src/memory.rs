//! What a piece of code asks of the allocator, thread by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The allocator of the system, counting. A program that measures makes it its own with `#[global_allocator]`; in any
/// other, [`measure`] finds that nothing was taken.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    // Without destructors and made without memory, so that the allocator may use them at any time.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// What a piece of work took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The bytes that are still held afterwards, such as those of the result, beyond those held before.
    pub kept: usize,
    /// The most bytes that were held at once, beyond those held before.
    pub peak: usize,
    /// How often memory was asked for.
    pub calls: u64,
}

/// Does a piece of work on this thread and says what it took.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Taken) {
    let before = LIVE.get();
    PEAK.set(before);
    CALLS.set(0);
    let result = work();
    let beyond = |bytes: isize| usize::try_from(bytes.saturating_sub(before)).unwrap_or_default();
    (result, Taken { kept: beyond(LIVE.get()), peak: beyond(PEAK.get()), calls: CALLS.get() })
}

/// Nothing is counted for a thread that is going away.
fn grew(bytes: usize) {
    let _ = LIVE.try_with(|live| {
        live.set(live.get().saturating_add_unsigned(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    });
}

fn shrank(bytes: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub_unsigned(bytes)));
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
        shrank(layout.size());
        // SAFETY: the memory came from the system with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are held while the contents move.
        grew(size);
        shrank(layout.size());
        // SAFETY: the memory came from the system with this layout, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}
