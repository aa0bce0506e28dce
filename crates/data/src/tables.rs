//! CSV (RFC 4180).

use csv::{ReaderBuilder, WriterBuilder};

use crate::Problem;

/// The rows of a text, which may differ in length. Quotes that are not closed are a problem.
pub fn read(text: &str, delimiter: u8) -> Result<Vec<Vec<String>>, Problem> {
    check_quotes(text, delimiter)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let rows = reader.records().map(|record| {
        let record = record.map_err(|error| {
            let at = error.position().map_or(0, |position| position.byte() as usize);
            Problem::at(at, error.to_string())
        })?;
        Ok(record.iter().map(str::to_owned).collect())
    });
    rows.collect()
}

/// The reader takes the end of the text for the end of an open quotation.
fn check_quotes(text: &str, delimiter: u8) -> Result<(), Problem> {
    let (mut open, mut is_start) = (None, true);
    for (at, byte) in text.bytes().enumerate() {
        match (open, byte) {
            (Some(_), b'"') => open = None,
            (Some(_), _) => {}
            // The second one of a pair opens the quotation again.
            (None, b'"') if is_start || text.as_bytes()[at - 1] == b'"' => open = Some(at),
            (None, _) => {}
        }
        is_start = open.is_none() && (byte == delimiter || byte == b'\n' || byte == b'\r');
    }
    open.map_or(Ok(()), |at| Err(Problem::at(at, "this quotation has no end")))
}

/// The text of rows, with quotes where they are necessary; lines end with CR LF.
pub fn written(rows: &[Vec<String>], delimiter: u8) -> Option<String> {
    let terminator = csv::Terminator::CRLF;
    let mut writer = WriterBuilder::new()
        .flexible(true)
        .delimiter(delimiter)
        .terminator(terminator)
        .from_writer(vec![]);
    for row in rows {
        writer.write_record(row).ok()?;
    }
    String::from_utf8(writer.into_inner().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_open_quotation_is_located() {
        assert_eq!(read("a,\"b\nc", b',').unwrap_err().at, 2);
        assert_eq!(read("a,\"b\"\"c\"\n", b',').unwrap(), [["a", "b\"c"]]);
        assert_eq!(read("a\"b,c", b',').unwrap(), [["a\"b", "c"]]);
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            rows in prop::collection::vec(prop::collection::vec("[a\",;\n\r é]{0,6}", 2..4), 0..6),
        ) {
            let text = written(&rows, b',').unwrap();
            prop_assert_eq!(read(&text, b',').unwrap(), rows);
        }
    }
}
