//! A second thread that finds what comes next while the first builds the graph from what was found.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, Scope};

/// The stack of the thread, in bytes: what looks ahead does not recurse.
const STACK: usize = 256 << 10;

/// How often to ask before sleeping, which makes some hundred microseconds. A thread that is woken often comes to run on
/// the processor of the one that wakes it, and there both wait for each other.
const ASKED: u32 = 200;

/// A thread that goes ahead of a reader.
///
/// Finding where names are takes about as long as building the graph from them. The reader gives groups to be filled and
/// gets them back in the same order, so what is found does not depend on the threads' speed, the memory of both stays
/// small, and what only one of them can have at a time goes along with the groups. The thread ends after the last group, or
/// when the scout is dropped.
///
/// ```
/// use onnx_ir::Scout;
///
/// let mut numbers = 0..10;
/// let sum: i32 = std::thread::scope(|scope| {
///     let find = |group: &mut Vec<i32>| {
///         group.clear();
///         group.extend(numbers.by_ref().take(3));
///         group.len() == 3
///     };
///     let scout = Scout::start(scope, find).expect("the system gives threads");
///     scout.give(Vec::new());
///     scout.give(Vec::new());
///     let mut sum = 0;
///     while let Some(group) = scout.next() {
///         sum += group.iter().sum::<i32>();
///         scout.give(group);
///     }
///     sum
/// });
/// assert_eq!(sum, 45);
/// ```
#[derive(Debug)]
pub struct Scout<T> {
    found: Receiver<T>,
    given: Sender<T>,
}

impl<T: Send> Scout<T> {
    /// Starts a thread that calls `find` with one group after the other, as they are given, until that says that nothing
    /// more follows. `None` where the system gives no thread.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        mut find: impl FnMut(&mut T) -> bool + Send + 'scope,
    ) -> Option<Self>
    where
        T: 'scope,
    {
        let (send, found) = channel();
        let (given, take) = channel();
        let work = move || {
            while let Some(mut group) = wait(&take) {
                let is_more = find(&mut group);
                if send.send(group).is_err() || !is_more {
                    return;
                }
            }
        };
        Builder::new().name("onnx-scout".to_owned()).stack_size(STACK).spawn_scoped(scope, work).ok()?;
        Some(Self { found, given })
    }

    /// Gives a group to be filled.
    pub fn give(&self, group: T) {
        // A thread that has ended needs none.
        drop(self.given.send(group));
    }

    /// The next group, once it is filled; `None` after the last one. Something must have been given for it.
    #[must_use]
    pub fn next(&self) -> Option<T> {
        wait(&self.found)
    }
}

/// What comes next. It is waited for without sleeping at first: to sleep and be woken takes longer than either thread is
/// behind the other most of the time. Where there is one processor only, the other thread goes on meanwhile.
fn wait<T>(next: &Receiver<T>) -> Option<T> {
    for _ in 0..ASKED {
        match next.try_recv() {
            Ok(group) => return Some(group),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::thread::yield_now(),
        }
    }
    next.recv().ok()
}
