//! Slots, elements, the write barrier, and the frame. `function` calls this module for all operations that read or
//! write memory.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature};
use cranelift_codegen::isa::CallConv;

use crate::facts::{Helper, Symbol};
use crate::ir::entities::{Inst, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Representation, Type};
use crate::ir::values::{Place, Site, SlotKind, Source};
use crate::lower::function::{Lowering, machine_type, trusted};
use crate::words;

impl Lowering<'_, '_> {
    /// A read or write of an object or of the frame.
    pub fn memory(&mut self, inst: Inst) -> Option<ir::Value> {
        let data = self.unit.inst(inst);
        match data.op {
            Op::LoadSlot(index) => {
                let object = self.argument(inst, 0);
                Some(self.b.ins().load(I64, trusted(), object, slot(index)))
            }
            Op::StoreSlot(index) => {
                let (object, value) = (self.argument(inst, 0), self.argument(inst, 1));
                self.b.ins().store(trusted(), value, object, slot(index));
                None
            }
            Op::LoadElement => {
                let (address, offset) = self.element(inst);
                Some(self.b.ins().load(I64, trusted(), address, offset))
            }
            Op::StoreElement => {
                let (address, offset) = self.element(inst);
                let value = self.argument(inst, 2);
                self.b.ins().store(trusted(), value, address, offset);
                None
            }
            Op::Barrier => {
                self.barrier(inst);
                None
            }
            Op::Admit(kind) => {
                self.admit(inst, kind);
                None
            }
            Op::TryShort(primitive) => Some(self.try_short(inst, primitive)),
            Op::StoreFrame(place) => {
                self.store_frame(place, data.arguments[0]);
                None
            }
            Op::StoreSite(site) => {
                self.store_site(site);
                None
            }
            Op::LoadFrame(place) => {
                let result = data.result.expect("a load has a result");
                Some(self.load_frame(place, self.unit.representation(result)))
            }
            Op::Reload(source) => {
                self.reload(source, data.arguments[0]);
                None
            }
            op => unreachable!("{op} has no lowering"),
        }
    }

    /// A part of an object that nothing changes.
    pub fn constant_part(&mut self, inst: Inst) -> ir::Value {
        let object = self.argument(inst, 0);
        let offset = match self.unit.inst(inst).op {
            Op::LoadPart(index) => slot(index),
            Op::ClassOf => words::CLASS,
            // The first element is the function.
            Op::LoadCaptured(index) => captured(index.0),
            _ => words::LENGTH,
        };
        self.b.ins().load(I64, trusted(), object, offset)
    }

    /// The number that no other strand has, as a word.
    pub fn strand_identity(&mut self) -> ir::Value {
        let strand = self.strand();
        self.b.ins().load(I64, trusted(), strand, self.machine.strand_identity)
    }

    /// The address of an element, as a value and an offset.
    fn element(&mut self, inst: Inst) -> (ir::Value, i32) {
        let array = self.argument(inst, 0);
        let index = self.unit.inst(inst).arguments[1];
        let constant = self.unit.integer(index).filter(|index| (0..1 << 20).contains(index));
        if let Some(index) = constant.filter(|_| self.machine.hardening.is_none()) {
            return (array, words::FIRST_ELEMENT + 8 * index as i32);
        }
        let index = self.get(index);
        let index = self.confined(array, index);
        let distance = self.b.ins().ishl_imm_u(index, 3);
        (self.b.ins().iadd(array, distance), words::FIRST_ELEMENT)
    }

    /// Widens the kind of a slot, unless it admits the word.
    fn admit(&mut self, inst: Inst, kind: SlotKind) {
        let word = self.argument(inst, 0);
        let (slow, done) = (self.cold_block(), self.b.create_block());
        if !self.unit.kind(self.unit.inst(inst).arguments[0]).is(Type::OBJECT) {
            let is_nil = self.is_word(word, words::NIL);
            self.go_on_if(is_nil, false, done);
            if kind.kind != words::NIL_ALONE {
                let is_pointer = self.is_pointer(word);
                self.go_on_if(is_pointer, true, slow);
            }
        }
        if kind.kind == words::NIL_ALONE {
            self.b.ins().jump(slow, &[]);
        } else {
            let fits = self.is_object_of(word, &[kind.kind], false);
            self.b.ins().brif(fits, done, &[], slow, &[]);
        }
        self.b.switch_to_block(slow);
        self.widen(kind, word);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Has the runtime widen a kind, unless that admits anything.
    fn widen(&mut self, kind: SlotKind, word: ir::Value) {
        let address = self.symbol(Symbol::SlotKind(kind.layout, kind.slot));
        let given = self.b.ins().load(I32, trusted(), address, 0);
        let anything = i64::from(words::ANYTHING);
        let may_widen = self.b.ins().icmp_imm_u(IntCC::NotEqual, given, anything);
        let (slow, done) = (self.cold_block(), self.cold_block());
        self.b.ins().brif(may_widen, slow, &[], done, &[]);
        self.b.switch_to_block(slow);
        let helper = self.symbol(Symbol::Helper(Helper::Admit));
        let thread = self.thread();
        self.call_address(CallConv::SystemV, helper, &[thread, address, word]);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Logs an object into which a pointer was stored, if it is old and not logged yet.
    fn barrier(&mut self, inst: Inst) {
        let (object, value) = (self.argument(inst, 0), self.argument(inst, 1));
        let done = self.b.create_block();
        if !self.unit.kind(self.unit.inst(inst).arguments[1]).is(Type::OBJECT) {
            let is_pointer = self.is_pointer(value);
            self.skip_unless(is_pointer, done);
        }
        let byte = self.b.ins().load(I8, trusted(), object, words::HEADER);
        let is_unlogged = self.b.ins().band_imm_u(byte, i64::from(words::UNLOGGED));
        let slow = self.cold_block();
        self.b.ins().brif(is_unlogged, slow, &[], done, &[]);
        self.b.switch_to_block(slow);
        self.log(object);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Goes on if the condition is true, otherwise at another block.
    pub fn skip_unless(&mut self, condition: ir::Value, done: ir::Block) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, next, &[], done, &[]);
        self.b.switch_to_block(next);
    }

    /// The stub keeps all registers, so that the hot path has no call in it for the register allocator.
    fn log(&mut self, object: ir::Value) {
        let mut signature = Signature::new(CallConv::PreserveAll);
        signature.params.push(AbiParam::new(I64));
        let signature = self.b.import_signature(signature);
        let stub = self.symbol(Symbol::Helper(Helper::Log));
        self.b.ins().call_indirect(signature, stub, &[object]);
    }
}

/// The frame.
impl Lowering<'_, '_> {
    pub fn load_frame(&mut self, place: Place, repr: Representation) -> ir::Value {
        let offset = 8 * place.0 as i32;
        if repr == Representation::Bool {
            let bits = self.b.ins().load(I64, trusted(), self.frame, offset);
            return self.of_bits(bits, repr);
        }
        self.b.ins().load(machine_type(repr), trusted(), self.frame, offset)
    }

    /// Gives a value the word that the collector has left in the frame.
    pub fn reload(&mut self, source: Source, value: Value) {
        let value = self.unit.root(value);
        let mut word = self.load_frame(source.place, Representation::Word);
        if let Some(index) = source.captured {
            word = self.b.ins().load(I64, trusted(), word, captured(index));
        }
        self.define(value, word);
    }

    pub fn store_frame(&mut self, place: Place, value: Value) {
        let mut value = self.get(value);
        if self.b.func.dfg.value_type(value) == I8 {
            value = self.as_bits(value);
        }
        self.store_bits(place, value);
    }

    /// Stores a register of the machine in the frame.
    pub fn store_bits(&mut self, place: Place, bits: ir::Value) {
        self.b.ins().store(trusted(), bits, self.frame, 8 * place.0 as i32);
    }

    /// Stores the address of an ordinary site.
    pub fn store_site(&mut self, site: Site) {
        let function = self.unit.activations[site.activation.index()].function;
        let address = self.symbol(Symbol::Site(function, site.pc));
        self.b.ins().store(trusted(), address, self.frame, 8 * site.place.0 as i32);
    }
}

fn slot(index: Place) -> i32 {
    words::FIRST_SLOT + 8 * index.0 as i32
}

/// The offset of what a closure has captured.
fn captured(index: u32) -> i32 {
    // The first element is the function.
    words::FIRST_ELEMENT + 8 + 8 * index as i32
}
