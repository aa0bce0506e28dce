//! Sends one HTTP request and reads its answer. The clients of `cargo xtask load` use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Sends a request and reads the whole answer. Answers its status, if there is one.
pub fn exchange(stream: &mut BufReader<TcpStream>, start: &str, host: &str) -> Option<u16> {
    let request = format!("{start} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).ok()?;
    let (mut line, mut length, mut status) = (String::new(), 0, None);
    loop {
        line.clear();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = line.trim_end();
        if let Some(value) = text.strip_prefix("HTTP/1.1 ") {
            status = value.get(..3).and_then(|digits| digits.parse().ok());
        }
        if let Some(value) = text.strip_prefix("Content-Length: ") {
            length = value.parse().unwrap_or(0);
        }
        if text.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    status
}
