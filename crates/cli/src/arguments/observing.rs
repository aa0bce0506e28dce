//! The arguments of `squall run --observe` and `--debug`, and of `squall top`.

use std::str::FromStr;

use clap::Args;

/// How a program is observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observe {
    /// The port, or 0 for any that is free.
    pub port: u16,
    /// Whether requests may change what the program does.
    pub control: bool,
}

impl FromStr for Observe {
    type Err = String;

    fn from_str(text: &str) -> Result<Observe, String> {
        let (port, rest) = text.split_once(',').unwrap_or((text, ""));
        let control = |word: &str| word == "control";
        if control(text) {
            return Ok(Observe { port: 0, control: true });
        }
        match port.parse() {
            Ok(port) if rest.is_empty() != control(rest) && !text.ends_with(',') => {
                Ok(Observe { port, control: control(rest) })
            }
            _ => Err("it is a port, `control`, or both: 8080,control".to_owned()),
        }
    }
}

/// How a program is debugged, if it is.
#[derive(Args, Clone, Debug)]
pub struct Debugging {
    /// Wait for a debugger at this port of the machine, or at any that is free
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub debug: Option<u16>,

    /// Connect to the debugger at this port of the machine
    #[arg(long, value_name = "PORT", hide = true)]
    pub debug_connect: Option<u16>,

    /// The run repeats another one, which has shown all warnings
    #[arg(long, hide = true)]
    pub debug_again: bool,
}

impl Debugging {
    /// Whether there is a debugger.
    pub fn is_on(&self) -> bool {
        self.debug.or(self.debug_connect).is_some()
    }
}

/// Show on the terminal what a running program does.
///
/// The program runs with `squall run --observe`. Keys: up and down select, Enter shows a stack, Tab changes between strands
/// and vats, s sorts by another column, r reverses the order, q leaves.
#[derive(Args, Debug)]
pub struct Top {
    /// Print once, as text
    #[arg(long)]
    pub once: bool,

    /// How often to look again, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    pub interval: f64,

    /// The address that the program has shown, or the number of its process
    #[arg(value_name = "ADDRESS|PID")]
    pub program: String,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "it is between 0.1 and 3600".to_owned())
}
