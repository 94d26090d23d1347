//! `onnx view`: a page about a model, served on the loopback address.

mod http;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use onnx_page::Session;

use crate::args::ViewArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, is_stdin, load};
use crate::output::Out;
use crate::progress::Progress;
use http::{Request, Response};

/// Time after the page was closed in which it can be loaded again.
const GRACE: Duration = Duration::from_secs(4);
/// Connections that wait at most.
const MOST_WAITING: usize = 32;

pub(crate) fn run(args: &ViewArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let first = session(&args.input_file, args, out)?;
    let session = match &args.newer_file {
        Some(newer) if is_stdin(newer) && is_stdin(&args.input_file) => {
            return Err(Failure::new("only one model can come from standard input")
                .help("write the other one to a file: `onnx view FILE -`"));
        }
        Some(newer) => {
            let mut newer = session(newer, args, out)?;
            newer.compare_with(first);
            newer
        }
        None => first,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        Failure::new(format_args!("port {} cannot be used: {error}", args.port))
            .help("leave `--port` away for a free one")
    })?;
    let port = listener.local_addr().map_err(Failure::new)?.port();
    let mut server = Server { session, token: token(), port, closed: None };
    let address = server.address();
    out.text(&format!("{address}\n"))?;
    if !args.no_browser {
        open_browser(&address, out);
    }
    server.serve(listener, args.stay)
}

/// A model with what the page shows of it.
fn session(path: &Path, args: &ViewArgs, out: &mut Out) -> Result<Session, Failure> {
    let progress = Progress::start("reading", 1);
    progress.begin(&display_name(path));
    let mut loaded = load(path, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let source = loaded.source()?;
    let execution = loaded.execution.clone();
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let title = file.unwrap_or_else(|| loaded.name.clone());
    let session = Session::new(title, loaded.model, Box::new(source), execution.clone());
    execution.interrupt.check()?;
    Ok(session)
}

/// A session with its address.
struct Server {
    session: Session,
    token: String,
    port: u16,
    /// The time at which the page was closed.
    closed: Option<Instant>,
}

/// 128 bits that other programs cannot guess: the standard library seeds its hash tables with random numbers of the system.
fn token() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

impl Server {
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests, one at a time, until the page is closed.
    fn serve(&mut self, listener: TcpListener, stays: bool) -> Result<Outcome, Failure> {
        let (sender, receiver) = sync_channel::<TcpStream>(MOST_WAITING);
        std::thread::Builder::new()
            .name("connections".to_owned())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    if sender.send(stream).is_err() {
                        break;
                    }
                }
            })
            .map_err(Failure::new)?;
        loop {
            match receiver.recv_timeout(Duration::from_millis(500)) {
                Ok(stream) => self.connection(&stream),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new("the connections of the page ended"));
                }
            }
            if !stays && self.closed.is_some_and(|closed| closed.elapsed() > GRACE) {
                return Ok(Outcome::Fine);
            }
        }
    }

    /// Answers one request. A connection that fails concerns the page only.
    fn connection(&mut self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = stream.set_write_timeout(Some(Duration::from_secs(60)));
        let response = match Request::read(stream) {
            Ok(request) => self.answer(&request),
            Err(http::ReadError::Closed) => return,
            Err(http::ReadError::Invalid(status)) => Response::error(status),
        };
        let mut stream = stream;
        let _ = response.write(&mut stream);
        let _ = stream.flush();
    }

    fn answer(&mut self, request: &Request) -> Response {
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
        self.closed = None;
        match (request.method.as_str(), path) {
            ("GET", "/") => Response::new("text/html; charset=utf-8", page().into()),
            ("GET", "/viewer.js") => {
                Response::new("text/javascript; charset=utf-8", onnx_draw::VIEWER.into())
            }
            ("GET", "/page.css") => Response::new("text/css; charset=utf-8", onnx_draw::STYLE_SHEET.into()),
            ("GET", "/model") => match self.session.save() {
                Ok(bytes) => Response::new("application/octet-stream", bytes),
                Err(_) => Response::error(500),
            },
            ("POST", "/call") => match std::str::from_utf8(&request.body) {
                Ok(text) => Response::new("application/json", self.session.call(text).into_bytes()),
                Err(_) => Response::error(400),
            },
            ("POST", "/bye") => {
                self.closed = Some(Instant::now());
                Response::new("text/plain", Vec::new())
            }
            _ => Response::error(404),
        }
    }
}

/// The page. It loads its script and its style sheet from the same place, and its policy forbids everything else.
fn page() -> String {
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>onnx view</title>\n\
<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"page.css\">\n</head>\n\
<body data-session=\"\">\n<div id=\"app\"></div>\n<script src=\"viewer.js\"></script>\n</body>\n</html>\n"
        .to_owned()
}

/// Opens the address with the program of the system, which may not exist.
fn open_browser(address: &str, out: &Out) {
    let program: &[&str] = if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler"]
    } else {
        &["xdg-open"]
    };
    let [name, arguments @ ..] = program else { return };
    let started = Command::new(name)
        .args(arguments)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        out.warning("no browser could be opened", Some("open the address that was printed"));
    }
}
