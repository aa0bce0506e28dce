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
    match value {
        Value::Table(table) => toml::to_string_pretty(&table).map_err(Problem::unlocated),
        _ => Err(Problem::unlocated("a TOML document is a dictionary")),
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
