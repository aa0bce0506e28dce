//! Turns a unit into machine code by Cranelift. [`crate::compile`] calls it after `residence`.
//!
//! | module | what it lowers |
//! |---|---|
//! | `function` | blocks, values, ends, exits |
//! | `branches` | branches, and tests of layouts that become branches |
//! | `allocation` | new objects |
//! | `arithmetic` | constants, conversions, integers, doubles |
//! | `fuel` | the count of polls for sandboxes |
//! | `guards` | guards and tests |
//! | `texts` | strings and symbols |
//! | `hardening` | indices and constants of guests that are not trusted |
//! | `memory` | slots, elements, the write barrier, the frame |
//! | `calls` | calls and helpers |
//!
//! A value that `residence` loads again is a variable of Cranelift's frontend, which finds the definition that reaches
//! each use. All others are plain values. Constants are made where they are used, and refinements are their arguments.

mod absence;
mod allocation;
mod arithmetic;
mod branches;
mod calls;
mod fuel;
mod function;
mod guards;
mod hardening;
mod memory;
mod texts;

use std::ops::Range;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CompiledCode as CompiledUnit, Final, MachSrcLoc};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::code::{CompileError, CompiledCode, Exit, Line, Request, Start};
use crate::facts::Facts;
use crate::ir::entities::ActivationId;
use crate::ir::{Origin, Unit};
use crate::passes::residence::Residence;

use function::{Lowered, Lowering};

/// The code generator for this machine, and the memory that it uses again for each unit.
pub struct Backend {
    isa: OwnedTargetIsa,
    context: Context,
    functions: FunctionBuilderContext,
}

impl Backend {
    /// A generator of code for the machine that this program runs on.
    pub fn new() -> Result<Backend, CompileError> {
        let refused = |error: &dyn std::fmt::Display| CompileError::Backend(error.to_string());
        let flags = flags().map_err(|error| refused(&error))?;
        let builder = isa::lookup_by_name(TRIPLE).map_err(|error| refused(&error))?;
        let isa = builder.finish(flags).map_err(|error| refused(&error))?;
        Ok(Backend { isa, context: Context::new(), functions: FunctionBuilderContext::new() })
    }

    /// Lowers a unit.
    pub fn lower(
        &mut self,
        unit: &Unit,
        residence: &Residence,
        facts: &dyn Facts,
        request: &Request,
    ) -> Result<CompiledCode, CompileError> {
        self.context.clear();
        let Lowered { exits, origins } = self.translate(unit, residence, facts, request.start);
        let compiled = self.context.compile(&*self.isa, &mut ControlPlane::default());
        let compiled = compiled.map_err(|error| CompileError::Backend(format!("{error:?}")))?;
        debug_assert!(compiled.buffer.relocs().is_empty(), "all addresses are immediates");
        Ok(CompiledCode {
            bytes: compiled.code_buffer().to_vec(),
            request: request.clone(),
            extent: unit.extent(),
            exits,
            inlined: unit.activations[1..].iter().map(|each| each.function).collect(),
            remarks: unit.remarks.clone(),
            lines: lines(compiled, &origins),
            inner_loops: inner_loops(compiled),
            reliances: unit.reliances.clone(),
        })
    }

    /// The unit in Cranelift's representation, with the exits that it refers to, for tests.
    pub fn translated(
        &mut self,
        unit: &Unit,
        residence: &Residence,
        facts: &dyn Facts,
        start: Start,
    ) -> (ir::Function, Vec<Exit>) {
        self.context.clear();
        let lowered = self.translate(unit, residence, facts, start);
        // The text form would have the numbers of sources.
        self.context.func.srclocs.clear();
        (self.context.func.clone(), lowered.exits)
    }

    fn translate(
        &mut self,
        unit: &Unit,
        residence: &Residence,
        facts: &dyn Facts,
        start: Start,
    ) -> Lowered {
        let target = self.isa.frontend_config();
        self.context.func.signature = function::signature(isa::CallConv::Tail, 2);
        self.context.func.name = ir::UserFuncName::user(0, 0);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.functions);
        Lowering::new(unit, residence, facts, builder).run(target, start)
    }
}

/// The places of machine code for which the instruction of bytecode is known. Cranelift has their numbers.
fn lines(compiled: &CompiledUnit, origins: &[Origin]) -> Vec<Line> {
    let sources = compiled.buffer.get_srclocs_sorted().iter();
    let line = |source: &MachSrcLoc<Final>| {
        let origin = *origins.get(source.loc.bits() as usize)?;
        Some(Line { offset: source.start, origin })
    };
    sources.filter_map(line).collect()
}

/// Where loops are in which there is no other loop: from the head to the nearest block that jumps back to it. What lies behind
/// is rarely done.
fn inner_loops(compiled: &CompiledUnit) -> Vec<Range<u32>> {
    let end_of = |block: u32| {
        let later = compiled.bb_starts.iter().filter(|&&start| start > block).min();
        later.copied().unwrap_or(compiled.buffer.total_size())
    };
    let back = compiled.bb_edges.iter().filter(|(from, to)| to <= from);
    let mut loops: Vec<_> = back.map(|&(from, to)| to..end_of(from)).collect();
    loops.sort_by_key(|each| (each.start, each.end));
    loops.dedup_by_key(|each| each.start);
    let has_inner = |outer: &Range<u32>| {
        loops.iter().any(|each| each.start > outer.start && each.start < outer.end)
    };
    loops.iter().filter(|each| !has_inner(each)).cloned().collect()
}

/// The machine, as Cranelift names it.
const TRIPLE: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-gnu"
} else {
    "x86_64-unknown-linux-gnu"
};

fn flags() -> Result<settings::Flags, settings::SetError> {
    let mut flags = settings::builder();
    let on = "true";
    let off = "false";
    flags.set("opt_level", "speed")?;
    flags.set("enable_pinned_reg", on)?;
    flags.set("is_pic", off)?;
    // Native frames are thrown away or walked by frame pointers, never unwound. Jumps out of a unit need the pointers,
    // too.
    flags.set("preserve_frame_pointers", on)?;
    flags.set("unwind_info", off)?;
    // Where blocks begin, and where they lead to: for loops.
    flags.set("machine_code_cfg_info", on)?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { on } else { off })?;
    Ok(settings::Flags::new(flags))
}

/// The words between the unit's frame and an activation's.
fn offset(unit: &Unit, activation: ActivationId) -> u32 {
    unit.activations[activation.index()].offset
}
