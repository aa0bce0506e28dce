//! `squall version`: the version of Squall and of its formats. `commands` calls this module.

use serde_json::json;
use squall_bytecode::format;

use crate::arguments::Version;
use crate::console::print;
use crate::exit::Exit;

pub fn version(arguments: &Version) -> Result<Exit, Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let platform = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let bytecode = format::VERSION;
    print(&match arguments.json {
        true => {
            let value = json!({ "version": version, "platform": platform, "bytecode": bytecode });
            format!("{value}\n")
        }
        false => format!("squall {version} ({platform}, bytecode format {bytecode})\n"),
    });
    Ok(Exit::Success)
}
