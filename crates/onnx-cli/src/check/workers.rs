//! Checks files on several threads, and reports on them in their order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, available_parallelism, scope};

use crate::exit::Failure;
use crate::input::display_name;

/// The stack of a thread, in bytes: what the main thread has on most systems.
const STACK: usize = 8 << 20;

/// Calls `look` with every file, on as many threads as there are processors, and `tell` with the names and results in the
/// order of the files, as soon as they are known. Ends early when `tell` fails.
pub(super) fn in_order<T: Send>(
    files: Vec<Result<PathBuf, Failure>>,
    look: impl Fn(&Path) -> Result<T, Failure> + Sync,
    mut tell: impl FnMut(String, Result<T, Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let threads = available_parallelism().map_or(1, std::num::NonZero::get).min(files.len());
    let name = |path: &Path| display_name(path);
    if threads < 2 {
        return files.into_iter().try_for_each(|file| match file {
            Ok(path) => tell(name(&path), look(&path)),
            Err(failure) => tell(String::new(), Err(failure)),
        });
    }
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let paths: Vec<Option<PathBuf>> = files.iter().map(|file| file.as_ref().ok().cloned()).collect();
    let (send, receive) = sync_channel(threads);
    scope(|scope| {
        for _ in 0..threads {
            let (send, next, is_over, paths, look) = (send.clone(), &next, &is_over, &paths, &look);
            let work = move || {
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(index) else { return };
                    let Some(path) = path else { continue };
                    if send.send((index, look(path))).is_err() {
                        return;
                    }
                }
            };
            Builder::new().stack_size(STACK).spawn_scoped(scope, work).map_err(Failure::new)?;
        }
        drop(send);
        // What came before its turn waits here.
        let mut early: BTreeMap<usize, Result<T, Failure>> = BTreeMap::new();
        let told = files.into_iter().enumerate().try_for_each(|(index, file)| {
            let path = match file {
                Ok(path) => path,
                Err(failure) => return tell(String::new(), Err(failure)),
            };
            while !early.contains_key(&index) {
                let Ok((other, result)) = receive.recv() else { break };
                early.insert(other, result);
            }
            match early.remove(&index) {
                Some(result) => tell(name(&path), result),
                None => tell(name(&path), Err(Failure::new("the checker ended early"))),
            }
        });
        // Threads that wait for their result to be taken are let go with the channel.
        is_over.store(true, Ordering::Relaxed);
        drop(receive);
        told
    })
}
