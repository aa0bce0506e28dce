//! The files for editors know all instructions: they are made from `editors/templates`. `BLESS=1` makes this test
//! rewrite them.
//!
//! In a template, `@MNEMONICS|@` stands for all mnemonics with `|` between them, `@MNEMONICS @` for the same with blanks,
//! and `@MNEMONICS"@` for each in quotes, with blanks between them.

use std::path::{Path, PathBuf};

use squall_bytecode::instructions::Opcode;

/// The templates, and the files made from them.
const FILES: [(&str, &str); 4] = [
    ("vscode-syntaxes-sqasm.tmLanguage.json", "vscode/syntaxes/sqasm.tmLanguage.json"),
    ("vim-syntax-sqasm.vim", "vim/syntax/sqasm.vim"),
    ("emacs-squall-modes.el", "emacs/squall-modes.el"),
    ("sublime-Squall_bytecode.sublime-syntax", "sublime/Squall_bytecode.sublime-syntax"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors")
}

fn filled(template: &str) -> String {
    let mnemonics: Vec<&str> = Opcode::ALL.iter().map(|opcode| opcode.info().mnemonic).collect();
    let quoted: Vec<String> = mnemonics.iter().map(|name| format!("\"{name}\"")).collect();
    template
        .replace("@MNEMONICS|@", &mnemonics.join("|"))
        .replace("@MNEMONICS @", &mnemonics.join(" "))
        .replace("@MNEMONICS\"@", &quoted.join(" "))
}

#[test]
fn the_committed_files_know_all_instructions() {
    for (template, name) in FILES {
        let template = std::fs::read_to_string(folder().join("templates").join(template))
            .unwrap_or_else(|error| panic!("{template}: {error}"));
        let (fresh, path) = (filled(&template), folder().join(name));
        assert!(fresh != template && !fresh.contains("@MNEMONICS"), "{name}");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == fresh,
            "editors/{name} is out of date: `cargo xtask generate` rewrites it"
        );
    }
}

#[test]
fn every_template_is_used() {
    let entries = std::fs::read_dir(folder().join("templates")).expect("the folder is there");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in names {
        assert!(FILES.iter().any(|(template, _)| *template == name), "{name}");
    }
}
