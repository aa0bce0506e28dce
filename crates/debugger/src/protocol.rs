//! Messages of the Debug Adapter Protocol on a stream: JSON after a header with its length. `server` and `adapter` read and
//! write them.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// The longest message that is read.
const MOST_BYTES: usize = 16 << 20;

/// Reads a message; `None` at the end of the stream.
pub fn read(stream: &mut dyn BufRead) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
    let length = length.ok_or_else(|| invalid("a message has no Content-Length"))?;
    if length > MOST_BYTES {
        return Err(invalid("a message is longer than 16 MiB"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| invalid(&error.to_string()))
}

/// Writes a message.
pub fn write(stream: &mut dyn Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    // In one piece: the system may hold back the second one until the first is acknowledged.
    let message = format!("Content-Length: {}\r\n\r\n{text}", text.len());
    stream.write_all(message.as_bytes())?;
    stream.flush()
}

/// An event, without its number.
pub fn event(name: &str, body: Value) -> Value {
    json!({ "type": "event", "event": name, "body": body })
}

/// The answer to a request, without its number.
pub fn response(request: &Value, result: Result<Value, String>) -> Value {
    let mut response = json!({
        "type": "response",
        "request_seq": request["seq"],
        "command": request["command"],
        "success": result.is_ok(),
    });
    match result {
        Ok(body) => response["body"] = body,
        Err(message) => {
            response["message"] = json!(message);
            response["body"] = json!({ "error": { "id": 1, "format": message, "showUser": true } });
        }
    }
    response
}
