//! The server of a page: several connections at once, so that a slow one delays no other.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onnx_page::Session;

use super::http::{ReadError, Request, Response};
use super::page;
use crate::exit::{Failure, Outcome};

/// Time after the page was closed in which it can be loaded again.
const GRACE: Duration = Duration::from_secs(4);
/// How often the server looks whether the page was closed.
const LOOK: Duration = Duration::from_millis(200);
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
const DEFECT: &str = "a defect of the program ended the work on the model: start `onnx view` again";

/// A session with its address.
pub(super) struct Server {
    /// Requests about the model wait for each other.
    session: Mutex<Session>,
    token: String,
    port: u16,
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
    /// The number of the last connection of the page.
    page: u64,
    /// The time at which the page was closed.
    closed: Option<Instant>,
}

/// 128 bits that other programs cannot guess: the standard library seeds its hash tables with random numbers of the system.
fn token() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

impl Server {
    pub(super) fn new(session: Session, port: u16) -> Arc<Self> {
        let (session, state) = (Mutex::new(session), Mutex::default());
        Arc::new(Self { session, token: token(), port, state })
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests until the page is closed.
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
            let state = self.state();
            let is_closed = state.closed.is_some_and(|closed| closed.elapsed() > GRACE);
            if !stays && is_closed && state.saving == 0 {
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
        let is_end = path == "/bye" && request.method == "POST";
        self.seen(number, is_end);
        match (request.method.as_str(), path) {
            _ if is_end => Response::new("text/plain", Vec::new()),
            ("GET", "/") => Response::new("text/html; charset=utf-8", page().into()),
            ("GET", "/viewer.js") => {
                Response::new("text/javascript; charset=utf-8", onnx_draw::VIEWER.into())
            }
            ("GET", "/page.css") => Response::new("text/css; charset=utf-8", onnx_draw::STYLE_SHEET.into()),
            ("GET", "/model") => match self.session.lock().map(|session| session.save()) {
                Ok(Ok(bytes)) => Response::new("application/octet-stream", bytes),
                Ok(Err(message)) => Response::failed(&message),
                Err(_) => Response::failed(DEFECT),
            },
            ("POST", "/call") => match (std::str::from_utf8(&request.body), self.session.lock()) {
                (Ok(text), Ok(mut session)) => {
                    Response::new("application/json", session.call(text).into_bytes())
                }
                (Err(_), _) => Response::error(400),
                (_, Err(_)) => Response::failed(DEFECT),
            },
            _ => Response::error(404),
        }
    }

    /// Notes a request of the page. Requests may be read in another order than they were sent: one that says that the page is closed
    /// does not count if the page was loaded again after it.
    fn seen(&self, number: u64, is_end: bool) {
        let mut state = self.state();
        if number >= state.page {
            state.page = number;
            state.closed = is_end.then(Instant::now);
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
