//! The allocator of the extension, which keeps memory for the time when the system refuses more.
//!
//! Most of Rust's collections cannot report that memory is refused: the process ends. The allocator therefore keeps a block that
//! nothing uses. When the system refuses memory, the block is given back to it, the request is repeated, and [`is_short`] holds:
//! the work that is under way ends at its next check, with what the block had left, and raises `MemoryError`. The next call makes
//! the block again.
//!
//! The block is address space, not memory: only its first page is ever touched. Work that needs more than the block between two
//! checks still ends the process, as does one request that is larger than the block and whose code cannot handle the refusal.
//! The block therefore has room for a copy of the nodes and values of the model of a call, and, since collections grow by doubling,
//! for one that is twice as large as the largest of the call so far.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::fault::{Fault, Outcome};

#[global_allocator]
static ALLOCATOR: Reserve = Reserve {
    block: AtomicPtr::new(null_mut()),
    size: AtomicUsize::new(0),
    largest: AtomicUsize::new(0),
    is_short: AtomicBool::new(false),
};

/// The size of the block where the system has it. The C library of Linux would keep a freed block of at most 32 MiB for itself.
const USUAL: usize = 64 << 20;
/// What is left for small requests.
const LEAST: usize = 8 << 20;
/// Requests from this size on are counted as large.
const LARGE: usize = 1 << 20;
/// The room for a large request is that for one of at most this size: elements of tensors are larger, and can be refused.
const MOST: usize = 128 << 20;
/// About the bytes that a model takes for a node in one collection.
const NODE: usize = 256;

struct Reserve {
    /// Begins with its size. Null if there is none.
    block: AtomicPtr<usize>,
    /// The size again, for questions; 0 if there is none.
    size: AtomicUsize,
    /// The largest request that is expected.
    largest: AtomicUsize,
    /// Whether the block was given back since it was made.
    is_short: AtomicBool,
}

/// The layout of a block.
const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, align_of::<usize>()) {
        Ok(layout) => layout,
        // Only sizes that no system has.
        Err(_) => Layout::new::<usize>(),
    }
}

impl Reserve {
    /// Frees the block.
    fn free(&self) {
        self.size.store(0, Ordering::Release);
        let block = self.block.swap(null_mut(), Ordering::AcqRel);
        if !block.is_null() {
            // SAFETY: `put` allocated the block with the layout of the size that it wrote into it; the swap left it to this
            // call only.
            unsafe { System.dealloc(block.cast(), layout(block.read())) }
        }
    }

    /// Makes a block of a size where there is none.
    fn put(&self, size: usize) -> bool {
        // SAFETY: the size is not 0.
        let block: *mut usize = unsafe { System.alloc(layout(size)) }.cast();
        if block.is_null() {
            return false;
        }
        // SAFETY: the block has the alignment and at least the size of the number.
        unsafe { block.write(size) };
        match self.block.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => self.size.store(size, Ordering::Release),
            // SAFETY: the block was allocated above with this layout, and nothing else knows it.
            Err(_) => unsafe { System.dealloc(block.cast(), layout(size)) },
        }
        true
    }

    /// Makes the block if there is none, or one that is too small. Returns `false` if the system does not have a large enough one.
    fn make(&self) -> bool {
        let needed = LEAST.saturating_add(self.largest.load(Ordering::Relaxed).saturating_mul(2));
        if self.size.load(Ordering::Acquire) >= needed {
            return true;
        }
        self.free();
        let mut size = USUAL.max(needed);
        while size >= LEAST {
            if self.put(size) {
                self.is_short.store(false, Ordering::Release);
                return size >= needed;
            }
            size = if size > needed { (size / 2).max(needed) } else { size / 2 };
        }
        false
    }

    /// Gives the block back to the system, so that a refused request can be repeated. One that is larger would be refused again.
    #[cold]
    fn give_back(&self, requested: usize) {
        if requested <= self.size.load(Ordering::Acquire) {
            self.is_short.store(true, Ordering::Release);
            self.free();
        }
    }

    #[inline]
    fn note(&self, requested: usize) {
        if requested >= LARGE {
            self.largest.fetch_max(requested.min(MOST), Ordering::Relaxed);
        }
    }
}

// SAFETY: every method has the result of the same method of `System` for the same arguments, whose contract is that of this one. A
// method that returns null has left everything as it was, so it may be called again. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for Reserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note(layout.size());
        // SAFETY: the caller keeps the contract.
        let memory = unsafe { System.alloc(layout) };
        if !memory.is_null() {
            return memory;
        }
        self.give_back(layout.size());
        // SAFETY: as above. Another thread may have given the block back.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.note(layout.size());
        // SAFETY: the caller keeps the contract.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if !memory.is_null() {
            return memory;
        }
        self.give_back(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.note(size);
        // SAFETY: the caller keeps the contract.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if !moved.is_null() {
            return moved;
        }
        self.give_back(size);
        // SAFETY: a refused request has left the memory as it was.
        unsafe { System.realloc(memory, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Whether memory was refused since a reserve was made, so that work must end.
pub(crate) fn is_short() -> bool {
    ALLOCATOR.is_short.load(Ordering::Relaxed)
}

/// A call begins, whose model has this number of nodes as far as is known.
pub(crate) fn begin(nodes: usize) {
    ALLOCATOR.largest.store(nodes.saturating_mul(NODE), Ordering::Relaxed);
}

/// Makes the reserve if there is none, or one that is too small.
///
/// # Errors
///
/// Returns an error if the system does not have the memory: then the next refusal could end the process.
pub(crate) fn require() -> Outcome<()> {
    if ALLOCATOR.make() { Ok(()) } else { Err(refused()) }
}

/// The same for an edit of a model with this number of nodes.
pub(crate) fn require_for(nodes: usize) -> Outcome<()> {
    ALLOCATOR.largest.fetch_max(nodes.saturating_mul(NODE), Ordering::Relaxed);
    require()
}

/// Lets the reserve grow with the collections of the work that is under way. Where the system has no memory for that, it becomes
/// smaller.
pub(crate) fn follow() {
    if !is_short() {
        ALLOCATOR.make();
    }
}

/// The error of work that ended because the system refused memory.
pub(crate) fn refused() -> Fault {
    Fault::memory("the system refuses memory: allow the process more, or give it less to do")
}
