//! Stack traces: what is active, innermost first, with file, line and column.

use std::fmt::Write;

use crate::stack::Activation;
use crate::thread::Thread;

/// How many activations at each end of a long stack a trace shows.
const SHOWN: usize = 20;

/// The active calls of a thread as text, a line each; the middle of a long stack is left out.
pub fn render(thread: &Thread) -> String {
    let activations: Vec<Activation> = thread.activations().collect();
    let mut text = String::new();
    let hidden = activations.len().saturating_sub(2 * SHOWN);
    for (index, activation) in activations.iter().enumerate() {
        if hidden > 0 && index == SHOWN {
            _ = writeln!(text, "  … {hidden} more …");
        }
        if index < SHOWN || index >= SHOWN + hidden {
            render_place(activation.function, activation.pc, &mut text);
        }
    }
    text
}

/// Appends the line for a place in a function.
pub fn render_place(function: &crate::function::Function, pc: usize, text: &mut String) {
    let (path, line, column) = function.position(pc);
    let name = function.name();
    _ = match line {
        0 => writeln!(text, "  at {name} ({path})"),
        _ => writeln!(text, "  at {name} ({path}:{line}:{column})"),
    };
}
