//! Scopes of small pieces of code.

use super::*;
use crate::assembler::assemble;

/// A process with this code, and registers `i64*4, any*2`.
fn process(code: &str) -> Function {
    let text = format!("process fn0 \"p\" (0) {{\nregisters i64*4, any*2\n{code}\n}}\n");
    assemble(&text).unwrap_or_else(|problems| panic!("{problems:?}")).functions.remove(0)
}

fn scopes(code: &str) -> Result<Scopes, String> {
    let function = process(code);
    let found = Scopes::find(&function.code);
    let checked = found.and_then(|scopes| check(&function, &scopes).map(|()| scopes));
    checked.map_err(|(pc, message)| format!("{pc}: {message}"))
}

#[test]
fn branches_lie_one_behind_the_other() {
    let code = "par after\nbranch second\nend_branch\nsecond:\nbranch after\nnow r0\nend_branch\nafter:\nend_process";
    let scopes = scopes(code).unwrap();
    let ranges: Vec<_> = scopes.scopes.iter().map(|scope| scope.code.clone()).collect();
    assert_eq!(ranges, [3..4, 5..7]);
    assert_eq!(scopes.forks, [Fork { pc: 0, after: 7, is_loop: false, branches: vec![0, 1] }]);
    assert_eq!(scopes.innermost(2), None);
    assert_eq!(scopes.innermost(6), Some(1));
    assert_eq!(scopes.innermost(7), None);
}

#[test]
fn scopes_nest() {
    let code = "par_for r0, r1, after\npar_for r2, r3, within\nend_branch\nwithin:\nend_branch\nafter:\nend_process";
    let scopes = scopes(code).unwrap();
    assert_eq!(scopes.around(6).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(scopes.branch_around(7).map(|scope| scope.opener), Some(0));
}

#[test]
fn what_is_not_closed_is_found() {
    let wrong = [
        ("par after\nafter:\nend_process", "0: it must end further on"),
        ("par after\nnow r0\nafter:\nend_process", "2: only branches can follow here"),
        ("end_branch\nend_process", "0: no `branch` says that it ends here"),
        (
            "par_for r0, r1, after\nnow r2\nafter:\nend_process",
            "4: `end_branch` is missing before this place",
        ),
        (
            "par_for r0, r1, after\npar_for r2, r3, after\nend_branch\nafter:\nend_process",
            "7: `end_branch` is missing before this place",
        ),
        (
            "par_for r0, r1, after\njump after\nend_branch\nafter:\nend_process",
            "3: the target lies in another scope",
        ),
        (
            "par_for r0, r1, after\nend_process\nend_branch\nafter:\nend_process",
            "3: a function is not left from inside a branch or a rendezvous",
        ),
        (
            "branch after\nend_branch\nafter:\nend_process",
            "0: a branch must follow `par` or another branch",
        ),
    ];
    for (code, problem) in wrong {
        assert_eq!(scopes(code).unwrap_err(), problem, "{code}");
    }
}

#[test]
fn nesting_is_limited() {
    let depth = MOST_DEPTH + 1;
    let mut code = String::new();
    for level in 0..depth {
        code += &format!("par_for r0, r1, l{level}\n");
    }
    for level in (0..depth).rev() {
        code += &format!("end_branch\nl{level}:\n");
    }
    code += "end_process";
    assert!(scopes(&code).unwrap_err().ends_with("this is nested more than 64 deep"));
}
