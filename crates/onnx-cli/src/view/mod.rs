//! `onnx view`: a page about a model, served on the loopback address.

mod http;
mod served;
mod server;
mod tabs;
mod work;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use onnx_page::Session;
use onnx_types::tensor::DataSource as _;

use crate::args::ViewArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, is_stdin, load_to_keep};
use crate::output::Out;
use crate::progress::Progress;
use crate::weights;
use served::ServedFiles;
use server::Server;

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
    let server = Server::new(session, port, args.input.bounds.interrupt());
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
    let mut loaded = load_to_keep(path, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let source = loaded.source()?;
    // Files that are open stay readable if others are put in their place; what cannot be opened is reported where it is
    // needed.
    weights::locations(&loaded.model).iter().for_each(|location| drop(source.len(location)));
    let source = ServedFiles(source);
    let execution = loaded.execution.clone();
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let title = file.unwrap_or_else(|| loaded.name.clone());
    let session = Session::new(title, loaded.model, Box::new(source), execution.clone());
    execution.interrupt.check()?;
    Ok(session)
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
