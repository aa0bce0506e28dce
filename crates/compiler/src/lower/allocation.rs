//! New objects: machine code takes the memory from the thread's window, as the heap does. `function` calls this module
//! for each operation that allocates. If the window is too small, the runtime executes the instruction, unless an object of the
//! state is absent: then a helper takes memory that needs no collection, and the unit is left if there is none.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder};
use cranelift_codegen::isa::CallConv;

use crate::code::Reason;
use crate::facts::{Helper, Symbol};
use crate::ir::entities::{Inst, Value};
use crate::ir::operations::Op;
use crate::ir::values::Cell;
use crate::lower::function::{Lowering, trusted};
use crate::words::{self, layouts};

/// The words of an object that is made.
struct Form {
    layout: u32,
    class: ir::Value,
    /// The words after the class.
    words: Vec<ir::Value>,
}

/// The distance from the address of a window's cursor to that of its end.
const WINDOW_END: i32 = 8;

/// The words of an array before its elements: header, class, length.
const WORDS_BEFORE_ELEMENTS: u32 = 3;

/// Machine code takes arrays of up to this many elements from the window: no large objects.
const MOST_ELEMENTS: u32 = words::LARGE_OBJECT / words::WORD_BYTES - WORDS_BEFORE_ELEMENTS;

/// The most elements of an array of the helper's memory, which machine code fills without a poll.
const MOST_ELEMENTS_AT_ONCE: i64 = 1 << 16;

/// Arrays with fewer bytes of elements cost no fuel: `Thread::charge_copy`.
const BYTES_WITHOUT_COST: i64 = 256;

/// Where an allocation goes if the window has no room.
#[derive(Clone, Copy)]
enum Lack {
    /// The runtime executes the instruction in this block.
    Slow(ir::Block),
    /// The helper takes memory; if there is none, the unit is left by this block.
    Exit(ir::Block),
}

impl Lowering<'_, '_> {
    /// A new object.
    pub fn allocate(&mut self, inst: Inst) -> ir::Value {
        if let Some(&path) = self.residence.of_guard.get(&inst) {
            let origin = self.unit.inst(inst).origin;
            let exit = self.way_out(path, Reason::Room, origin);
            return self.allocate_or(inst, Lack::Exit(exit));
        }
        let (slow, done) = (self.cold_block(), self.b.create_block());
        let result = self.b.append_block_param(done, I64);
        let object = self.allocate_or(inst, Lack::Slow(slow));
        self.b.ins().jump(done, &[BlockArg::Value(object)]);
        self.b.switch_to_block(slow);
        let object = self.allocate_slowly(inst);
        self.b.ins().jump(done, &[BlockArg::Value(object)]);
        self.b.switch_to_block(done);
        result
    }

    /// A new object; goes to another block if there is no room.
    fn allocate_or(&mut self, inst: Inst, lack: Lack) -> ir::Value {
        match self.unit.inst(inst).op {
            Op::NewArrayOf(_) => self.array_of(inst, lack),
            _ => {
                let form = self.form(inst);
                let bytes = i64::from(words::WORD_BYTES) * (2 + form.words.len() as i64);
                let bytes = self.b.ins().iconst(I64, bytes);
                let start = self.take(bytes, lack);
                self.fill(start, &form)
            }
        }
    }

    /// Takes memory from the window; goes to another block if there is not enough.
    fn take(&mut self, bytes: ir::Value, lack: Lack) -> ir::Value {
        let thread = self.thread();
        let window = self.b.ins().load(I64, trusted(), thread, self.machine.window);
        let start = self.b.ins().load(I64, trusted(), window, 0);
        let limit = self.b.ins().load(I64, trusted(), window, WINDOW_END);
        let end = self.b.ins().iadd(start, bytes);
        let is_beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        let fast = self.b.create_block();
        let beyond = self.beyond_window(lack);
        self.b.ins().brif(is_beyond, beyond, &[], fast, &[]);
        self.b.switch_to_block(fast);
        self.b.ins().store(trusted(), end, window, 0);
        let Lack::Exit(exit) = lack else { return start };
        let taken = self.b.create_block();
        let place = self.b.append_block_param(taken, I64);
        self.b.ins().jump(taken, &[BlockArg::Value(start)]);
        self.b.switch_to_block(beyond);
        self.take_at_once(bytes, exit, taken);
        self.b.switch_to_block(taken);
        place
    }

    /// The block for what the window has no room for.
    fn beyond_window(&mut self, lack: Lack) -> ir::Block {
        match lack {
            Lack::Slow(slow) => slow,
            Lack::Exit(_) => self.cold_block(),
        }
    }

    /// Has the helper take memory, and goes to a block with its address, or to another one if there is none.
    fn take_at_once(&mut self, bytes: ir::Value, exit: ir::Block, taken: ir::Block) {
        let (thread, helper) = (self.thread(), self.symbol(Symbol::Helper(Helper::TakeMemory)));
        let start = self.call_address(CallConv::SystemV, helper, &[thread, bytes]);
        self.b.ins().brif(start, taken, &[BlockArg::Value(start)], exit, &[]);
    }

    /// An array whose length is known when it is made. Long ones, and lengths that are none, do not come from the window.
    fn array_of(&mut self, inst: Inst, lack: Lack) -> ir::Value {
        let (class, length) = (self.argument(inst, 0), self.argument(inst, 1));
        let elements = self.b.ins().ishl_imm_u(length, 3);
        let before = i64::from(words::WORD_BYTES * WORDS_BEFORE_ELEMENTS);
        let bytes = self.b.ins().iadd_imm_s(elements, before);
        let (short, taken) = (self.b.create_block(), self.b.create_block());
        let start = self.b.append_block_param(taken, I64);
        let long = self.beyond_window(lack);
        let most = i64::from(MOST_ELEMENTS);
        let is_long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, most);
        self.b.ins().brif(is_long, long, &[], short, &[]);
        if let Lack::Exit(exit) = lack {
            self.b.switch_to_block(long);
            let most = MOST_ELEMENTS_AT_ONCE;
            let is_length = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, most);
            self.skip_unless(is_length, exit);
            self.take_at_once(bytes, exit, taken);
        }
        self.b.switch_to_block(short);
        let place = self.take(bytes, lack);
        self.b.ins().jump(taken, &[BlockArg::Value(place)]);
        self.b.switch_to_block(taken);
        let object = self.fill(start, &Form { layout: layouts::ARRAY, class, words: vec![length] });
        let first = self.b.ins().iadd_imm_s(start, before);
        let end = self.b.ins().iadd(start, bytes);
        self.fill_with_nil(first, end);
        self.charge_elements(elements);
        object
    }

    /// Counts the bytes of an array's elements as fuel, as the primitive does; those of a short array cost none.
    fn charge_elements(&mut self, bytes: ir::Value) {
        if self.fuel.is_none() {
            return;
        }
        let (long, done) = (self.cold_block(), self.b.create_block());
        let is_short = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, bytes, BYTES_WITHOUT_COST);
        self.b.ins().brif(is_short, done, &[], long, &[]);
        self.b.switch_to_block(long);
        let (thread, helper) = (self.thread(), self.symbol(Symbol::Helper(Helper::ChargeCopy)));
        self.call_address(CallConv::SystemV, helper, &[thread, bytes]);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Writes nil from an address up to another one.
    fn fill_with_nil(&mut self, first: ir::Value, end: ir::Value) {
        let (turn, store) = (self.b.create_block(), self.b.create_block());
        let filled = self.b.create_block();
        let place = self.b.append_block_param(turn, I64);
        self.b.ins().jump(turn, &[BlockArg::Value(first)]);
        self.b.switch_to_block(turn);
        let is_last = self.b.ins().icmp(IntCC::Equal, place, end);
        self.b.ins().brif(is_last, filled, &[], store, &[]);
        self.b.switch_to_block(store);
        let nil = self.b.ins().iconst(I64, words::NIL as i64);
        self.b.ins().store(trusted(), nil, place, 0);
        let next = self.b.ins().iadd_imm_s(place, i64::from(words::WORD_BYTES));
        self.b.ins().jump(turn, &[BlockArg::Value(next)]);
        self.b.switch_to_block(filled);
    }

    /// What an instruction makes.
    fn form(&mut self, inst: Inst) -> Form {
        let data = self.unit.inst(inst);
        let arguments: &[Value] = &data.arguments;
        match data.op {
            Op::NewClosure(function) => {
                let length = self.b.ins().iconst(I64, arguments.len() as i64 + 1);
                let function = self.symbol(Symbol::Function(function));
                let mut words = vec![length, function];
                words.extend(arguments.iter().map(|&captured| self.get(captured)));
                let class = self.constant(Op::Cell(Cell::BLOCK_CLASS));
                Form { layout: layouts::BLOCK, class, words }
            }
            Op::NewContext(size) => self.nils(layouts::CONTEXT, Cell::OBJECT_CLASS, size.0),
            Op::NewArray(size) => self.nils(layouts::ARRAY, Cell::ARRAY_CLASS, size.0),
            Op::NewObject(layout) => {
                let nil = self.b.ins().iconst(I64, words::NIL as i64);
                let class = self.get(arguments[0]);
                Form { layout, class, words: vec![nil; words::slot_count(layout) as usize] }
            }
            op => unreachable!("{op} makes no object"),
        }
    }

    /// An array of nil.
    fn nils(&mut self, layout: u32, class: Cell, size: u32) -> Form {
        let length = self.b.ins().iconst(I64, i64::from(size));
        let nil = self.b.ins().iconst(I64, words::NIL as i64);
        let mut words = vec![length];
        words.resize(1 + size as usize, nil);
        Form { layout, class: self.constant(Op::Cell(class)), words }
    }

    /// Writes an object; answers its word.
    fn fill(&mut self, start: ir::Value, form: &Form) -> ir::Value {
        let header = self.b.ins().iconst(I64, i64::from(form.layout) << words::LAYOUT_SHIFT);
        let all = [header, form.class].into_iter().chain(form.words.iter().copied());
        for (index, word) in all.enumerate() {
            let offset = (index as u32 * words::WORD_BYTES) as i32;
            self.b.ins().store(trusted(), word, start, offset);
        }
        self.b.ins().iadd_imm_s(start, words::TAG_POINTER as i64)
    }

    /// Has the runtime make the object, with the frame as the collector wants it.
    fn allocate_slowly(&mut self, inst: Inst) -> ir::Value {
        let state = self.unit.state(self.unit.inst(inst).state.expect("an allocation has a state"));
        let (activation, pc) = (state.activation, state.pc);
        let slow = &self.residence.of_allocation[&inst];
        self.store(&slow.stores);
        let object = self.execute(activation, pc);
        for &(source, value) in &slow.reloads {
            self.reload(source, value);
        }
        object
    }
}
