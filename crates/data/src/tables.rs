//! CSV (RFC 4180): reads and writes tables, in [pieces](crate::pace). The primitives of `lib/Csv.ns` call this module.

use std::ops::Range;

use csv::WriterBuilder;
use csv_core::ReadFieldResult;

use crate::Problem;
use crate::pace::{hold, spend};

/// The fields of rows, one behind the other.
#[derive(Default, Debug)]
pub struct Rows {
    text: String,
    /// Where each field ends in the text.
    ends: Vec<usize>,
    /// How many fields there are up to the end of each row.
    rows: Vec<usize>,
}

impl Rows {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The numbers of the fields of a row.
    pub fn row(&self, row: usize) -> Range<usize> {
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before]);
        start..self.rows[row]
    }

    /// The field with this number.
    pub fn field(&self, field: usize) -> &str {
        let start = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[field]]
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + (self.ends.capacity() + self.rows.capacity()) * size_of::<usize>()
    }
}

/// The rows of a text, which may differ in length. Quotes that are not closed are a problem.
pub async fn read(text: &str, delimiter: u8) -> Result<Rows, Problem> {
    /// So many bytes are read at a time.
    const PART: usize = 4 << 10;
    check_quotes(text, delimiter).await?;
    let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    let (mut rows, mut rest, mut fields) = (Rows::default(), text.as_bytes(), Vec::new());
    let mut part = vec![0; PART];
    loop {
        let input = &rest[..rest.len().min(PART)];
        let (found, count, written) = reader.read_field(input, &mut part);
        rest = &rest[count..];
        fields.extend_from_slice(&part[..written]);
        match found {
            ReadFieldResult::Field { record_end } => {
                rows.ends.push(fields.len());
                if record_end {
                    rows.rows.push(rows.ends.len());
                }
            }
            ReadFieldResult::End => break,
            ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
        }
        hold(rows.bytes() + fields.capacity());
        spend(count / 4 + 2).await;
    }
    rows.text = String::from_utf8(fields).expect("delimiters and quotes are ASCII");
    Ok(rows)
}

/// The reader takes the end of the text for the end of an open quotation.
async fn check_quotes(text: &str, delimiter: u8) -> Result<(), Problem> {
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
        if at % 4096 == 4095 {
            spend(500).await;
        }
    }
    open.map_or(Ok(()), |at| Err(Problem::at(at, "this quotation has no end")))
}

/// A table that is being written, field by field, with quotes where they are necessary; lines end with CR LF.
pub struct Writer {
    writer: csv::Writer<Vec<u8>>,
}

impl Writer {
    /// An empty table.
    pub fn new(delimiter: u8) -> Writer {
        let mut builder = WriterBuilder::new();
        builder.flexible(true).delimiter(delimiter).terminator(csv::Terminator::CRLF);
        Writer { writer: builder.from_writer(Vec::new()) }
    }

    /// Appends a field to the row.
    pub fn add_field(&mut self, field: &str) {
        self.writer.write_field(field).expect("memory takes all bytes");
    }

    /// The next field begins a row.
    pub fn end_row(&mut self) {
        self.writer.write_record(None::<&[u8]>).expect("memory takes all bytes");
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.writer.get_ref().capacity()
    }

    /// The text.
    pub fn finish(self) -> String {
        let bytes = self.writer.into_inner().expect("memory takes all bytes");
        String::from_utf8(bytes).expect("quotes and delimiters are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use proptest::prelude::*;

    fn fields(text: &str) -> Result<Vec<Vec<String>>, Problem> {
        let rows = at_once(read(text, b','))?;
        let row = |row| rows.row(row).map(|field| rows.field(field).to_owned()).collect();
        Ok((0..rows.len()).map(row).collect())
    }

    #[test]
    fn an_open_quotation_is_located() {
        assert_eq!(fields("a,\"b\nc").unwrap_err().at, 2);
        assert_eq!(fields("a,\"b\"\"c\"\n").unwrap(), [["a", "b\"c"]]);
        assert_eq!(fields("a\"b,c").unwrap(), [["a\"b", "c"]]);
    }

    #[test]
    fn fields_may_be_longer_than_what_is_read_at_a_time() {
        let long = "aé\"\n,".repeat(3000);
        let mut writer = Writer::new(b',');
        [&long, "b", &"ü".repeat(9000)].into_iter().for_each(|field| writer.add_field(field));
        writer.end_row();
        assert_eq!(fields(&writer.finish()).unwrap(), [[long, "b".to_owned(), "ü".repeat(9000)]]);
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            rows in prop::collection::vec(prop::collection::vec("[a\",;\n\r é]{0,6}", 2..4), 0..6),
        ) {
            let mut writer = Writer::new(b',');
            for row in &rows {
                row.iter().for_each(|field| writer.add_field(field));
                writer.end_row();
            }
            prop_assert_eq!(fields(&writer.finish()).unwrap(), rows);
        }
    }
}
