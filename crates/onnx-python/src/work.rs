//! Long work: without the interpreter lock, and ended by signals, a deadline or an exception of a callback.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onnxkit::types::{Execution, Interrupt, LIMITS, Limits, Step};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::fault::{Fault, Outcome, bug};
use crate::number::is_truth;
use crate::reserve;

/// Signals are looked for this often.
const POLL: Duration = Duration::from_millis(20);
/// A callback for progress is called at most this often.
const REPORT: Duration = Duration::from_millis(100);

/// How callers want work to be done: the keyword arguments `limits`, `timeout`, `progress` and `seed`.
#[derive(Default)]
pub(crate) struct Work {
    limits: Limits,
    timeout: Option<Duration>,
    progress: Option<Py<PyAny>>,
    seed: u64,
}

/// An argument as an error repeats it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 80;
    let text = value.repr().map(|text| text.to_string_lossy().into_owned());
    // The representation of an object of another library can fail.
    let text = text.unwrap_or_else(|_| "…".to_owned());
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The whole number of an argument, which `given` repeats. A truth value is none.
fn whole(value: &Bound<'_, PyAny>, given: &str, example: &str) -> PyResult<u64> {
    let expected = format!("`{given}`: write a whole number from 0 to 2**64 - 1, such as {example}");
    if is_truth(value) {
        return Err(PyTypeError::new_err(expected));
    }
    value.extract().map_err(|error: PyErr| match error.is_instance_of::<PyTypeError>(value.py()) {
        true => PyTypeError::new_err(expected),
        false => Fault::argument(expected).into(),
    })
}

/// A number of seconds.
fn timeout(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let expected =
        format!("`timeout={}`: write a number of seconds that is not negative, such as 2.5", shown(value));
    let seconds = match value.extract::<f64>() {
        Ok(seconds) if !is_truth(value) => Duration::try_from_secs_f64(seconds).ok(),
        // An integer that no float is near.
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => None,
        _ => return Err(PyTypeError::new_err(expected)),
    };
    seconds.ok_or_else(|| Fault::argument(expected).into())
}

/// Why work ends early.
#[derive(Default)]
struct Ending {
    is_ended: AtomicBool,
    /// Whether memory was refused.
    is_short: AtomicBool,
    exception: Mutex<Option<PyErr>>,
    /// When signals are looked for next, and when progress is reported next, in milliseconds.
    poll: AtomicU64,
    report: AtomicU64,
}

impl Ending {
    fn end(&self, exception: Option<PyErr>) {
        if let Some(exception) = exception {
            *self.exception.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
        }
        self.is_ended.store(true, Ordering::Release);
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// The exception that ended the work, if something other than a deadline did.
    fn exception(&self) -> Option<PyErr> {
        let raised = self.exception.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.or_else(|| self.is_short.load(Ordering::Acquire).then(|| reserve::refused().into()))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Whether the time in `next` has come, which is set to the one after `interval` then.
fn is_due(next: &AtomicU64, now: Duration, interval: Duration) -> bool {
    let now = milliseconds(now);
    let is_due = now >= next.load(Ordering::Relaxed);
    if is_due {
        next.store(now.saturating_add(milliseconds(interval)), Ordering::Relaxed);
    }
    is_due
}

/// The looks for signals of work that makes a change which cannot be taken back.
pub(crate) struct Signals<'a>(&'a Ending);

impl Signals<'_> {
    /// Lets the next check of the interrupt look for signals, however short the work was: it is the last one before the change.
    pub(crate) fn look_at_next_check(&self) {
        self.0.poll.store(0, Ordering::Relaxed);
    }
}

impl Work {
    /// Reads the keyword arguments of a call; unknown ones are refused.
    pub(crate) fn of(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut work = Self::default();
        let Some(options) = options else { return Ok(work) };
        for (key, value) in options {
            if value.is_none() {
                continue;
            }
            match key.extract::<String>()?.as_str() {
                "limits" => work.set_limits(&value)?,
                "timeout" => work.timeout = Some(timeout(&value)?),
                "progress" if !value.is_callable() => {
                    let expected = "write a function of a task, what is done and the total";
                    return Err(PyTypeError::new_err(format!("`progress={}`: {expected}", shown(&value))));
                }
                "progress" => work.progress = Some(value.unbind()),
                "seed" => work.seed = whole(&value, &format!("seed={}", shown(&value)), "42")?,
                other => {
                    let known = "limits, timeout, progress and seed";
                    return Err(
                        Fault::argument(format!("`{other}` is not an option; known are {known}")).into()
                    );
                }
            }
        }
        Ok(work)
    }

    /// Changes limits by their names.
    fn set_limits(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(limits) = value.cast::<PyMapping>() else {
            let expected = "write whole numbers by the names of limits, as in `limits={'nodes': 1_000_000}`";
            return Err(PyTypeError::new_err(format!("`limits={}`: {expected}", shown(value))));
        };
        for entry in limits.items()? {
            let (name, limit): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            let given = format!("limits={{{}: {}}}", shown(&name), shown(&limit));
            let Ok(name) = name.extract::<String>() else {
                return Err(PyTypeError::new_err(format!("`{given}`: write the name of a limit as a `str`")));
            };
            let Some(known) = LIMITS.iter().find(|known| known.name == name) else {
                let near = onnxkit::schema::nearest(&name, LIMITS.iter().map(|known| known.name));
                let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                let message = format!(
                    "`{given}`: a limit of this name does not exist; {near}`onnx explain --list limits` lists them"
                );
                return Err(Fault::argument(message).into());
            };
            let limit = whole(&limit, &given, "1_000_000")?;
            self.limits.set(known.name, limit).map_err(Fault::argument)?;
        }
        Ok(())
    }

    /// Does work without the interpreter lock.
    pub(crate) fn run<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&Execution) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        self.run_watched(py, |execution, _| work(execution))
    }

    /// Like [`run`](Self::run), for work that makes a change in itself, such as the replacement of a file.
    pub(crate) fn run_watched<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&Execution, &Signals<'_>) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        reserve::require()?;
        let timeout = self.timeout;
        let (execution, ending) = self.execution();
        let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&execution, &Signals(&ending)))));
        if ending.is_ended() {
            drop(result);
            return Err(ending.exception().unwrap_or_else(|| {
                let seconds = timeout.unwrap_or_default().as_secs_f64();
                Fault::new("Stopped", format!("the work was stopped after {seconds} s, as `timeout` says"))
                    .into()
            }));
        }
        match result {
            Ok(result) => result.map_err(PyErr::from),
            Err(panic) => Err(bug(&*panic)),
        }
    }

    /// Does work whose result tells itself whether a deadline ended it: only exceptions of signals are raised.
    pub(crate) fn run_to_end<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&Execution) -> T + Send,
    ) -> PyResult<T> {
        reserve::require()?;
        let (execution, ending) = self.execution();
        let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&execution))));
        match ending.exception() {
            Some(exception) => Err(exception),
            None => result.map_err(|panic| bug(&*panic)),
        }
    }

    /// Does work that uses several threads, those of a separate pool: a child process would not have those of another
    /// pool. The caller looks for signals meanwhile.
    pub(crate) fn run_on<T: Send>(
        self,
        py: Python<'_>,
        threads: usize,
        work: impl FnOnce(&Execution) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        if threads <= 1 {
            return self.run(py, work);
        }
        self.run(py, |execution| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool =
                pool.map_err(|error| Fault::memory(format!("{threads} threads cannot be started: {error}")))?;
            let mut result = None;
            pool.in_place_scope(|scope| {
                let (done, wait) = std::sync::mpsc::channel::<()>();
                let result = &mut result;
                scope.spawn(move |_| {
                    *result = Some(work(execution));
                    drop(done);
                });
                while wait.recv_timeout(POLL) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    // A request to stop is seen by the work itself.
                    let _ = execution.interrupt.check();
                }
            });
            result.unwrap_or_else(|| Err(Fault::new("BugError", "the work has no result")))
        })
    }

    fn execution(self) -> (Execution, Arc<Ending>) {
        let Self { limits, timeout, progress, seed } = self;
        let ending = Arc::new(Ending {
            poll: AtomicU64::new(milliseconds(POLL)),
            report: AtomicU64::new(milliseconds(REPORT)),
            ..Ending::default()
        });
        let (start, caller) = (Instant::now(), std::thread::current().id());
        let shared = Arc::clone(&ending);
        let interrupt = Interrupt::when(move || {
            let now = start.elapsed();
            if timeout.is_some_and(|timeout| now >= timeout) {
                shared.end(None);
            }
            if reserve::is_short() {
                shared.is_short.store(true, Ordering::Release);
                shared.end(None);
            }
            // Python runs handlers of signals in the thread that called; in others there is nothing to look for.
            if std::thread::current().id() == caller && is_due(&shared.poll, now, POLL) {
                reserve::follow();
                Python::attach(|py| py.check_signals().unwrap_or_else(|error| shared.end(Some(error))));
            }
            shared.is_ended()
        });
        let mut execution =
            Execution::default().with_limits(limits).with_interrupt(interrupt).with_seed(seed);
        if let Some(progress) = progress {
            let shared = Arc::clone(&ending);
            execution = execution.with_progress(move |step: Step| {
                if shared.is_ended() || !is_due(&shared.report, start.elapsed(), REPORT) {
                    return;
                }
                Python::attach(|py| {
                    let called = progress.call1(py, (step.task, step.done, step.total));
                    called.map(drop).unwrap_or_else(|error| shared.end(Some(error)));
                });
            });
        }
        (execution, ending)
    }
}
