//! Any text is refused with a message about a place in it, or declares what can be declared again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_foreign::{DeclarationError, Declarations, Meaning};

fuzz_target!(|text: &str| {
    let mut declarations = Declarations::new();
    let declared = match declarations.declare(text) {
        Ok(declared) => declared,
        Err(error) => return show(text, &error),
    };
    for (index, declaration) in declared.iter().enumerate() {
        let name = &format!("__another_name_{index}");
        let again = match &declaration.meaning {
            Meaning::Function(signature) => signature.declaring(name),
            Meaning::Variable(of) => of.declaring(name),
            Meaning::Type(of) => format!("typedef {}", of.declaring(name)),
            Meaning::Tagged(_) | Meaning::Constant(_) => continue,
        };
        // The names of an enumeration without one could be declared once only.
        if !again.contains("enum {")
            && let Err(error) = declarations.declare(&again)
        {
            panic!("{error}\n{}", error.excerpt(&again));
        }
    }
    if let Err(error) = declarations.parse_type(text) {
        show(text, &error);
    }
});

/// Shows an error, whose place is in the text.
fn show(text: &str, error: &DeclarationError) {
    assert!(error.span.start <= error.span.end && error.span.end <= text.len());
    assert!(!error.message.is_empty() && !error.excerpt(text).is_empty());
}
