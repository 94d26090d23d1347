//! As much of HTTP/1.1 as a page on the same machine needs: one request for each connection, with bounds.

use std::io::{self, BufRead as _, BufReader, Read, Write};

/// Bytes of the first line and the headers at most.
const MOST_HEAD: u64 = 16 * 1024;
/// Bytes of a body at most.
const MOST_BODY: usize = 1 << 20;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The reason why a request was not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    /// The connection ended or waited too long.
    Closed,
    /// The request is not valid: the status of the answer.
    Invalid(u16),
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl Request {
    /// Reads a request.
    pub(super) fn read(stream: impl Read) -> Result<Self, ReadError> {
        let mut reader = BufReader::new(stream);
        let mut head = (&mut reader).take(MOST_HEAD);
        let first = line(&mut head)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(ReadError::Invalid(400));
        };
        if !version.starts_with("HTTP/1.") {
            return Err(ReadError::Invalid(505));
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let (method, path) = (method.to_owned(), path.to_owned());
        let (mut host, mut origin, mut length) = (None, None, None);
        loop {
            let header = line(&mut head)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or(ReadError::Invalid(400))?;
            // Spaces before the colon, and lines that continue others, are read in different ways.
            if name.is_empty() || name.contains([' ', '\t']) {
                return Err(ReadError::Invalid(400));
            }
            let field = match name.to_ascii_lowercase().as_str() {
                "host" => &mut host,
                "origin" => &mut origin,
                "content-length" => &mut length,
                "transfer-encoding" => return Err(ReadError::Invalid(501)),
                _ => continue,
            };
            // Which of two counts is not defined.
            if field.replace(value.trim().to_owned()).is_some() {
                return Err(ReadError::Invalid(400));
            }
        }
        let host = host.ok_or(ReadError::Invalid(400))?;
        let length = length.as_deref().map_or(Ok(0), bytes)?;
        if length > MOST_BODY {
            return Err(ReadError::Invalid(413));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { method, path, host, origin, body })
    }
}

/// The number of bytes that a header says: digits only.
fn bytes(text: &str) -> Result<usize, ReadError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or(ReadError::Invalid(400))
}

/// A line without its end.
fn line(head: &mut io::Take<&mut BufReader<impl Read>>) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    head.read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(if head.limit() == 0 { ReadError::Invalid(431) } else { ReadError::Closed });
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|_| ReadError::Invalid(400))
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl Response {
    /// An answer with contents of a type.
    pub(super) const fn new(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: 200, kind, body }
    }

    /// An answer to a request that is refused.
    pub(super) fn error(status: u16) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{status}\n").into_bytes() }
    }

    /// An answer to a request that failed: the page shows the message.
    pub(super) fn failed(message: &str) -> Self {
        Self { body: format!("{message}\n").into_bytes(), ..Self::error(500) }
    }

    /// An answer to a request that may succeed later: the page shows the message.
    pub(super) fn unavailable(message: &str) -> Self {
        Self { body: format!("{message}\n").into_bytes(), ..Self::error(503) }
    }

    /// The number of bytes of the contents.
    pub(super) const fn len(&self) -> usize {
        self.body.len()
    }

    /// Writes the answer. Nothing is kept by the browser, and the page can load nothing from elsewhere.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            403 => "Forbidden",
            404 => "Not Found",
            503 => "Service Unavailable",
            500.. => "Server Error",
            _ => "Bad Request",
        };
        write!(
            out,
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
Connection: close\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n\r\n",
            self.status,
            self.kind,
            self.body.len()
        )?;
        out.write_all(&self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, ReadError> {
        Request::read(text.as_bytes())
    }

    #[test]
    fn requests_are_read() {
        let request =
            read("POST /t/call?x HTTP/1.1\r\nHOST: 127.0.0.1:1\r\nContent-Length: 2\r\n\r\n{}rest").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/t/call"));
        assert_eq!((request.host.as_str(), request.body.as_slice()), ("127.0.0.1:1", b"{}".as_slice()));
        assert_eq!(request.origin, None);
    }

    #[test]
    fn requests_that_are_not_valid_are_refused() {
        for (text, error) in [
            ("", ReadError::Closed),
            ("GET / HTTP/1.1\r\nHost: x", ReadError::Closed),
            ("GET /\r\n\r\n", ReadError::Invalid(400)),
            ("GET / x HTTP/1.1\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/2\r\n\r\n", ReadError::Invalid(505)),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\nX: y\r\n Host: x\r\n\r\n", ReadError::Invalid(400)),
            ("GET / HTTP/1.1\r\nHost: x\r\nOrigin: a\r\nOrigin: b\r\n\r\n", ReadError::Invalid(400)),
            (
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n",
                ReadError::Invalid(400),
            ),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", ReadError::Invalid(400)),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", ReadError::Invalid(400)),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", ReadError::Invalid(413)),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nshort", ReadError::Closed),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", ReadError::Invalid(501)),
        ] {
            assert_eq!(read(text), Err(error), "{text:?}");
        }
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
        assert_eq!(read(&long), Err(ReadError::Invalid(431)));
        assert_eq!(Request::read(b"GET /\xff HTTP/1.1\r\n\r\n".as_slice()), Err(ReadError::Invalid(400)));
    }

    #[test]
    fn answers_have_a_policy() {
        let mut bytes = Vec::new();
        Response::new("text/plain", b"x".to_vec()).write(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nx"));
        assert!(text.contains("default-src 'none'") && text.contains("Content-Length: 1\r\n"));
    }
}
