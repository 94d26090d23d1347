//! The work of a tab: its progress, and its cancellation by the user or when the tab is closed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onnx_types::{Execution, Interrupt, Step};

/// The work for a tab. Requests that wait for others belong to it, too.
#[derive(Default)]
pub(super) struct Work(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    /// The interrupts of the requests that are answered, by number.
    running: Vec<(u64, Interrupt)>,
    /// The last step of each kind of work.
    steps: BTreeMap<&'static str, Step>,
}

impl Work {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to answer a request, which also ends with `outer`.
    pub(super) fn begin(self: &Arc<Self>, outer: &Interrupt) -> Task {
        let interrupt = match outer.is_never() {
            true => Interrupt::new(),
            false => {
                let outer = outer.clone();
                Interrupt::when(move || outer.check().is_err())
            }
        };
        let mut state = self.state();
        if state.running.is_empty() {
            state.steps.clear();
        }
        state.last += 1;
        let number = state.last;
        state.running.push((number, interrupt.clone()));
        Task { work: Arc::clone(self), number, interrupt }
    }

    /// Cancels the requests that run and those that wait.
    pub(super) fn cancel(&self) {
        self.state().running.iter().for_each(|(_, interrupt)| interrupt.cancel());
    }

    /// The progress as JSON: for each kind of work the amount that is done and the total, which is 0 if it is not known.
    pub(super) fn progress(&self) -> String {
        let state = self.state();
        let steps =
            state.steps.values().map(|step| format!("\"{}\":[{},{}]", step.task, step.done, step.total));
        format!("{{{}}}", steps.collect::<Vec<_>>().join(","))
    }
}

/// A request that is answered.
pub(super) struct Task {
    work: Arc<Work>,
    number: u64,
    interrupt: Interrupt,
}

impl Task {
    /// The execution of a session with the interrupt and the progress of this request.
    pub(super) fn adapt(&self, execution: Execution) -> Execution {
        let work = Arc::clone(&self.work);
        let note = move |step: Step| {
            work.state().steps.insert(step.task, step);
        };
        execution.with_interrupt(self.interrupt.clone()).with_progress(note)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.work.state().running.retain(|&(number, _)| number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_cancelled_and_reports_progress() {
        let work = Arc::new(Work::default());
        let outer = Interrupt::new();
        let (one, two) = (work.begin(&Interrupt::NEVER), work.begin(&outer));
        let execution = one.adapt(Execution::default());
        execution.progress.report(Step::of("edit", 3));
        execution.progress.report(Step::of("edit", 4));
        assert_eq!(work.progress(), r#"{"edit":[4,0]}"#);
        outer.cancel();
        assert!(one.interrupt.check().is_ok() && two.interrupt.check().is_err());
        work.cancel();
        assert!(execution.interrupt.check().is_err());
        drop((one, two));
        // What comes later is not what was cancelled.
        let next = work.begin(&Interrupt::NEVER);
        assert!(next.interrupt.check().is_ok());
        assert_eq!(work.progress(), "{}");
    }
}
