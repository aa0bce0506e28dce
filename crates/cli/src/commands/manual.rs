//! `squall man` and `squall completions`: the manual pages, and the files by which shells complete command lines.
//! `commands` calls this module. All are made from the command line's own definition, `crate::arguments`.

use clap::CommandFactory;
use clap_complete::generate;

use crate::arguments::{self, Arguments};
use crate::console::print;
use crate::exit::Exit;
use crate::files;

/// Prints the page of the command, or writes the pages of all commands into a folder.
pub fn man(arguments: &arguments::Man) -> Result<Exit, Exit> {
    let Some(folder) = &arguments.output else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Arguments::command()).render(&mut page);
        rendered.map_err(|error| files::unwritten("the page", &error))?;
        print(&String::from_utf8_lossy(&page));
        return Ok(Exit::Success);
    };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder));
    written.map_err(|error| files::unwritten(folder.display(), &error))?;
    Ok(Exit::Success)
}

/// Prints the file for a shell.
pub fn completions(arguments: &arguments::Completions) -> Result<Exit, Exit> {
    let mut text = Vec::new();
    generate(arguments.shell, &mut Arguments::command(), "squall", &mut text);
    print(&String::from_utf8_lossy(&text));
    Ok(Exit::Success)
}
