//! `squall eval`: evaluates an expression. `commands` calls this module.

use squall::compiler::CompileProblem;
use squall::session::{Evaluation, Session};

use super::{internal, start};
use crate::arguments::Eval;
use crate::console::{colour, complain, print_error};
use crate::exit::Exit;
use crate::packages::packages_here;

/// Shows the warnings about an input.
pub fn show_warnings(warnings: &CompileProblem) {
    print_error(&warnings.render(colour()));
}

pub fn eval(arguments: &Eval) -> Result<Exit, Exit> {
    let mut options = arguments.machine.options(vec!["eval".to_owned()]);
    options.packages = packages_here(&arguments.packages)?;
    let machine = start(options)?;
    let mut session = Session::new(machine).map_err(internal)?;
    match session.evaluate("eval", &arguments.expression, show_warnings).map_err(internal)? {
        Evaluation::Done => Ok(Exit::Success),
        Evaluation::Failed | Evaluation::Interrupted => Ok(Exit::Failure),
        Evaluation::Unresolved => {
            complain("the value is a promise, and nothing is left that could resolve it");
            Ok(Exit::Failure)
        }
        Evaluation::Invalid(problem) => {
            print_error(&problem.render(colour()));
            Ok(Exit::Invalid)
        }
        Evaluation::Exit(code) => Ok(Exit::Program(code)),
    }
}
