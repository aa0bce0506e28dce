//! Scopes: the closed pieces of a function's code, that is, the branches of a `par`, the body of a `par_for`, and the
//! code between `accept` and `end_accept`. The verifier, the flow analyses and the runtime's unwinder ask for them.
//!
//! A scope is the run of instructions after an instruction that opens it. Control enters it at the beginning and leaves
//! it at its last instruction, which closes it, or by an exception. So jumps stay within the innermost scope around
//! them, and regions lie within one scope with their handlers.
//!
//! ```text
//!     par           after      a fork: its branches follow, one behind the other
//!     branch        second     opens a scope that ends at `second`
//!     …
//!     end_branch
//! second:
//!     branch        after
//!     …
//!     end_branch
//! after:
//! ```
//!
//! A branch runs in a strand of its own, in a copy of the frame: no activation stands both inside and
//! outside of it. The other scopes are part of the activation around them.

use std::ops::Range;

use crate::decode::{Instruction, instructions};
use crate::instructions::{Opcode, OperandKind};
use crate::module::{Function, Region};

/// A closed piece of code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Its words, after the instruction that opens it.
    pub code: Range<usize>,
    /// The pc of that instruction.
    pub opener: usize,
    /// The fork that it is a branch of; `None` for the scope of an `accept`.
    pub fork: Option<usize>,
    /// The next scope around it.
    pub parent: Option<usize>,
}

impl Scope {
    /// The pc of the instruction that closes it.
    pub fn last(&self) -> usize {
        // Both instructions that do are one word long.
        self.code.end - 1
    }
}

/// A `par` or `par_for` with its branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fork {
    /// The pc of the instruction.
    pub pc: usize,
    /// The pc after the fork.
    pub after: usize,
    /// Whether it is a `par_for`, whose one branch is run many times.
    pub is_loop: bool,
    /// Its branches: indices of scopes.
    pub branches: Vec<usize>,
}

/// The scopes of a function, and its forks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scopes {
    /// In the order in which they begin.
    pub scopes: Vec<Scope>,
    /// In the order of the code.
    pub forks: Vec<Fork>,
}

/// The greatest depth of nested forks, branches and rendezvous together. A query about a pc walks over all scopes
/// around it.
pub const MOST_DEPTH: usize = 64;

/// A fork or scope that is open while the code is read.
enum Open {
    /// A fork that waits for its next branch, or its end.
    Fork(usize),
    Scope(usize),
}

/// A mistake at a pc.
pub(crate) type Misplaced = (usize, String);

impl Scopes {
    /// The scopes of a function; none if something about them is wrong.
    pub fn of(function: &Function) -> Scopes {
        Scopes::find(&function.code).unwrap_or_default()
    }

    /// Finds the scopes; the error is a mistake in them.
    pub(crate) fn find(code: &[u32]) -> Result<Scopes, Misplaced> {
        let mut reader = Reader { scopes: Scopes::default(), open: Vec::new(), closed: None };
        for instruction in instructions(code) {
            reader.read(&instruction)?;
        }
        reader.close_before(code.len())?;
        match reader.open.last() {
            None => Ok(reader.scopes),
            Some(_) => Err(reader.wrong_end(code.len())),
        }
    }

    /// The innermost scope around a pc.
    pub fn innermost(&self, pc: usize) -> Option<usize> {
        self.climb(self.last_before(pc), |scope| scope.code.contains(&pc))
    }

    /// The scopes around a pc, innermost first.
    pub fn around(&self, pc: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.innermost(pc), |&index| self.scopes[index].parent)
    }

    /// The innermost branch around a pc. Code in a branch runs in a copy of the frame.
    pub fn branch_around(&self, pc: usize) -> Option<&Scope> {
        let is_branch = |scope: &Scope| scope.fork.is_some() && scope.code.contains(&pc);
        self.climb(self.last_before(pc), is_branch).map(|index| &self.scopes[index])
    }

    /// The scopes around a pc that are no branches, up to the next branch around it, innermost first.
    pub fn rendezvous_around(&self, pc: usize) -> impl Iterator<Item = &Scope> {
        let around = self.around(pc).map(|index| &self.scopes[index]);
        around.take_while(|scope| scope.fork.is_none())
    }

    /// Whether a region can get control for an exception at a pc that it contains: an exception does
    /// not leave a branch.
    pub fn reaches(&self, region: &Region, pc: usize) -> bool {
        let within = |branch: &Scope| branch.code.contains(&(region.start as usize));
        self.branch_around(pc).is_none_or(within)
    }

    /// The last scope that begins at or before a pc: it or one around it is the innermost one there.
    fn last_before(&self, pc: usize) -> Option<usize> {
        self.scopes.partition_point(|scope| scope.code.start <= pc).checked_sub(1)
    }

    fn climb(&self, from: Option<usize>, is_it: impl Fn(&Scope) -> bool) -> Option<usize> {
        let mut around = std::iter::successors(from, |&index| self.scopes[index].parent);
        around.find(|&index| is_it(&self.scopes[index]))
    }
}

/// Reads code from the beginning.
struct Reader {
    scopes: Scopes,
    open: Vec<Open>,
    /// The scope that the last instruction has closed.
    closed: Option<usize>,
}

impl Reader {
    fn read(&mut self, instruction: &Instruction) -> Result<(), Misplaced> {
        let pc = instruction.pc;
        self.close_before(pc)?;
        let is_header = instruction.opcode == Opcode::Branch;
        match self.open.last() {
            Some(&Open::Fork(fork)) if is_header => return self.begin_branch(fork, instruction),
            Some(Open::Fork(_)) => return Err((pc, "only branches can follow here".into())),
            _ if is_header => {
                return Err((pc, "a branch must follow `par` or another branch".into()));
            }
            _ => {}
        }
        match instruction.opcode {
            Opcode::Par => {
                let fork = self.add_fork(instruction)?;
                self.open.push(Open::Fork(fork));
            }
            Opcode::ParFor => {
                let fork = self.add_fork(instruction)?;
                self.open_scope(instruction, Some(fork))?;
                self.scopes.forks[fork].branches.push(self.scopes.scopes.len() - 1);
            }
            Opcode::Accept => self.open_scope(instruction, None)?,
            Opcode::EndBranch | Opcode::EndAccept => self.close_by(instruction)?,
            _ => self.closed = None,
        }
        Ok(())
    }

    /// The target of an instruction that opens a scope or fork. It must lie ahead, inside of the open ones.
    fn end_of(&self, instruction: &Instruction) -> Result<usize, Misplaced> {
        let pc = instruction.pc;
        let target = instruction.targets().next().and_then(|target| usize::try_from(target).ok());
        let target = target.filter(|&target| target > instruction.next_pc());
        let target = target.ok_or((pc, "it must end further on".into()))?;
        if target > self.end() {
            return Err((pc, "it ends outside of the scope around it".into()));
        }
        Ok(target)
    }

    fn add_fork(&mut self, instruction: &Instruction) -> Result<usize, Misplaced> {
        let after = self.end_of(instruction)?;
        let is_loop = instruction.opcode == Opcode::ParFor;
        let fork = Fork { pc: instruction.pc, after, is_loop, branches: Vec::new() };
        self.scopes.forks.push(fork);
        self.closed = None;
        Ok(self.scopes.forks.len() - 1)
    }

    fn begin_branch(&mut self, fork: usize, instruction: &Instruction) -> Result<(), Misplaced> {
        self.open_scope(instruction, Some(fork))?;
        self.scopes.forks[fork].branches.push(self.scopes.scopes.len() - 1);
        Ok(())
    }

    fn open_scope(
        &mut self,
        instruction: &Instruction,
        fork: Option<usize>,
    ) -> Result<(), Misplaced> {
        let end = self.end_of(instruction)?;
        let parent = self.open.iter().rev().find_map(|open| match open {
            Open::Scope(index) => Some(*index),
            Open::Fork(_) => None,
        });
        if self.open.len() >= MOST_DEPTH {
            return Err((instruction.pc, format!("this is nested more than {MOST_DEPTH} deep")));
        }
        let code = instruction.next_pc()..end;
        self.scopes.scopes.push(Scope { code, opener: instruction.pc, fork, parent });
        self.open.push(Open::Scope(self.scopes.scopes.len() - 1));
        self.closed = None;
        Ok(())
    }

    fn close_by(&mut self, instruction: &Instruction) -> Result<(), Misplaced> {
        let is_branch = instruction.opcode == Opcode::EndBranch;
        let fits = match self.open.last() {
            Some(&Open::Scope(index)) => {
                let scope = &self.scopes.scopes[index];
                let is_its = scope.fork.is_some() == is_branch;
                (is_its && scope.code.end == instruction.next_pc()).then_some(index)
            }
            _ => None,
        };
        self.closed = fits;
        let opener = if is_branch { "branch" } else { "accept" };
        match fits {
            Some(_) => Ok(()),
            None => Err((instruction.pc, format!("no `{opener}` says that it ends here"))),
        }
    }

    /// The end of the innermost open scope or fork.
    fn end(&self) -> usize {
        match self.open.last() {
            None => usize::MAX,
            Some(&Open::Fork(fork)) => self.scopes.forks[fork].after,
            Some(&Open::Scope(scope)) => self.scopes.scopes[scope].code.end,
        }
    }

    /// Closes the scopes and forks that end before this pc.
    fn close_before(&mut self, pc: usize) -> Result<(), Misplaced> {
        while self.end() <= pc {
            if self.end() < pc {
                return Err((pc, "something ends within the instruction before".into()));
            }
            if let Some(&Open::Scope(index)) = self.open.last()
                && self.closed != Some(index)
            {
                return Err(self.wrong_end(pc));
            }
            if let Some(&Open::Fork(fork)) = self.open.last()
                && self.scopes.forks[fork].branches.is_empty()
            {
                return Err((pc, "there is a `par` without branches".into()));
            }
            self.open.pop();
        }
        Ok(())
    }

    fn wrong_end(&self, pc: usize) -> Misplaced {
        let is_branch = match self.open.last() {
            Some(&Open::Scope(index)) => self.scopes.scopes[index].fork.is_some(),
            _ => true,
        };
        let closer = if is_branch { "end_branch" } else { "end_accept" };
        (pc, format!("`{closer}` is missing before this place"))
    }
}

/// Checks that the jumps and the regions of a function stay within its scopes.
pub(crate) fn check(function: &Function, scopes: &Scopes) -> Result<(), Misplaced> {
    if scopes.scopes.is_empty() {
        return Ok(());
    }
    let headers: Vec<usize> = scopes.scopes.iter().map(|scope| scope.opener).collect();
    let is_header = |pc: usize| {
        let found = headers.binary_search(&pc).ok();
        found.is_some_and(|index| {
            Opcode::of_word(function.code[headers[index]]) == Some(Opcode::Branch)
        })
    };
    for instruction in instructions(&function.code) {
        check_jumps(&instruction, scopes, &is_header)?;
    }
    for region in &function.regions {
        let (start, end) = (region.start as usize, region.end as usize);
        let around = scopes.innermost(start);
        let ends = around.is_some_and(|scope| scopes.scopes[scope].code.end == end)
            || scopes.innermost(end) == around && !is_header(end);
        if is_header(start) || !ends {
            return Err((start, "a region begins here that ends in another scope".into()));
        }
        let handler = region.handler as usize;
        if scopes.innermost(handler) != around || is_header(handler) {
            return Err((handler, "the handler of a region lies in another scope".into()));
        }
    }
    Ok(())
}

fn check_jumps(
    instruction: &Instruction,
    scopes: &Scopes,
    is_header: &impl Fn(usize) -> bool,
) -> Result<(), Misplaced> {
    let pc = instruction.pc;
    if matches!(instruction.opcode, Opcode::Branch) {
        return Ok(());
    }
    for (_, distance) in
        instruction.operands().filter(|(operand, _)| operand.kind == OperandKind::Target)
    {
        let target = (pc as i64 + distance) as usize;
        let around = scopes.innermost(pc);
        if scopes.innermost(target) != around || is_header(target) {
            return Err((pc, "the target lies in another scope".into()));
        }
    }
    let leaves = matches!(
        instruction.opcode,
        Opcode::Return | Opcode::ReturnHome | Opcode::ReturnNonlocal | Opcode::EndProcess
    );
    if leaves && scopes.innermost(pc).is_some() {
        return Err((pc, "a function is not left from inside a branch or a rendezvous".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
