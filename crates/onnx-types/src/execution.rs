//! The execution context: what a caller decides about work, whatever the work is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Limits;

/// The context of work on a model, in the same form for every entry point: bounds on its cost, an interrupt that ends it
/// early, a function that receives its progress, and the seed of its random numbers. Clones share the interrupt and the function, so one context
/// serves a whole pipeline.
///
/// Work that is interrupted ends without a result and reports that. It never ends with another result: how fast the machine
/// is decides whether there is an answer, not which one.
///
/// ```
/// use std::time::{Duration, Instant};
/// use onnx_types::{Execution, Interrupt, Stopped};
///
/// // The work ends after a minute, or when another thread cancels it.
/// let deadline = Instant::now() + Duration::from_secs(60);
/// let interrupt = Interrupt::when(move || Instant::now() >= deadline);
/// let execution = Execution::default().with_interrupt(interrupt.clone());
/// assert_eq!(execution.interrupt.check(), Ok(()));
/// interrupt.cancel();
/// assert_eq!(execution.interrupt.check(), Err(Stopped));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Execution {
    /// Bounds on work and memory.
    pub limits: Limits,
    /// Ends the work early. By default it runs to its end.
    pub interrupt: Interrupt,
    /// Receives the progress of the work. By default nothing does.
    pub progress: Progress,
    /// The seed of everything that is random, unless the model states another one. Default: 0.
    pub seed: u64,
}

impl Execution {
    /// The defaults, in constants.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        interrupt: Interrupt::NEVER,
        progress: Progress::UNOBSERVED,
        seed: 0,
    };

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the interrupt.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Sets the function that receives progress: how much of the work is done. The evaluator in addition reports each node
    /// that runs, to an `Observer`.
    #[must_use]
    pub fn with_progress(self, receive: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self { progress: Progress(Some(Arc::new(receive))), ..self }
    }

    /// Sets the seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

impl Default for Execution {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl From<Limits> for Execution {
    fn from(limits: Limits) -> Self {
        Self::DEFAULT.with_limits(limits)
    }
}

/// Ends work early: when it is [cancelled](Self::cancel), or when a condition holds, such as a deadline that has passed. Clones
/// are the same interrupt. It is checked at intervals of less than a millisecond of most work.
///
/// `Interrupt` does not implement `Default`: choose [`NEVER`](Self::NEVER), which cannot be cancelled, or
/// [`new`](Self::new).
#[derive(Clone)]
pub struct Interrupt(Option<Arc<State>>);

struct State {
    is_cancelled: AtomicBool,
    condition: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl Interrupt {
    /// Work that runs to its end.
    pub const NEVER: Self = Self(None);

    /// An interrupt that can be cancelled.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "work without an interrupt has `NEVER`, so neither is the default"
    )]
    pub fn new() -> Self {
        Self::with_condition(None)
    }

    /// An interrupt that a condition cancels as soon as it holds at a check. Crates of this workspace read no clock, so a
    /// deadline is a condition that the caller writes.
    #[must_use]
    pub fn when(condition: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::with_condition(Some(Box::new(condition)))
    }

    fn with_condition(condition: Option<Box<dyn Fn() -> bool + Send + Sync>>) -> Self {
        Self(Some(Arc::new(State { is_cancelled: AtomicBool::new(false), condition })))
    }

    /// Ends the work that has this interrupt at its next check. Does nothing for [`Interrupt::NEVER`].
    pub fn cancel(&self) {
        if let Some(state) = &self.0 {
            state.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns `true` for [`NEVER`](Self::NEVER): nothing ends the work.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        self.0.is_none()
    }

    /// Returns `Ok` if work may continue.
    ///
    /// # Errors
    ///
    /// Returns an error if the work must end; all later checks return it, too.
    pub fn check(&self) -> Result<(), Stopped> {
        let Some(state) = &self.0 else { return Ok(()) };
        if state.is_cancelled.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        if state.condition.as_ref().is_some_and(|holds| holds()) {
            self.cancel();
            return Err(Stopped);
        }
        Ok(())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.as_ref();
        f.debug_struct("Interrupt")
            .field("is_cancelled", &state.is_some_and(|state| state.is_cancelled.load(Ordering::Relaxed)))
            .field("has_condition", &state.is_some_and(|state| state.condition.is_some()))
            .finish()
    }
}

/// Work ended without a result because its [`Interrupt`] was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work was cancelled")
    }
}

impl std::error::Error for Stopped {}

type Receive = dyn Fn(Step) + Send + Sync;

/// The function that receives the progress of work. Clones have the same function; see [`Execution::with_progress`].
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Receive>>);

impl Progress {
    /// Work that is not observed.
    pub const UNOBSERVED: Self = Self(None);

    /// Reports progress to the function.
    pub fn report(&self, step: Step) {
        if let Some(receive) = &self.0 {
            receive(step);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(observed)" } else { "Progress(unobserved)" })
    }
}

/// Progress of work. Steps are reported at short intervals of work, not of time, by the thread that works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// The kind of work, as one word: `decode`, `parse`, `check`, `infer`, `run`, `edit`.
    pub task: &'static str,
    /// Amount of work that is done, in bytes of a file or text, nodes of a model, operations of a run, or edits.
    pub done: u64,
    /// Total amount of work, in the same unit; less than `done` if nodes are visited several times. 0 if it is not known.
    pub total: u64,
}

impl Step {
    /// A step of work whose total amount is not known.
    #[must_use]
    pub const fn of(task: &'static str, done: u64) -> Self {
        Self { task, done, total: 0 }
    }
}

/// Counts work; checks the interrupt and reports progress at intervals.
#[derive(Clone, Debug)]
pub struct Watch {
    interrupt: Interrupt,
    progress: Progress,
    step: Step,
    /// Amount of work at which the next check is due; `u64::MAX` for work without an interrupt and without a receiver of progress.
    next: u64,
    interval: u64,
}

impl Watch {
    /// Watches a task of `total` units of work, of which `interval` take well below a millisecond.
    #[must_use]
    pub fn new(execution: &Execution, task: &'static str, total: u64, interval: u64) -> Self {
        let (interrupt, progress) = (execution.interrupt.clone(), execution.progress.clone());
        let is_watched = interrupt.0.is_some() || progress.0.is_some();
        let next = if is_watched { 0 } else { u64::MAX };
        Self { interrupt, progress, step: Step { task, done: 0, total }, next, interval }
    }

    /// Watches a part of a task without separate progress, of which `interval` units take well below a millisecond.
    #[must_use]
    pub fn silent(interrupt: &Interrupt, interval: u64) -> Self {
        Self::new(&Execution::DEFAULT.with_interrupt(interrupt.clone()), "", 0, interval)
    }

    /// Counts `amount` of work that is about to be done.
    ///
    /// # Errors
    ///
    /// Returns an error if the work must end.
    #[inline]
    pub fn work(&mut self, amount: u64) -> Result<(), Stopped> {
        self.step.done = self.step.done.saturating_add(amount);
        if self.step.done < self.next { Ok(()) } else { self.inspect() }
    }

    /// Records that work has reached `position`, in the unit of the total.
    ///
    /// # Errors
    ///
    /// Returns an error if the work must end.
    #[inline]
    pub fn reach(&mut self, position: u64) -> Result<(), Stopped> {
        self.step.done = position;
        if position < self.next { Ok(()) } else { self.inspect() }
    }

    /// Checks the interrupt at once, before work that takes long whatever its amount.
    ///
    /// # Errors
    ///
    /// Returns an error if the work must end.
    pub fn check(&self) -> Result<(), Stopped> {
        self.interrupt.check()
    }

    #[cold]
    fn inspect(&mut self) -> Result<(), Stopped> {
        self.progress.report(self.step);
        self.interrupt.check()?;
        self.next = self.step.done.saturating_add(self.interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn work_ends_at_the_first_check_after_the_interrupt() {
        let execution = Execution::default().with_interrupt(Interrupt::new());
        let mut watch = Watch::new(&execution, "infer", 100, 10);
        assert_eq!(watch.work(1), Ok(()));
        execution.interrupt.cancel();
        assert!((0..9).all(|_| watch.work(1).is_ok()));
        assert_eq!(watch.work(1), Err(Stopped));
    }

    #[test]
    fn a_condition_that_held_once_ends_all_work() {
        let calls = Arc::new(AtomicBool::new(true));
        let condition = Arc::clone(&calls);
        let interrupt = Interrupt::when(move || condition.swap(false, Ordering::Relaxed));
        let execution = Execution::default().with_interrupt(interrupt);
        assert_eq!(Watch::new(&execution, "run", 0, 1000).work(1), Err(Stopped));
        assert_eq!(execution.interrupt.check(), Err(Stopped));
        Interrupt::NEVER.cancel();
        assert_eq!(Interrupt::NEVER.check(), Ok(()));
    }

    #[test]
    fn silent_work_ends_with_the_interrupt() {
        let interrupt = Interrupt::new();
        let mut watch = Watch::silent(&interrupt, 2);
        assert_eq!((watch.work(1), watch.work(1)), (Ok(()), Ok(())));
        interrupt.cancel();
        assert_eq!(watch.work(1), Err(Stopped));
        assert_eq!(Watch::silent(&Interrupt::NEVER, 2).work(u64::MAX), Ok(()));
    }

    #[test]
    fn observers_see_each_interval() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observer = Arc::clone(&seen);
        let execution =
            Execution::default().with_progress(move |step| observer.lock().unwrap().push(step.done));
        let mut watch = Watch::new(&execution, "decode", 5, 2);
        assert!((0..5).all(|_| watch.work(1).is_ok()));
        assert_eq!(*seen.lock().unwrap(), [1, 3, 5]);
    }
}
