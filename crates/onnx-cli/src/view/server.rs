//! The server of a page: several connections at once, so that a slow one delays no other.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onnx_page::Session;
use onnx_types::Interrupt;

use super::http::{ReadError, Request, Response};
use super::page;
use super::tabs::{Full, Tabs, random};
use crate::exit::{Failure, Outcome};

/// Time after the last tab was closed in which the page can be loaded again.
const GRACE: Duration = Duration::from_secs(4);
/// How often the server looks whether all tabs were closed, or the time is over.
const LOOK: Duration = Duration::from_millis(50);
/// Connections at most, each of which has a thread. A browser uses six.
const MOST_CONNECTIONS: usize = 32;
/// Time for a whole request. Those of a page arrive at once.
const READING: Duration = Duration::from_secs(10);
/// Time for an answer, and how much more of it each second allows.
const WRITING: Duration = Duration::from_secs(60);
const BYTES_PER_SECOND: u64 = 1 << 20;
/// The stack of a thread: models are graphs in graphs.
const STACK: usize = 16 << 20;
/// What is said when a defect ended the work on a request.
const DEFECT: &str = "a defect of the program ended the work on the model: reload the page, which shows the model without the changes";
/// What is said to a tab whose session was dropped.
const GONE: &str = "this tab was closed, and its changes with it: reload the page";

/// The sessions of the tabs, with their address.
pub(super) struct Server {
    tabs: Tabs,
    token: String,
    port: u16,
    /// The timeout, which ends all work.
    interrupt: Interrupt,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last connection.
    last: u64,
    /// Connections whose requests are read, the oldest first, by their numbers.
    reading: VecDeque<(u64, TcpStream)>,
    /// How many requests are answered.
    answering: usize,
    /// How many of those save the model.
    saving: usize,
    /// The time of the last request with the token.
    seen: Option<Instant>,
}

impl Server {
    pub(super) fn new(session: Session, port: u16, interrupt: Interrupt) -> Arc<Self> {
        let tabs = Tabs::new(session);
        Arc::new(Self { tabs, token: random(), port, interrupt, state: Mutex::default() })
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests until the last tab is closed, or fails with the timeout.
    pub(super) fn serve(self: &Arc<Self>, listener: TcpListener, stays: bool) -> Result<Outcome, Failure> {
        let server = Arc::clone(self);
        let accept = move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => server.accept(stream),
                    // Such as too many open files: others end soon.
                    Err(_) => thread::sleep(LOOK),
                }
            }
        };
        thread::Builder::new().name("connections".to_owned()).spawn(accept).map_err(Failure::new)?;
        loop {
            thread::sleep(LOOK);
            self.interrupt.check()?;
            let is_closed = self.tabs.end_closed(GRACE);
            let state = self.state();
            // A page that is loaded has no tab before its script runs.
            let is_quiet = state.seen.is_some_and(|seen| seen.elapsed() > GRACE);
            if !stays && is_closed && is_quiet && state.saving == 0 {
                return Ok(Outcome::Fine);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection a thread. If there are too many, the one that has been sending its request for the longest time ends.
    fn accept(self: &Arc<Self>, stream: TcpStream) {
        let Ok(handle) = stream.try_clone() else { return };
        let mut state = self.state();
        if state.reading.len() + state.answering >= MOST_CONNECTIONS {
            let Some((_, oldest)) = state.reading.pop_front() else {
                drop(state);
                respond(&stream, &Response::error(503));
                return;
            };
            let _ = oldest.shutdown(Shutdown::Both);
        }
        state.last += 1;
        let number = state.last;
        state.reading.push_back((number, handle));
        drop(state);
        let server = Arc::clone(self);
        let work = move || server.connection(number, &stream);
        let thread = thread::Builder::new().name("connection".to_owned()).stack_size(STACK);
        if thread.spawn(work).is_err() {
            self.state().reading.retain(|&(other, _)| other != number);
        }
    }

    /// Answers one request. A connection that fails concerns the page only.
    fn connection(&self, number: u64, stream: &TcpStream) {
        let request = Request::read(Timed::new(stream, READING));
        let mut state = self.state();
        let before = state.reading.len();
        state.reading.retain(|&(other, _)| other != number);
        if state.reading.len() == before {
            return;
        }
        state.answering += 1;
        drop(state);
        match request {
            Ok(request) => {
                let saves = request.path.ends_with("/model");
                self.state().saving += usize::from(saves);
                let answer = catch_unwind(AssertUnwindSafe(|| self.answer(number, &request)));
                respond(stream, &answer.unwrap_or_else(|_| Response::failed(DEFECT)));
                self.state().saving -= usize::from(saves);
            }
            Err(ReadError::Closed) => {}
            Err(ReadError::Invalid(status)) => respond(stream, &Response::error(status)),
        }
        self.state().answering -= 1;
    }

    fn answer(&self, number: u64, request: &Request) -> Response {
        // A page of another origin that knows a name of this machine has another host.
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !hosts.contains(&request.host) {
            return Response::error(403);
        }
        if request.origin.as_ref().is_some_and(|origin| {
            !hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host.as_str()))
        }) {
            return Response::error(403);
        }
        let Some(path) = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(&*self.token))
        else {
            return Response::error(404);
        };
        self.state().seen = Some(Instant::now());
        match (request.method.as_str(), path) {
            ("GET", "/") => Response::new("text/html; charset=utf-8", page().into()),
            ("GET", "/viewer.js") => {
                Response::new("text/javascript; charset=utf-8", onnx_draw::VIEWER.into())
            }
            ("GET", "/page.css") => Response::new("text/css; charset=utf-8", onnx_draw::STYLE_SHEET.into()),
            ("POST", "/open") => match self.tabs.open(std::str::from_utf8(&request.body).unwrap_or_default())
            {
                Ok(tab) => Response::new("text/plain", tab.into_bytes()),
                Err(Full(message)) => Response::unavailable(&message),
            },
            (method, path) => match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
                Some((tab, name)) => self.answer_tab(number, (tab, method, name), &request.body),
                None => Response::error(404),
            },
        }
    }

    /// Answers a request of a tab about its session.
    fn answer_tab(&self, number: u64, (tab, method, name): (&str, &str, &str), body: &[u8]) -> Response {
        match (method, name) {
            ("POST", "bye") => {
                self.tabs.close(tab, number);
                return Response::new("text/plain", Vec::new());
            }
            ("POST", "cancel" | "progress") => {
                let Some(work) = self.tabs.work(tab) else { return Response::failed(GONE) };
                if name == "cancel" {
                    work.cancel();
                }
                return Response::new("application/json", work.progress().into_bytes());
            }
            ("GET", "model") | ("POST", "call") => {}
            _ => return Response::error(404),
        }
        let Some((session, work)) = self.tabs.session(tab, number) else { return Response::failed(GONE) };
        // From now on, not from when those before it are done.
        let task = work.begin(&self.interrupt);
        let Ok(mut session) = session.lock() else { return Response::failed(DEFECT) };
        match (name, std::str::from_utf8(body)) {
            ("model", _) => match session.save() {
                Ok(bytes) => Response::new("application/octet-stream", bytes),
                Err(message) => Response::failed(&message),
            },
            (_, Ok(text)) => {
                let answer = session.call_adapted(text, |execution| task.adapt(execution));
                Response::new("application/json", answer.into_bytes())
            }
            (_, Err(_)) => Response::error(400),
        }
    }
}

/// Writes an answer. A connection that takes none of it in time ends.
fn respond(stream: &TcpStream, response: &Response) {
    let seconds = response.len() as u64 / BYTES_PER_SECOND;
    let mut out = Timed::new(stream, WRITING + Duration::from_secs(seconds));
    let _ = response.write(&mut out);
    let _ = out.flush();
}

/// A connection that ends at a time, however many bytes come or go until then.
struct Timed<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a TcpStream, time: Duration) -> Self {
        Self { stream, end: Instant::now() + time }
    }

    /// The time that is left.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
