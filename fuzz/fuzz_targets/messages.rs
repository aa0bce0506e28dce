//! Any bytes, taken as a file of each kind that includes another one, are a module or refused with a text that shows why.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall::compiler::{FileKind, module_with_includes};
use squall_newspeak::diagnostics::render::Colour;

fuzz_target!(|bytes: &[u8]| {
    // What follows the first zero is the file that is included.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (file, included) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let read = |path: &std::path::Path| match path.extension() {
        Some(_) => Ok(String::from_utf8_lossy(included).into_owned()),
        None => Err("there is no such file".to_owned()),
    };
    for kind in FileKind::ALL {
        let name = format!("file.{}", kind.extension());
        if let Err(problem) = module_with_includes(&name, kind, file, true, &read) {
            assert!(!problem.render(Colour::None).is_empty());
            assert!(!problem.render(Colour::Ansi).is_empty());
            assert!(problem.lines().iter().all(|line| !line.is_empty()));
        }
    }
});
