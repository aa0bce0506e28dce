//! The seeds of the fuzz target for declarations are read, or refused with a message about a place.

use std::path::Path;

use squall_foreign::Declarations;

#[test]
fn seeds_have_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/declarations");
    let mut answers = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the seeds are there") {
        let path = entry.expect("the seeds are there").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let mut declarations = Declarations::new();
        let answer = match declarations.declare(&text) {
            Ok(declared) => format!("{} declarations", declared.len()),
            Err(error) => error.to_string(),
        };
        let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        answers.push(format!("{name}: {answer}"));
    }
    answers.sort();
    let expected = [
        "database.h: 13 declarations",
        "declarators.h: 9 declarations",
        "mistakes.h: 2:1: there is no preprocessor here: leave `#` lines out, and write constants as an `enum`",
        "structures.h: 3:38: bit-fields are not supported: where their bits are is the compiler's affair",
    ];
    assert_eq!(answers, expected);
}
