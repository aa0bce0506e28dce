//! TOML: read as a tree, and written from the text of a JSON object. The primitives of `lib/Toml.ns` call this module.

use crate::Problem;

/// A value of TOML.
pub use toml::Value;

/// Reads a document.
pub fn read(text: &str) -> Result<toml::Table, Problem> {
    text.parse::<toml::Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Problem::at(at, error.message())
    })
}

/// The document for the text of a JSON object. `null`, and a document that is no object, is a problem.
pub fn written(json: &str) -> Result<String, Problem> {
    let value: toml::Value = tree::read(json)?;
    let Value::Table(table) = &value else {
        return Err(Problem::unlocated("a TOML document is a dictionary"));
    };
    if length_of_headers(&value, 0) > LONGEST_HEADERS {
        return Err(Problem::unlocated("the names of tables in tables are too long"));
    }
    toml::to_string_pretty(table).map_err(Problem::unlocated)
}

/// The most bytes of headers. Each header has the names of all tables around its own, so a short document may have long ones.
const LONGEST_HEADERS: usize = 4 << 20;

/// How many bytes the headers of the tables in a value take, if those around it have names of `around` bytes.
fn length_of_headers(value: &Value, around: usize) -> usize {
    let sum = |parts: &mut dyn Iterator<Item = usize>| parts.fold(0, usize::saturating_add);
    match value {
        Value::Table(table) => {
            let inner = |(name, value): (&String, &Value)| {
                length_of_headers(value, around + name.len() + 1)
            };
            sum(&mut table.iter().map(inner)).saturating_add(around)
        }
        Value::Array(array) => sum(&mut array.iter().map(|value| length_of_headers(value, around))),
        _ => 0,
    }
}

mod tree {
    //! Builds a tree of the parts of JSON.

    use num_bigint::BigInt;

    use super::{Problem, Value};
    use crate::json::{Builder, Stopped, read as read_json};
    use crate::pace::at_once;

    pub fn read(json: &str) -> Result<Value, Problem> {
        let mut tree = Tree::default();
        match at_once(read_json(json, &mut tree)) {
            Ok(()) => Ok(tree.values.pop().expect("a text is one value")),
            Err(Stopped::Problem(problem) | Stopped::Builder(problem)) => Err(problem),
        }
    }

    #[derive(Default)]
    struct Tree {
        values: Vec<Value>,
        /// How many values there were when each open list or object began.
        starts: Vec<usize>,
        keys: Vec<String>,
    }

    impl Tree {
        fn push(&mut self, value: Value) -> Result<(), Problem> {
            self.values.push(value);
            Ok(())
        }

        fn finished(&mut self) -> Vec<Value> {
            let start = self.starts.pop().expect("each end has a beginning");
            self.values.split_off(start)
        }
    }

    impl Builder for Tree {
        type Failure = Problem;

        fn null(&mut self) -> Result<(), Problem> {
            Err(Problem::unlocated("TOML has no nil"))
        }

        fn boolean(&mut self, value: bool) -> Result<(), Problem> {
            self.push(Value::Boolean(value))
        }

        fn integer(&mut self, value: i64) -> Result<(), Problem> {
            self.push(Value::Integer(value))
        }

        fn large(&mut self, value: BigInt) -> Result<(), Problem> {
            Err(Problem::unlocated(format!("TOML has no integers of this size: {value}")))
        }

        fn double(&mut self, value: f64) -> Result<(), Problem> {
            self.push(Value::Float(value))
        }

        fn text(&mut self, value: &str) -> Result<(), Problem> {
            self.push(Value::String(value.to_owned()))
        }

        fn key(&mut self, name: &str) -> Result<(), Problem> {
            self.keys.push(name.to_owned());
            Ok(())
        }

        fn begin(&mut self) -> Result<(), Problem> {
            // Deeper than this, the writer would exhaust the native stack.
            if self.starts.len() == 100 {
                return Err(Problem::unlocated("there are more than 100 lists in each other"));
            }
            self.starts.push(self.values.len());
            Ok(())
        }

        fn end_list(&mut self) -> Result<(), Problem> {
            let elements = self.finished();
            self.push(Value::Array(elements))
        }

        fn end_object(&mut self) -> Result<(), Problem> {
            let members = self.finished();
            let keys = self.keys.split_off(self.keys.len() - members.len());
            self.push(Value::Table(keys.into_iter().zip(members).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_not_repeated_without_end() {
        let document = |name: &str, tables: usize| {
            let inner: Vec<String> =
                (0..tables).map(|it| format!(r#""t{it}": {{"a": 1}}"#)).collect();
            format!(r#"{{"{name}": {{{}}}}}"#, inner.join(","))
        };
        let written_length = |json: &str| written(json).map(|text| text.len());
        assert!(written_length(&document("name", 100)).is_ok_and(|length| length < 3000));
        assert!(written_length(&document(&"n".repeat(100_000), 1000)).is_err());
    }
}
