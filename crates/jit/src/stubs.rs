//! The pieces of machine code that all functions share: the way in from Rust, the ways out, and the calls of helpers.
//! `compiler` makes them once; base code, optimised code and `run` enter and leave machine code through them.
//!
//! # Registers
//!
//! | register | contents |
//! |---|---|
//! | `r15` | the thread |
//! | `rbx` | the frame of the running activation; callees keep it |
//! | `rdi`, `rsi` | at a call, the callee's frame, below which the site stands, and its function |
//! | `rax` | at a return, the value |
//!
//! The only words of an activation of base code on the native stack are its return address and its caller's frame
//! (`rbx`). In code between instructions the stack pointer is a multiple of 16. Optimised code has native frames of its own
//! and keeps `rbx`; it gets frame and function in `rdi` and `rsi`, as base code does at its entry.
//!
//! # Abandoning
//!
//! The native stack holds nothing that the VM stack does not say. So the strand can be stopped anywhere by setting the
//! stack pointer back to the place where Rust has entered machine code: [`Stubs::enter`] returns with
//! [`LEFT`](Entered), and the thread's state says where the strand is. No Rust function is on the stack in between, for
//! helpers have returned before: so nothing is dropped that has a destructor.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_runtime::tiers::function::CodeKind;
use squall_runtime::tiers::lookup::Simple;
use squall_runtime::tiers::thread::{Around, Thread};

use crate::assembler::{Assembler, offset};
use crate::code::units::{ExitRecord, Level};
use crate::doubles::{self, Comparison, Operator};
use crate::memory::CodeMemory;
use crate::observers::Frame;

/// What [`Stubs::enter`] answers.
#[repr(C)]
pub struct Entered {
    /// The value that the activation has returned.
    pub value: u64,
    /// 0 if it has returned, 1 if the native stack was abandoned.
    pub was_left: u64,
}

/// The answer of a helper: what machine code does next.
#[repr(C)]
pub struct Next {
    /// One of the constants.
    pub kind: u64,
    /// The value, or the address.
    pub operand: u64,
}

impl Next {
    /// Goes on after the instruction; the operand is its value.
    pub const DONE: u64 = 0;
    /// Calls the activation in the state, at the operand's address.
    pub const CALL: u64 = 1;
    /// Goes on in the same activation at the operand's address.
    pub const JUMP: u64 = 2;
    /// Abandons the native stack.
    pub const LEAVE: u64 = 3;
    /// Goes on in optimised code of the activation, which the operand's address begins; the state has its function.
    pub const UNIT: u64 = 4;
    /// Abandons the native stack, and goes on at the operand's address: the place of the state, or that after the call in
    /// which the state stands, with the value of [`NativeStack`](squall_runtime::tiers::thread::NativeStack). The
    /// activations around are noted ([`crate::resume`]).
    pub const RESUME: u64 = 5;
}

/// The helpers that get the thread and the frame, and answer a [`Next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Helper {
    /// A primitive that an instruction names.
    Primitive,
    /// The same, if the primitive has a direct form.
    Meet,
    /// An instruction that the interpreter runs.
    Step,
    /// A poll before the instruction in `rsi` of the function in `rdx`.
    Poll,
    /// `make_closure`.
    MakeClosure,
    /// `make_context`.
    MakeContext,
    /// `make_home`.
    MakeHome,
    /// `make_array`.
    MakeArray,
    /// `instantiate`.
    Instantiate,
    /// `check_value`.
    CheckValue,
    /// An eventual send at the site in `rsi`.
    SendEventually,
    /// `read` at the site in `rsi`, from the channel in the register `rdx`.
    Read,
    /// `write` at the site in `rsi`, to the channel in the register `rdx`, of the register `r8`.
    Write,
    /// `yield` at the site in `rsi`.
    Yield,
    /// A sample at the beginning of a function or of a loop's turn: before the instruction in `rsi` of the function in
    /// `rdx`; `r8` says whether it is a loop.
    Sample,
}

/// The names of the helpers, in their order.
const HELPER_NAMES: [&str; HELPERS] = [
    "primitive",
    "meet",
    "step",
    "poll",
    "make closure",
    "make context",
    "make home",
    "make array",
    "instantiate",
    "check value",
    "send eventually",
    "read",
    "write",
    "yield",
    "sample",
];

/// The names of the helpers of optimised code, in their order.
const EXECUTOR_NAMES: [&str; EXECUTORS] = [
    "any",
    "primitive",
    "make closure",
    "make context",
    "make home",
    "make array",
    "instantiate",
    "check value",
    "send eventually",
];

/// How many helpers there are.
pub const HELPERS: usize = Helper::Sample as usize + 1;

/// The helpers of optimised code that execute an instruction: they get the thread, the frame, the instruction and its
/// function, and answer a [`Next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Execute {
    /// Any instruction, by the interpreter.
    Any,
    /// `primitive`.
    Primitive,
    /// `make_closure`.
    MakeClosure,
    /// `make_context`.
    MakeContext,
    /// `make_home`.
    MakeHome,
    /// `make_array`.
    MakeArray,
    /// `instantiate`.
    Instantiate,
    /// `check_value`.
    CheckValue,
    /// `send_eventual` and `send_eventual_only`.
    SendEventually,
}

/// How many of these helpers there are.
pub const EXECUTORS: usize = Execute::SendEventually as usize + 1;

/// The functions of Rust that the stubs call, by their addresses.
pub struct Helpers {
    /// See [`Helper`], whose order they have.
    pub helpers: [usize; HELPERS],
    /// See [`Execute`], whose order they have.
    pub executors: [usize; EXECUTORS],
    /// `send_primitive(thread, frame, site, primitive)` answers a [`Next`].
    pub send_primitive: usize,
    /// `send(thread, frame, site)` answers a [`Next`].
    pub send: usize,
    /// `leave_unit(thread, frame, exit)`.
    pub leave_unit: usize,
    /// `make_and_leave(thread, frame, exit)`.
    pub make_and_leave: usize,
    /// `log(thread, object)`, which moves nothing.
    pub log: usize,
    /// `leaf(thread, primitive, word, word)` answers a word, and moves nothing.
    pub leaf: usize,
    /// `short_form(thread, primitive, word, word, word, word)` answers a word, and moves nothing.
    pub short_form: usize,
    /// `cold_entry(thread, frame, function)` answers an entry, or 0.
    pub cold_entry: usize,
    /// `slow_entry(thread, frame, function)` answers an address, or 0, and a frame.
    pub slow_entry: usize,
    /// `leave_chunk(thread)`.
    pub leave_chunk: usize,
    /// `slot_written(thread, object, word)`, which moves nothing.
    pub slot_written: usize,
    /// `admit(thread, kind, word)`, which moves nothing.
    pub admit: usize,
    /// `take_memory(thread, bytes)` answers an address or 0, and moves nothing.
    pub take_memory: usize,
    /// `charge_copy(thread, bytes)`, which moves nothing.
    pub charge_copy: usize,
    /// `draw_fuel(thread, again)` answers whether there was enough, and moves nothing.
    pub draw_fuel: usize,
    /// `element_written(thread, array, index, word)`, which moves nothing.
    pub element_written: usize,
    /// The guarded accesses.
    pub accesses: GuardedAccesses,
    /// The table of the layouts of immediate words, by their lowest five bits.
    pub immediate_layouts: usize,
}

/// Functions that access objects of a guarded vat; they move nothing.
#[derive(Clone, Copy)]
pub struct GuardedAccesses {
    /// `load_slot(thread, object, index, pc)` answers a word, or none.
    pub load_slot: usize,
    /// `store_slot(thread, object, index, word, pc)` answers whether that is done.
    pub store_slot: usize,
    /// `load_element(thread, array, index, pc)` answers a word, or none.
    pub load_element: usize,
    /// `store_element(thread, array, index, word, pc)` answers whether that is done.
    pub store_element: usize,
}

/// The addresses of the shared code.
pub struct Stubs {
    enter: usize,
    /// What it has on the native stack.
    frame: Frame,
    helpers: [usize; HELPERS],
    /// Sends of base code by its accesses: the window is at `rdi`, the site in `rsi`.
    sends: [usize; CodeKind::ALL.len()],
    /// What optimised code calls to execute instructions, in the order of [`Execute`].
    pub executors: [usize; EXECUTORS],
    /// The same of optimised code.
    unit_sends: [usize; CodeKind::ALL.len()],
    /// Where optimised code jumps to leave: the frame is in `rdi`, the exit's record in `rsi`.
    pub exit: usize,
    /// The same for exits with raw doubles in the frame.
    pub making_exit: usize,
    /// Logs the object in `rdi`, and keeps all registers.
    pub log: usize,
    /// Calls a primitive's leaf; a function of Rust.
    pub leaf: usize,
    /// Calls a primitive's short form; a function of Rust.
    pub short_form: usize,
    /// The guarded accesses; functions of Rust.
    pub accesses: GuardedAccesses,
    /// The same for base code, which calls them without the thread.
    pub base_accesses: GuardedAccesses,
    /// The entry of functions without machine code.
    pub cold_entry: usize,
    /// Where a function's entry goes if its frame does not fit, or the thread is to poll.
    pub slow_entry: usize,
    /// Operators on doubles, in the order of [`Operator`].
    pub operators: [usize; 4],
    /// Comparisons of doubles, in the order of [`Comparison`].
    pub comparisons: [usize; 6],
    /// The rest of a barrier: the object is in `rdi`, the stored word in `rsi`.
    pub slot_written: usize,
    /// Widens a slot's kind: `admit(thread, kind, word)`.
    pub admit: usize,
    /// Takes memory for an object, or answers 0: `take_memory(thread, bytes)`.
    pub take_memory: usize,
    /// Counts the elements of a new array: `charge_copy(thread, bytes)`.
    pub charge_copy: usize,
    /// Draws fuel for polls that were counted: `draw_fuel(thread, again)` answers whether there was enough.
    pub draw_fuel: usize,
    /// The same as `admit` for base code: the kind's address is in `rdi`, the word in `rsi`.
    pub admit_in_base: usize,
    /// The rest of a barrier: the array is in `rdi`, the index in `rsi`, the stored word in `rdx`.
    pub element_written: usize,
}

impl Stubs {
    /// Assembles the stubs.
    pub fn make(memory: &CodeMemory, helpers: &Helpers) -> Option<Stubs> {
        let mut stubs = None;
        let mut end = 0;
        memory.publish(|address| {
            let mut assembler = Assembler::new(address);
            stubs = Some(assemble(&mut assembler, address, helpers));
            end = address + assembler.offset().0;
            assembler.finalize().ok()
        })?;
        stubs.inspect(|stubs| stubs.announce(memory, end))
    }

    /// Tells the observers about the stubs, of which the last one ends there.
    fn announce(&self, memory: &CodeMemory, end: usize) {
        let names = self.names();
        let ends = names.iter().skip(1).map(|next| next.0).chain([end]);
        for ((address, name), end) in names.iter().zip(ends) {
            let about = || (format!("stub: {name}"), Vec::new());
            memory.announce(*address, end - address, self.frame(*address), about);
        }
    }

    /// What the stub at an address has on the native stack.
    fn frame(&self, address: usize) -> Frame {
        let GuardedAccesses { load_slot, store_slot, load_element, store_element } =
            self.base_accesses;
        let leaves = [load_slot, store_slot, load_element, store_element].into_iter().chain([
            self.slot_written,
            self.admit_in_base,
            self.element_written,
        ]);
        let mut callers = leaves.chain(self.helpers).chain(self.executors);
        match address {
            enter if enter == self.enter => self.frame,
            _ if callers.any(|caller| caller == address) => Frame::Call { from: CHANGED },
            _ => Frame::Unknown,
        }
    }

    /// The addresses and names of the stubs, in the order of their addresses.
    pub fn names(&self) -> Vec<(usize, String)> {
        let mut names: Vec<(usize, String)> = vec![
            (self.enter, "enter".into()),
            (self.exit, "leave".into()),
            (self.making_exit, "leave and make objects".into()),
            (self.log, "log".into()),
            (self.cold_entry, "cold entry".into()),
            (self.slow_entry, "slow entry".into()),
            (self.slot_written, "slot written".into()),
            (self.admit_in_base, "admit".into()),
            (self.element_written, "element written".into()),
        ];
        let mut add = |kind: &str, list: &[&str], addresses: &[usize]| {
            let named = list.iter().zip(addresses);
            names.extend(named.map(|(name, &each)| (each, format!("{kind}{name}"))));
        };
        add("", &HELPER_NAMES, &self.helpers);
        add("send", &["", ", guarded"], &self.sends);
        add("send of a unit", &["", ", guarded"], &self.unit_sends);
        let GuardedAccesses { load_slot, store_slot, load_element, store_element } =
            self.base_accesses;
        let accesses = ["load slot", "store slot", "load element", "store element"];
        add("guarded ", &accesses, &[load_slot, store_slot, load_element, store_element]);
        add("execute ", &EXECUTOR_NAMES, &self.executors);
        add("doubles ", &["+", "-", "*", "//"], &self.operators);
        add("doubles ", &["<", "<=", ">", ">=", "=", "<>"], &self.comparisons);
        names.sort_unstable();
        names
    }

    /// The shared code that calls a helper.
    pub fn of(&self, helper: Helper) -> usize {
        self.helpers[helper as usize]
    }

    /// The shared code for sends of base code with these accesses.
    pub fn send(&self, kind: CodeKind) -> usize {
        self.sends[kind as usize]
    }

    /// The shared code for sends of optimised code with these accesses.
    pub fn unit_send(&self, kind: CodeKind) -> usize {
        self.unit_sends[kind as usize]
    }

    /// Runs machine code from the thread's state on, until the outermost activation with a native frame returns or
    /// the native stack is abandoned.
    ///
    /// # Safety
    ///
    /// The address is the place of the state, and the activations around are noted ([`crate::resume`]).
    pub unsafe fn enter(&self, thread: &mut Thread, address: usize) -> Entered {
        type Enter = unsafe extern "C" fn(*mut Thread, usize) -> Entered;
        // SAFETY: `assemble` has put a function of this type there; the caller promises the rest.
        unsafe { std::mem::transmute::<usize, Enter>(self.enter)(thread, address) }
    }
}

/// Assembles one stub, aligned; answers its address.
fn stub(ops: &mut Assembler, address: usize, assemble: impl FnOnce(&mut Assembler)) -> usize {
    const ALIGNMENT: usize = 16;
    const NOP: u8 = 0x90;
    while !ops.offset().0.is_multiple_of(ALIGNMENT) {
        ops.push(NOP);
    }
    let start = address + ops.offset().0;
    assemble(ops);
    start
}

fn assemble(ops: &mut Assembler, address: usize, helpers: &Helpers) -> Stubs {
    let mut places = (0, 0);
    let enter = stub(ops, address, |ops| places = enter_and_abandon(ops));
    let frame = Frame::Entry {
        from: (address + places.0 - enter) as u32,
        calls: (address + places.1 - enter) as u32,
        bytes: ENTRY_BYTES,
    };
    let cold_entry = stub(ops, address, |ops| cold_entry_stub(ops, helpers));
    let slow_entry = stub(ops, address, |ops| slow_entry_stub(ops, helpers));
    let operators = [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide]
        .map(|operator| stub(ops, address, |ops| doubles::operator(ops, operator)));
    let comparisons = Comparison::ALL
        .map(|comparison| stub(ops, address, |ops| doubles::comparison(ops, comparison)));
    let addresses =
        helpers.helpers.map(|helper| stub(ops, address, |ops| call_helper(ops, helper)));
    let sends = CodeKind::ALL
        .map(|kind| stub(ops, address, |ops| send_stub(ops, helpers, kind, call_helper)));
    let unit_sends = CodeKind::ALL
        .map(|kind| stub(ops, address, |ops| send_stub(ops, helpers, kind, call_unit_send)));
    let executors =
        helpers.executors.map(|helper| stub(ops, address, |ops| call_executor(ops, helper)));
    let exit = stub(ops, address, |ops| exit_stub(ops, helpers.leave_unit));
    let making_exit = stub(ops, address, |ops| making_exit_stub(ops, helpers.make_and_leave));
    let log = stub(ops, address, |ops| log_stub(ops, helpers.log));
    let slot_written = stub(ops, address, |ops| leaf_stub(ops, helpers.slot_written));
    let admit_in_base = stub(ops, address, |ops| leaf_stub(ops, helpers.admit));
    let element_written = stub(ops, address, |ops| leaf_stub(ops, helpers.element_written));
    let base_accesses = base_accesses(ops, address, &helpers.accesses);
    finish_stub(ops);
    Stubs {
        enter,
        frame,
        helpers: addresses,
        sends,
        executors,
        unit_sends,
        exit,
        making_exit,
        log,
        leaf: helpers.leaf,
        short_form: helpers.short_form,
        accesses: helpers.accesses,
        base_accesses,
        cold_entry,
        slow_entry,
        operators,
        comparisons,
        slot_written,
        admit: helpers.admit,
        take_memory: helpers.take_memory,
        charge_copy: helpers.charge_copy,
        draw_fuel: helpers.draw_fuel,
        admit_in_base,
        element_written,
    }
}

/// Leaf stubs before the accesses that a transaction guards, for templates.
fn base_accesses(
    ops: &mut Assembler,
    address: usize,
    accesses: &GuardedAccesses,
) -> GuardedAccesses {
    GuardedAccesses {
        load_slot: stub(ops, address, |ops| leaf_stub(ops, accesses.load_slot)),
        store_slot: stub(ops, address, |ops| leaf_stub(ops, accesses.store_slot)),
        load_element: stub(ops, address, |ops| leaf_stub(ops, accesses.load_element)),
        store_element: stub(ops, address, |ops| leaf_stub(ops, accesses.store_element)),
    }
}

/// The bytes that [`Stubs::enter`] has on the native stack, with its return address: six registers, and a word that
/// makes the stack pointer even.
const ENTRY_BYTES: i32 = 8 * 8;

/// `enter(thread, address)`, and the places to which the stack is abandoned. Answers where the registers are saved, and
/// where inner activations are called.
fn enter_and_abandon(ops: &mut Assembler) -> (usize, usize) {
    dynasm!(ops
        ; .arch x64
        ; push rbp
        ; push rbx
        ; push r12
        ; push r13
        ; push r14
        ; push r15
        ; sub rsp, 8
    );
    let framed = ops.offset().0;
    dynasm!(ops
        ; .arch x64
        ; mov r15, rdi
        ; mov [r15 + offset::NATIVE_BASE], rsp
        ; mov rdx, rsi
        ; ->go_on:
        ; call ->make_frames
        ; xor edx, edx
        ; ->out:
        ; add rsp, 8
        ; pop r15
        ; pop r14
        ; pop r13
        ; pop r12
        ; pop rbx
        ; pop rbp
        ; ret
    );
    let calls = make_frames(ops);
    dynasm!(ops
        ; .arch x64
        ; ->go_on_elsewhere:
        ; mov rsp, [r15 + offset::NATIVE_BASE]
        ; jmp ->go_on
        // The body of an activation begins as if its entry had been called.
        ; ->resume:
        ; push rbx
        ; mov rbx, rdi
        ; jmp rdx
        ; ->abandon:
        ; mov rsp, [r15 + offset::NATIVE_BASE]
        ; mov edx, 1
        ; jmp ->out
    );
    (framed, calls)
}

/// Makes the native frames of the activations around, and goes on in the innermost one, at the address in `rdx`. Answers
/// where it calls an inner one.
fn make_frames(ops: &mut Assembler) -> usize {
    dynasm!(ops
        ; .arch x64
        // The outermost comes first. Each is called from here, and goes on from here when the inner one returns: the
        // processor foresees returns to calls only.
        ; ->make_frames:
        ; push rbx
        ; mov rbx, [r15 + offset::OUTERMOST]
        ; mov ecx, [r15 + offset::DEPTH]
        ; test ecx, ecx
        ; jz >innermost
        ; around:
        ; mov eax, ecx
        ; shl eax, AROUND_SHIFT
        ; sub rsp, 8
        ; push QWORD [r15 + rax + (offset::AROUND + offset::RETURN_ADDRESS - AROUND_SIZE)]
    );
    let calls = ops.offset().0;
    dynasm!(ops
        ; .arch x64
        ; call >inner
        ; pop rcx
        ; add rsp, 8
        ; jmp rcx
        ; inner:
        ; push rbx
        ; mov rbx, [r15 + rax + (offset::AROUND + offset::INNER - AROUND_SIZE)]
        ; sub ecx, 1
        ; jnz <around
        ; innermost:
        ; mov rax, [r15 + offset::VALUE]
        ; jmp rdx
    );
    calls
}

/// The size of an activation around, in bytes.
const AROUND_SIZE: i32 = 1 << AROUND_SHIFT;
const AROUND_SHIFT: i8 = 4;
const _: () = assert!(AROUND_SIZE as usize == size_of::<Around>());

/// A call of a function without machine code: it may get some now; otherwise the interpreter runs it.
fn cold_entry_stub(ops: &mut Assembler, helpers: &Helpers) {
    dynasm!(ops
        ; .arch x64
        ; push rdi
        ; push rsi
        ; sub rsp, 8
        ; mov rdx, rsi
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helpers.cold_entry as i64
        ; call rax
        ; add rsp, 8
        ; pop rsi
        ; pop rdi
        ; test rax, rax
        ; jz ->abandon
        ; jmp rax
    );
}

/// Polls, or grows the stack. A frame in a new chunk runs from here, so that the chunk is dropped when it returns.
fn slow_entry_stub(ops: &mut Assembler, helpers: &Helpers) {
    dynasm!(ops
        ; .arch x64
        ; push rbx
        ; mov rbx, rdi
        ; mov rdx, rsi
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helpers.slow_entry as i64
        ; call rax
        ; test rax, rax
        ; jz ->abandon
        ; cmp rdx, rbx
        ; jne >elsewhere
        ; jmp rax
        ; elsewhere:
        ; mov rdi, rdx
        ; mov rdx, rax
        ; call ->resume
        ; mov rbx, rax
        ; mov rdi, r15
        ; mov rax, QWORD helpers.leave_chunk as i64
        ; call rax
        ; mov rax, rbx
        ; pop rbx
        ; ret
    );
}

/// A send at the site in `rsi` with the window at `rdi`: finds the entry for the receiver, and does simple actions.
///
/// `call` assembles the calls of the helpers for other sends, and for primitives.
fn send_stub(
    ops: &mut Assembler,
    helpers: &Helpers,
    kind: CodeKind,
    call: impl Fn(&mut Assembler, usize),
) {
    let layouts = helpers.immediate_layouts;
    let (found, slow) = (ops.new_dynamic_label(), ops.new_dynamic_label());
    let primitive = ops.new_dynamic_label();
    dynasm!(ops
        ; .arch x64
        ; mov rax, [rdi]
        ; lea ecx, [rax - 1]
        ; test cl, 7
        ; jnz >immediate
        ; mov ecx, [rax + offset::OBJECT_LAYOUT]
        ; known:
        ; mov r8, [rsi + offset::CACHE]
        ; cmp ecx, [r8 + offset::LAYOUT]
        ; jne >several
        ; =>found
    );
    simple_actions(ops, kind, slow, primitive);
    dynasm!(ops
        ; .arch x64
        ; immediate:
        ; mov ecx, eax
        ; and ecx, 31
        ; mov r8, QWORD layouts as i64
        ; mov ecx, [r8 + rcx * 4]
        ; jmp <known
        // The site has a list if it has seen several kinds of receivers: compare with eight layouts at a time.
        ; several:
        ; mov r8, [rsi + offset::SITE_ENTRIES]
        ; test r8, r8
        ; jz =>slow
        ; movd xmm0, ecx
        ; pshufd xmm0, xmm0, 0
        ; movdqu xmm1, [r8]
        ; movdqu xmm2, [r8 + 16]
        ; pcmpeqd xmm1, xmm0
        ; pcmpeqd xmm2, xmm0
        ; packssdw xmm1, xmm2
        ; packsswb xmm1, xmm1
        ; pmovmskb r9d, xmm1
        ; and r9d, 255
        ; jz =>slow
        ; bsf r9d, r9d
        ; mov r8, [r8 + r9 * 8 + offset::LIST_ENTRIES]
        ; jmp =>found
        ; =>slow
    );
    call(ops, helpers.send);
    dynasm!(ops ; .arch x64 ; =>primitive);
    call(ops, helpers.send_primitive);
}

/// Does the action of the entry in `r8` for the receiver in `rax`.
fn simple_actions(
    ops: &mut Assembler,
    kind: CodeKind,
    slow: DynamicLabel,
    primitive: DynamicLabel,
) {
    let (entry, slot) = (offset::entry(kind), ops.new_dynamic_label());
    // A guarded access to a slot is the helper's.
    let load_slot = if kind == CodeKind::Guarded { slow } else { slot };
    dynasm!(ops
        ; .arch x64
        ; mov ecx, [r8 + offset::SIMPLE]
        ; cmp ecx, Simple::Method as i32
        ; jne >other
        ; mov r8, [r8 + offset::OPERAND]
        ; call_r8:
        ; mov [rdi - 8], rsi
        ; mov rsi, r8
        ; jmp QWORD [rsi + entry]
        ; other:
        ; mov rdx, [r8 + offset::OPERAND]
        ; cmp ecx, Simple::LoadSlot as i32
        ; je =>load_slot
        ; cmp ecx, Simple::AnswerReceiver as i32
        ; je >done
        ; cmp ecx, Simple::LoadClass as i32
        ; je >class
        ; cmp ecx, Simple::Evaluate as i32
        ; je >evaluate
        ; cmp ecx, Simple::Primitive as i32
        ; je =>primitive
        ; cmp ecx, Simple::Answer as i32
        ; jne =>slow
        ; mov rax, rdx
        ; done:
        ; ret
        ; =>slot
        ; mov rax, [rax + rdx * 8 + offset::slot(0)]
        ; ret
        ; class:
        ; mov rax, [rax + rdx * 8 + offset::slot(0)]
        ; cmp rax, squall_heap::Word::NIL.bits() as i32
        ; je =>slow
        ; ret
        ; evaluate:
        ; mov r8, [rax + offset::element(0)]
        ; movzx ecx, BYTE [rsi + offset::SITE_ARGUMENTS]
        ; cmp ecx, [r8 + offset::ARGUMENTS]
        ; jne =>slow
        ; mov [rsi + offset::CLOSURE], r8
        ; jmp <call_r8
    );
}

/// The bytes of `sub rsp, 8`, with which stubs begin that call Rust.
const CHANGED: u32 = 4;

/// Calls a helper with the thread, the frame, and what is in `rsi`, `rdx`, `r8` and `r9`; then does what it answers.
fn call_helper(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub rsp, 8
        ; mov rcx, rdx
        ; mov rdx, rsi
        ; mov rsi, rbx
        ; mov rdi, r15
        ; mov rax, QWORD helper as i64
        ; call rax
        ; add rsp, 8
        ; test eax, eax
        ; jnz ->finish
        ; mov rax, rdx
        ; ret
    );
}

/// What helpers answer, unless it is [`Next::DONE`].
fn finish_stub(ops: &mut Assembler) {
    dynasm!(ops
        ; .arch x64
        ; ->finish:
        ; cmp eax, Next::RESUME as i32
        ; je ->go_on_elsewhere
        ; cmp eax, Next::CALL as i32
        ; jne >elsewhere
        ; mov rdi, [r15 + offset::FRAME]
        ; jmp ->resume
        ; elsewhere:
        ; cmp eax, Next::JUMP as i32
        ; jne >leaves
        ; add rsp, 8
        ; jmp rdx
        ; leaves:
        ; cmp eax, Next::UNIT as i32
        ; jne ->abandon
        // The unit takes the activation's place.
        ; add rsp, 8
        ; mov rdi, rbx
        ; pop rbx
        ; mov rsi, [r15 + offset::FUNCTION]
        ; jmp rdx
        // Optimised code goes on only where it has called.
        ; ->unit_finish:
        ; cmp eax, Next::RESUME as i32
        ; je ->go_on_elsewhere
        ; cmp eax, Next::CALL as i32
        ; jne ->abandon
        ; mov rdi, [r15 + offset::FRAME]
        ; jmp ->resume
    );
}

/// Calls the slow path of a send of optimised code. The site says where the frame is, given the window in `rdi`.
fn call_unit_send(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; movzx ecx, WORD [rsi + offset::WINDOW]
        ; shl ecx, 3
        ; sub rdi, rcx
    );
    call_executor(ops, helper);
}

/// Calls a helper for optimised code with the thread and what is in `rdi`, `rsi` and `rdx`; then does what it answers.
fn call_executor(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub rsp, 8
        ; mov rcx, rdx
        ; mov rdx, rsi
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helper as i64
        ; call rax
        ; add rsp, 8
        ; test eax, eax
        ; jnz ->unit_finish
        ; mov rax, rdx
        ; ret
    );
}

/// Leaves optimised code: makes the native frames of the unit's activations as if base code had called so far, and goes
/// on there. An exit that is taken often, or has no base code, is left to Rust, and the native stack is abandoned.
fn exit_stub(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub DWORD [rsi + ExitRecord::PATIENCE], 1
        ; jz >slow
        ; mov rdx, [rsi + ExitRecord::ADDRESS]
        ; test rdx, rdx
        ; jz >slow
        ; mov ecx, [rsi + ExitRecord::COUNTDOWN]
        ; test ecx, ecx
        ; jz >counts_on
        ; mov [r15 + offset::COUNTDOWN], ecx
        ; counts_on:
        ; mov r8, [rsi + ExitRecord::LEVELS]
        ; mov ecx, [rsi + ExitRecord::DEPTH]
        ; push rbx
        ; mov rbx, rdi
        ; test ecx, ecx
        ; jz >innermost
        ; level:
        ; push QWORD [r8 + Level::RETURN]
        ; push rbx
        ; add rbx, [r8 + Level::DISTANCE]
        ; add r8, size_of::<Level>() as i32
        ; sub ecx, 1
        ; jnz <level
        ; innermost:
        ; jmp rdx
        ; slow:
    );
    leave(ops, helper);
}

/// Leaves optimised code by Rust, which makes objects first.
fn making_exit_stub(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub DWORD [rsi + ExitRecord::PATIENCE], 1
    );
    leave(ops, helper);
}

/// Calls a helper with the thread, the frame and the exit's record, and abandons the native stack.
fn leave(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub rsp, 8
        ; mov rdx, rsi
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helper as i64
        ; call rax
        ; jmp ->abandon
    );
}

/// Calls a leaf with the thread and what is in `rdi`, and keeps all registers.
#[expect(
    clippy::useless_conversion,
    reason = "the assembler's macro converts numbers of registers"
)]
fn log_stub(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; push rbp
        ; mov rbp, rsp
        ; push rax
        ; push rcx
        ; push rdx
        ; push rsi
        ; push rdi
        ; push r8
        ; push r9
        ; push r10
        ; push r11
        ; sub rsp, 256 + 8
        ; and rsp, -16
    );
    for register in 0..16u8 {
        let place = 16 * i32::from(register);
        dynasm!(ops ; .arch x64 ; movups [rsp + place], Rx(register));
    }
    dynasm!(ops
        ; .arch x64
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helper as i64
        ; call rax
    );
    for register in 0..16u8 {
        let place = 16 * i32::from(register);
        dynasm!(ops ; .arch x64 ; movups Rx(register), [rsp + place]);
    }
    dynasm!(ops
        ; .arch x64
        ; lea rsp, [rbp - 72]
        ; pop r11
        ; pop r10
        ; pop r9
        ; pop r8
        ; pop rdi
        ; pop rsi
        ; pop rdx
        ; pop rcx
        ; pop rax
        ; pop rbp
        ; ret
    );
}

/// Calls a helper that returns and moves nothing, with the thread and what is in `rdi`, `rsi` and `rdx`.
fn leaf_stub(ops: &mut Assembler, helper: usize) {
    dynasm!(ops
        ; .arch x64
        ; sub rsp, 8
        ; mov r8, rcx
        ; mov rcx, rdx
        ; mov rdx, rsi
        ; mov rsi, rdi
        ; mov rdi, r15
        ; mov rax, QWORD helper as i64
        ; call rax
        ; add rsp, 8
        ; ret
    );
}
