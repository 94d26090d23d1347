//! The tabs that show a model. Each has a session: what is changed in one is not changed in another.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onnx_page::Session;

use super::work::Work;

/// Tabs at most, each of which has the model in memory.
const MOST_TABS: usize = 16;
/// Time in which a tab that is loaded again is expected to say that it was closed: requests may be read in another order than they were
/// sent.
const ORDER: Duration = Duration::from_millis(500);
/// How often it is looked for that.
const LOOK: Duration = Duration::from_millis(20);

/// 128 bits that other programs cannot guess: the standard library seeds its hash tables with random numbers of the system.
pub(super) fn random() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// The session of a tab.
struct Tab {
    /// Requests about the model wait for each other.
    session: Arc<Mutex<Session>>,
    work: Arc<Work>,
    /// The number of the connection that closed the tab, and when that was.
    closed: Option<(u64, Instant)>,
}

/// Why no tab was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full(pub(super) String);

/// The sessions of tabs by their names, which are random numbers.
pub(super) struct Tabs {
    /// The model as it was read.
    original: Mutex<Session>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tabs: HashMap<String, Tab>,
    /// Whether there has been a tab.
    began: bool,
}

impl State {
    /// Whether there is a place for another tab. The one that was closed first leaves its place to it.
    fn has_place(&mut self) -> bool {
        if self.tabs.len() >= MOST_TABS {
            let closed = self.tabs.iter().filter_map(|(name, tab)| Some((tab.closed?.1, name)));
            let Some(name) = closed.min().map(|(_, name)| name.clone()) else { return false };
            self.tabs.remove(&name);
        }
        true
    }
}

impl Tabs {
    pub(super) fn new(session: Session) -> Self {
        Self { original: Mutex::new(session), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a tab, and returns its name. A tab that is loaded again has the session of its previous name; one that was
    /// duplicated in the browser has a new one, since the other tab is still open.
    pub(super) fn open(&self, previous: &str) -> Result<String, Full> {
        let end = Instant::now() + ORDER;
        let kept = loop {
            let mut state = self.state();
            match state.tabs.get(previous) {
                Some(tab) if tab.closed.is_some() => break state.tabs.remove(previous),
                Some(_) if Instant::now() < end => {}
                _ => break None,
            }
            drop(state);
            thread::sleep(LOOK);
        };
        // After a defect the state of a session is not known.
        let session = match kept.filter(|tab| !tab.session.is_poisoned()) {
            Some(tab) => tab.session,
            None if !self.state().has_place() => {
                let message =
                    format!("{MOST_TABS} tabs show the model: close one; this page continues by itself then");
                return Err(Full(message));
            }
            None => {
                let original = self.original.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::new(Mutex::new(original.clone()))
            }
        };
        let name = random();
        let mut state = self.state();
        state.began = true;
        state.tabs.insert(name.clone(), Tab { session, work: Arc::default(), closed: None });
        Ok(name)
    }

    /// The session of a tab. A tab that was closed before this request is open again.
    pub(super) fn session(&self, name: &str, number: u64) -> Option<(Arc<Mutex<Session>>, Arc<Work>)> {
        let mut state = self.state();
        let tab = state.tabs.get_mut(name)?;
        tab.closed = tab.closed.filter(|&(closing, _)| number < closing);
        Some((Arc::clone(&tab.session), Arc::clone(&tab.work)))
    }

    /// The work that is done for a tab.
    pub(super) fn work(&self, name: &str) -> Option<Arc<Work>> {
        self.state().tabs.get(name).map(|tab| Arc::clone(&tab.work))
    }

    /// Notes that a tab was closed, and ends the work for it; it may be loaded again.
    pub(super) fn close(&self, name: &str, number: u64) {
        if let Some(tab) = self.state().tabs.get_mut(name) {
            tab.closed = Some((number, Instant::now()));
            tab.work.cancel();
        }
    }

    /// Drops the sessions of tabs that were closed long ago. Returns `true` if there were tabs, and none is left.
    pub(super) fn end_closed(&self, grace: Duration) -> bool {
        let mut state = self.state();
        state.tabs.retain(|_, tab| tab.closed.is_none_or(|(_, since)| since.elapsed() <= grace));
        state.began && state.tabs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::Execution;

    use super::*;

    fn tabs() -> Tabs {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }"#;
        Tabs::new(Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap())
    }

    fn nodes(tabs: &Tabs, name: &str) -> usize {
        tabs.session(name, 9).unwrap().0.lock().unwrap().model().node_count()
    }

    #[test]
    fn tabs_have_sessions_that_outlive_a_reload() {
        let tabs = tabs();
        assert!(!tabs.end_closed(Duration::ZERO));
        let (one, two) = (tabs.open("").unwrap(), tabs.open("").unwrap());
        let simplified = tabs.session(&one, 1).unwrap().0.lock().unwrap().call(r#"{"call":"simplify"}"#);
        assert!(simplified.contains("ok"), "{simplified}");
        assert_eq!((nodes(&tabs, &one), nodes(&tabs, &two)), (1, 2));
        // A duplicate has the name of a tab that is open.
        let duplicate = tabs.open(&one).unwrap();
        assert_eq!((nodes(&tabs, &one), nodes(&tabs, &duplicate)), (1, 2));
        tabs.close(&one, 10);
        let again = tabs.open(&one).unwrap();
        assert_eq!(nodes(&tabs, &again), 1);
        // What was closed late is another tab by now.
        tabs.close(&one, 11);
        assert!(tabs.session(&one, 12).is_none());
        for name in [&two, &duplicate] {
            tabs.close(name, 13);
        }
        assert!(!tabs.end_closed(Duration::ZERO));
        // A tab that came back from the cache of the browser.
        tabs.close(&again, 14);
        assert!(tabs.session(&again, 13).is_some());
        assert!(tabs.session(&again, 15).is_some());
        assert!(!tabs.end_closed(Duration::ZERO));
        tabs.close(&again, 16);
        thread::sleep(Duration::from_millis(5));
        assert!(tabs.end_closed(Duration::ZERO));
    }

    #[test]
    fn too_many_tabs_are_refused() {
        let tabs = tabs();
        let open: Vec<String> = (0..MOST_TABS).map(|_| tabs.open("").unwrap()).collect();
        assert!(tabs.open("").unwrap_err().0.contains("close one"));
        tabs.close(&open[3], 1);
        assert!(tabs.open(&open[3]).is_ok());
    }

    #[test]
    fn tabs_that_were_closed_leave_their_places_at_once() {
        let tabs = tabs();
        let open: Vec<String> = (0..MOST_TABS).map(|_| tabs.open("").unwrap()).collect();
        tabs.close(&open[5], 1);
        tabs.close(&open[2], 2);
        assert!(tabs.open("").is_ok());
        // The one that was closed last can still be loaded again.
        assert!(tabs.session(&open[5], 3).is_none() && tabs.work(&open[2]).is_some());
        assert!(tabs.open("").is_ok());
        assert!(tabs.open("").is_err());
    }

    #[test]
    fn a_tab_that_is_closed_ends_its_work() {
        let tabs = tabs();
        let name = tabs.open("").unwrap();
        let (session, work) = tabs.session(&name, 1).unwrap();
        let task = work.begin(&onnx_types::Interrupt::NEVER);
        tabs.close(&name, 2);
        let answer =
            session.lock().unwrap().call_adapted(r#"{"call":"simplify"}"#, |execution| task.adapt(execution));
        assert!(answer.contains("cancelled: the model is as it was before"), "{answer}");
        assert_eq!(nodes(&tabs, &name), 2);
        drop(task);
        // A tab that is loaded again continues with the model as it was.
        tabs.close(&name, 10);
        let again = tabs.open(&name).unwrap();
        assert_eq!(nodes(&tabs, &again), 2);
    }
}
