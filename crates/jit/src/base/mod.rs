//! The baseline compiler: one pass over a function's bytecode, which appends a template for each instruction. [`crate::compiler`]
//! calls it for functions that have got hot.
//!
//! Registers live in the frame only, so the frame is complete before and after each instruction: every instruction is a
//! place where the strand may stop, be looked at, and go on. What the interpreter has observed (the forms of sends,
//! inline caches) decides what a template does inline; all else is a call of shared code or a step of the interpreter.
//!
//! | module | templates of |
//! |---|---|
//! | `values` | moves, constants, variables, closures |
//! | `control` | jumps, branches, loops, returns |
//! | `waits` | reading and writing channels, yielding |
//! | `sends` | sends, calls, evaluations, accesses to slots |
//! | `operators` | sends of operators on numbers and arrays |
//! | `objects` | enclosing objects, initial slots |
//! | `typed` | arithmetic and comparisons of typed registers |
//!
//! Rare ways leave a template forwards: they are assembled after all templates (`Emitter::later`), so that the usual
//! way is a straight line.

mod control;
mod objects;
mod operators;
mod sends;
mod typed;
mod values;
mod waits;

use std::sync::atomic::{AtomicU32, Ordering};

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::Field;
use squall_bytecode::register_set::RegisterSet;
use squall_compiler::words::{NO_ANSWER, is_harmless};
use squall_heap::{LayoutId, UNLOGGED, Word, slot_kinds};
use squall_runtime::tiers::function::{CodeKind, Function, NOWHERE, Site};
use squall_runtime::tiers::hashing;
use squall_runtime::tiers::known;

use crate::assembler::{Assembler, offset};
use crate::code::Profile;
use crate::stubs::{Helper, Stubs};

/// Machine code, and where its instructions are.
pub struct Assembled {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// For each code word, the distance of its instruction's machine code from the beginning; 0 if none starts there.
    pub places: Box<[u32]>,
    /// For each code word the distance of the machine code to which the callee of its instruction returns, or 0.
    pub returns: Box<[u32]>,
    /// From where on it has its native frame.
    pub framed: u32,
}

/// The state of a compilation.
pub struct Emitter<'a> {
    ops: Assembler,
    function: &'static Function,
    /// How the code accesses what guests can write.
    kind: CodeKind,
    /// Whether it masks indices and blinds constants.
    is_hardened: bool,
    stubs: &'a Stubs,
    /// A label for each code word.
    labels: Vec<DynamicLabel>,
    /// The rare ways, in the order of their templates.
    later: Vec<Later>,
    places: Box<[u32]>,
    /// Where observations go; empty if nobody reads them.
    profile: Profile,
    framed: u32,
}

/// Code that comes after all templates.
type Later = Box<dyn FnOnce(&mut Emitter<'_>)>;

/// What is to be compiled.
pub struct Request {
    /// The function.
    pub function: &'static Function,
    /// What the code does beside the program's own work.
    pub kind: CodeKind,
    /// Whether it masks indices and blinds constants.
    pub is_hardened: bool,
    /// Where observations go; empty if nobody reads them.
    pub profile: Profile,
}

/// Compiles a function for this address. `None` would be a mistake of a template: a label without a place.
pub fn compile(request: Request, stubs: &Stubs, address: usize) -> Option<Assembled> {
    let Request { function, kind, is_hardened, profile } = request;
    let mut ops = Assembler::new(address);
    let labels = function.code.iter().map(|_| ops.new_dynamic_label()).collect();
    let places = vec![0; function.code.len()].into();
    let later = Vec::new();
    let framed = 0;
    let mut emitter =
        Emitter { ops, function, kind, is_hardened, stubs, labels, later, places, profile, framed };
    emitter.prologue();
    let code = &function.bytecode().code;
    for instruction in instructions(code) {
        emitter.begin(instruction.pc);
        emitter.template(&instruction);
    }
    emitter.trap();
    while !emitter.later.is_empty() {
        for later in std::mem::take(&mut emitter.later) {
            later(&mut emitter);
        }
    }
    let returns = emitter.returns();
    let (places, framed) = (emitter.places, emitter.framed);
    let bytes = emitter.ops.finalize().ok();
    debug_assert!(bytes.is_some(), "a label of {} has no place", function.name());
    bytes.map(|bytes| Assembled { bytes, places, returns, framed })
}

impl Emitter<'_> {
    /// Checks the limit of the stack, by which others make the thread poll, too.
    fn prologue(&mut self) {
        let extent = 8 * self.function.frame_words as i32;
        if self.kind == CodeKind::Sandboxed {
            dynasm!(self.ops
                ; .arch x64
                ; sub DWORD [r15 + offset::FUEL], 1
                ; js extern self.stubs.slow_entry
            );
        }
        dynasm!(self.ops
            ; .arch x64
            ; lea rax, [rdi + extent]
            ; cmp rax, [r15 + offset::LIMIT]
            ; ja extern self.stubs.slow_entry
            ; push rbx
        );
        self.framed = self.ops.offset().0 as u32;
        dynasm!(self.ops ; .arch x64 ; mov rbx, rdi);
        self.count(0, false);
    }

    /// Counts a call or a turn that goes on at this pc; at the end of the countdown, takes a sample.
    fn count(&mut self, pc: usize, is_loop: bool) {
        if self.profile.is_empty() {
            return;
        }
        let ended = self.label();
        dynasm!(self.ops
            ; .arch x64
            ; sub DWORD [r15 + offset::COUNTDOWN], 1
            ; jz =>ended
        );
        self.later(move |emitter| {
            let word = emitter.code_word(pc);
            emitter.bind(ended);
            dynasm!(emitter.ops
                ; .arch x64
                ; mov rsi, QWORD word
                ; mov rdx, QWORD std::ptr::from_ref(emitter.function) as i64
                ; mov r8d, i32::from(is_loop)
                ; call extern emitter.stubs.of(Helper::Sample)
                ; ud2
            );
        });
    }

    /// For each instruction that calls, the code to which an activation returns that optimised code has made.
    fn returns(&mut self) -> Box<[u32]> {
        let mut returns: Box<[u32]> = vec![0; self.function.code.len()].into();
        let calls = self.function.sites.iter().filter(|site| site.window > 0);
        for site in calls.filter(|_| !self.profile.is_empty()) {
            let next = self.function.pc_index(site.return_pc);
            // Some sites return into the middle of an instruction that only the interpreter goes on with.
            if self.places.get(next).is_none_or(|place| *place == 0) {
                continue;
            }
            let label = self.labels[next];
            returns[site.pc as usize] = self.ops.offset().0 as u32;
            if site.destination != NOWHERE {
                self.store_result(usize::from(site.destination));
            }
            self.jump(label);
        }
        returns
    }

    /// Records which way the branch at a pc goes. Destroys `rdx`.
    fn record(&mut self, pc: usize, way: u8) {
        if let Some(ways) = self.profile.get(pc) {
            self.note(ways.as_ptr() as i64, way);
        }
    }

    /// Sets bits in a byte. Destroys `rdx`.
    fn note(&mut self, address: i64, bits: u8) {
        let (unset, done) = (self.label(), self.label());
        dynasm!(self.ops
            ; .arch x64
            ; mov rdx, QWORD address
            ; test BYTE [rdx], bits as i8
            ; jz =>unset
            ; =>done
        );
        self.later(move |emitter| {
            dynasm!(emitter.ops
                ; .arch x64
                ; =>unset
                ; or BYTE [rdx], bits as i8
                ; jmp =>done
            );
        });
    }

    /// Notes what an operator or an access to an element has had. Destroys `rdx`.
    fn observe(&mut self, site: &'static Site, bits: u8) {
        if !self.profile.is_empty() {
            self.note(site.feedback.as_ptr() as i64, bits);
        }
    }

    /// A label that records a branch's way, and then goes on at `goal`.
    fn by_way(&mut self, pc: usize, way: u8, goal: DynamicLabel) -> DynamicLabel {
        if self.profile.is_empty() {
            return goal;
        }
        let label = self.label();
        self.later(move |emitter| {
            emitter.bind(label);
            emitter.record(pc, way);
            emitter.jump(goal);
        });
        label
    }

    fn begin(&mut self, pc: usize) {
        self.places[pc] = self.ops.offset().0 as u32;
        let label = self.labels[pc];
        dynasm!(self.ops ; .arch x64 ; =>label);
    }

    /// After the last instruction, which does not fall through.
    fn trap(&mut self) {
        dynasm!(self.ops ; .arch x64 ; ud2);
    }

    /// Assembles this after all templates.
    fn later(&mut self, code: impl FnOnce(&mut Emitter<'_>) + 'static) {
        self.later.push(Box::new(code));
    }

    fn label(&mut self) -> DynamicLabel {
        self.ops.new_dynamic_label()
    }

    fn bind(&mut self, label: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; =>label);
    }

    fn jump(&mut self, label: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; jmp =>label);
    }

    fn template(&mut self, instruction: &Instruction) {
        let done = self.value_template(instruction)
            || self.control_template(instruction)
            || self.send_template(instruction)
            || self.object_template(instruction)
            || self.typed_template(instruction)
            || self.waiting_template(instruction);
        if !done {
            self.step(instruction);
        }
    }

    /// The interpreter runs the instruction.
    fn step(&mut self, instruction: &Instruction) {
        self.step_at(instruction.pc);
    }

    /// The interpreter goes on at a code word, to the next instruction.
    fn step_at(&mut self, pc: usize) {
        let pc = self.code_word(pc);
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD pc
            ; mov rdx, QWORD std::ptr::from_ref(self.function) as i64
            ; call extern self.stubs.of(Helper::Step)
        );
        // The step answers where to go on.
        self.trap();
    }

    /// A step of the interpreter, after all templates.
    fn otherwise_step(&mut self, instruction: &Instruction) -> DynamicLabel {
        let (label, instruction) = (self.label(), *instruction);
        self.later(move |emitter| {
            emitter.bind(label);
            emitter.step(&instruction);
        });
        label
    }

    /// Calls a helper that does what the instruction with this site does.
    fn helped_call(&mut self, site: &'static Site, helper: Helper) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD std::ptr::from_ref(site) as i64
            ; call extern self.stubs.of(helper)
        );
        self.store_result(usize::from(site.destination));
    }

    fn code_word(&self, pc: usize) -> i64 {
        (&raw const self.function.code[pc]) as i64
    }

    /// The registers that are read after this instruction is reached; raw ones and words.
    fn live_before(&self, pc: usize) -> RegisterSet {
        let maps = self.function.frame_maps();
        maps.before(pc) | maps.raw_before(pc)
    }

    /// Loads a register into `rax`.
    fn load_rax(&mut self, register: usize) {
        dynasm!(self.ops ; .arch x64 ; mov rax, [rbx + place(register)]);
    }

    /// Loads a register into `rcx`.
    fn load_rcx(&mut self, register: usize) {
        dynasm!(self.ops ; .arch x64 ; mov rcx, [rbx + place(register)]);
    }

    /// Stores `rax` into a register.
    fn store_result(&mut self, register: usize) {
        dynasm!(self.ops ; .arch x64 ; mov [rbx + place(register)], rax);
    }

    /// Copies a register by way of `rax`.
    fn copy(&mut self, to: usize, from: usize) {
        self.load_rax(from);
        self.store_result(to);
    }

    /// Stores an immediate word into a register.
    fn store_word(&mut self, register: usize, word: Word) {
        self.store_bits(register, word.bits());
    }

    /// Stores bits into a register. A guest may have chosen them.
    fn store_bits(&mut self, register: usize, bits: u64) {
        if self.is_hardened && !is_harmless(bits as i64) {
            let blinded = bits ^ hashing::code_key();
            dynasm!(self.ops
                ; .arch x64
                ; mov rax, QWORD blinded as i64
                ; xor rax, [r15 + offset::CODE_KEY]
            );
            return self.store_result(register);
        }
        match i32::try_from(bits as i64) {
            Ok(bits) => {
                dynasm!(self.ops ; .arch x64 ; mov QWORD [rbx + place(register)], bits);
            }
            Err(_) => {
                dynasm!(self.ops ; .arch x64 ; mov rax, QWORD bits as i64);
                self.store_result(register);
            }
        }
    }

    /// Jumps if the word in `rax` has another layout. Destroys `rcx`.
    fn check_layout(&mut self, layout: LayoutId, other: DynamicLabel) {
        if let Some(bits) = special_of(layout) {
            dynasm!(self.ops ; .arch x64 ; cmp rax, bits ; jne =>other);
            return;
        }
        match layout {
            known::SMALL_INTEGER => dynasm!(self.ops ; .arch x64 ; test al, 7 ; jnz =>other),
            known::IMMEDIATE_DOUBLE => dynasm!(self.ops
                ; .arch x64
                ; test al, squall_heap::DOUBLE_BIT as i8
                ; jz =>other
            ),
            _ => self.check_object(layout, other),
        }
    }

    /// Jumps if the word in `rax` is no object with this layout. Destroys `rcx`.
    fn check_object(&mut self, layout: LayoutId, other: DynamicLabel) {
        self.check_pointer(other);
        dynasm!(self.ops
            ; .arch x64
            ; cmp DWORD [rax + offset::OBJECT_LAYOUT], layout.bits() as i32
            ; jne =>other
        );
    }

    /// Jumps if the word in `rax` is no pointer. Destroys `rcx`.
    fn check_pointer(&mut self, other: DynamicLabel) {
        dynasm!(self.ops
            ; .arch x64
            ; lea ecx, [rax - 1]
            ; test cl, 7
            ; jnz =>other
        );
    }

    /// Loads a slot of the object whose word is in `rax` into `rax`, for the instruction at a pc.
    fn load_slot(&mut self, index: usize, pc: usize, other: DynamicLabel) {
        match self.kind {
            CodeKind::Bare | CodeKind::Sandboxed => {
                dynasm!(self.ops ; .arch x64 ; mov rax, [rax + offset::slot(index)]);
            }
            CodeKind::Guarded => {
                dynasm!(self.ops ; .arch x64 ; mov esi, index as i32);
                self.call_load(self.stubs.base_accesses.load_slot, pc, other);
            }
        }
    }

    /// Loads a place of the object whose word is in `rax`, whose index is in `rsi`, by a guarded access. If that is not
    /// possible, goes elsewhere.
    fn call_load(&mut self, stub: usize, pc: usize, other: DynamicLabel) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rdi, rax
            ; mov rdx, QWORD self.code_word(pc)
            ; call extern stub
            ; cmp rax, NO_ANSWER as i32
            ; je =>other
        );
    }

    /// Stores the word in `rcx` into a slot of the object whose word is in `rax`, for the instruction at a pc. Destroys all
    /// but `rbx`.
    fn store_slot_of(&mut self, layout: LayoutId, index: usize, pc: usize, other: DynamicLabel) {
        match self.kind {
            CodeKind::Bare | CodeKind::Sandboxed => {
                self.admit(layout, index);
                dynasm!(self.ops ; .arch x64 ; mov [rax + offset::slot(index)], rcx);
                self.slot_barrier();
            }
            CodeKind::Guarded => {
                dynasm!(self.ops ; .arch x64 ; mov esi, index as i32);
                self.call_store(self.stubs.base_accesses.store_slot, pc, other);
            }
        }
    }

    /// Widens the kind of a layout's slot so that it admits the word in `rcx`. Keeps `rax` and `rcx`.
    fn admit(&mut self, layout: LayoutId, index: usize) {
        let kind = slot_kinds::cell(layout, index);
        let is_open = |kind: &&AtomicU32| kind.load(Ordering::Relaxed) != slot_kinds::ANYTHING;
        let Some(kind) = kind.filter(is_open) else { return };
        let (may_widen, done) = (self.label(), self.label());
        dynasm!(self.ops
            ; .arch x64
            ; mov rdi, QWORD kind.as_ptr() as i64
            ; cmp DWORD [rdi], slot_kinds::ANYTHING as i32
            ; jne =>may_widen
            ; =>done
        );
        self.later(move |emitter| {
            emitter.bind(may_widen);
            dynasm!(emitter.ops
                ; .arch x64
                ; mov rsi, rcx
                ; push rax
                ; push rcx
                ; call extern emitter.stubs.admit_in_base
                ; pop rcx
                ; pop rax
                ; jmp =>done
            );
        });
    }

    /// Stores the word in `rcx` as [`Self::call_load`] loads.
    fn call_store(&mut self, stub: usize, pc: usize, other: DynamicLabel) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rdi, rax
            ; mov rdx, rcx
            ; mov rcx, QWORD self.code_word(pc)
            ; call extern stub
            ; test eax, eax
            ; jz =>other
        );
    }

    /// The barrier after a store of the word in `rcx` into a slot of the object whose word is in `rax`. Keeps both in
    /// the usual case; the rare one destroys all but `rbx`.
    fn slot_barrier(&mut self) {
        let (logged, done) = (self.label(), self.label());
        self.test_barrier(logged);
        self.bind(done);
        self.later(move |emitter| {
            emitter.bind(logged);
            dynasm!(emitter.ops
                ; .arch x64
                ; mov rdi, rax
                ; mov rsi, rcx
                ; call extern emitter.stubs.slot_written
                ; jmp =>done
            );
        });
    }

    /// Jumps if the word in `rcx` is a pointer, and the object in `rax` old and not logged. Destroys `rdx`.
    fn test_barrier(&mut self, logged: DynamicLabel) {
        let done = self.label();
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rcx - 1]
            ; test dl, 7
            ; jnz =>done
            ; test BYTE [rax + offset::BARRIER], UNLOGGED as i8
            ; jnz =>logged
            ; =>done
        );
    }

    fn site(&self, index: usize) -> &'static Site {
        &self.function.sites[index]
    }
}

/// Where a register is in the frame.
fn place(register: usize) -> i32 {
    8 * register as i32
}

/// The bits of the only word with this layout, if there is only one.
fn special_of(layout: LayoutId) -> Option<i32> {
    let word = match layout {
        known::NIL => Word::NIL,
        known::TRUE => Word::TRUE,
        known::FALSE => Word::FALSE,
        _ => return None,
    };
    Some(word.bits() as i32)
}

/// The register in a field.
fn register(instruction: &Instruction, field: Field) -> usize {
    instruction.register(field).index()
}

/// The value of a field without a sign.
fn field(instruction: &Instruction, field: Field) -> usize {
    field.extract(instruction.words()) as usize
}

/// The target that is the operand in a field.
fn target(instruction: &Instruction, field: Field) -> usize {
    (instruction.pc as i64 + i64::from(field.extract_signed(instruction.words()))) as usize
}

/// Whether words with this layout are no pointers.
fn is_immediate(layout: LayoutId) -> bool {
    matches!(
        layout,
        known::SMALL_INTEGER | known::IMMEDIATE_DOUBLE | known::NIL | known::TRUE | known::FALSE
    ) || layout == LayoutId::NONE
}
