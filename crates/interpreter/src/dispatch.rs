//! The dispatch loop: one line per instruction, which calls a handler in another module. The runtime starts it through
//! `Tier`.

use squall_bytecode::codes::{general, internal, observed_forms as code, typed_forms as forms};
use squall_heap::Word;
use squall_runtime::tiers::debugging;
use squall_runtime::tiers::function::Site;
use squall_runtime::tiers::operators;
use squall_runtime::tiers::stack::CHUNK_RESULT;
use squall_runtime::tiers::thread::{State, Stop, Thread, Window};
use squall_runtime::tiers::tier::{self, Tier};

use crate::machine::{Machine, mode};
use crate::typed;

/// The interpreter.
pub struct Interpreter;

impl Tier for Interpreter {
    fn run(&self, thread: &mut Thread) {
        // C may have been called by another loop, and have called back into this one.
        let outer = thread.runs_guarded;
        loop {
            thread.runs_guarded = thread.is_guarded;
            match thread.is_guarded {
                _ if thread.watch.steps => debugging::step_through(thread, self),
                true => Machine::<{ mode::GUARDED }>::run(thread),
                false => Machine::<{ mode::PLAIN }>::run(thread),
            }
            if thread.stop != Stop::Switched {
                break;
            }
            thread.stop = Stop::Returned;
            thread.state = thread.resumption;
        }
        thread.runs_guarded = outer;
    }
}

impl tier::Interpreter for Interpreter {
    fn run_cold(&self, thread: &mut Thread) {
        match thread.runs_guarded {
            true => Machine::<{ mode::COLD | mode::GUARDED }>::run(thread),
            false => Machine::<{ mode::COLD }>::run(thread),
        }
    }

    fn step(&self, thread: &mut Thread) {
        match thread.runs_guarded {
            true => Machine::<{ mode::STEP | mode::GUARDED }>::run(thread),
            false => Machine::<{ mode::STEP }>::run(thread),
        }
    }
}

impl<const MODE: u8> Machine<'_, MODE> {
    /// Executes instructions from the thread's state on, until the strand halts, or one of them.
    #[inline(never)]
    fn run(thread: &mut Thread) {
        // The loop has a machine of its own, whose fields the compiler keeps in registers: see `machine.rs`.
        let State { pc, frame, function } = thread.state;
        let mut machine = Machine::<MODE> { pc, frame, function, thread };
        let m = &mut machine;
        loop {
            let word = if Self::STEP { m.word_behind_breakpoint() } else { m.word(0) };
            match word as u8 {
                general::Move => m.move_register(word),
                general::LoadInteger => m.load_integer(word),
                general::LoadSpecial => m.load_special(word),
                general::LoadConstant => m.load_constant(word),
                code::LOAD_OBJECT => m.load_object(word),
                general::LoadRaw => m.load_raw(word),
                general::LoadCaptured => m.load_captured(word),
                general::MakeContext => m.make_context(word),
                general::LoadContext => m.load_context(word),
                general::StoreContext => m.store_context(word),
                general::MakeClosure => m.make_closure(word),
                general::MakeHome => m.make_home(word),
                general::LoadCaptures => m.load_captures(word),
                general::Enclosing => m.enclosing(word),

                general::Jump => m.jump_always(word),
                general::Loop => m.jump_back(word),
                general::BranchTrue => m.branch_boolean::<true>(word),
                general::BranchFalse => m.branch_boolean::<false>(word),
                general::BranchNil => m.branch_nil::<true>(word),
                general::BranchNotNil => m.branch_nil::<false>(word),
                general::ForEnter => m.for_enter(word),
                general::ForLoop => m.for_loop(word),

                general::Send0 => m.send0(word),
                code::SEND0_SLOT => m.send0_slot(word),
                code::SEND0_METHOD => m.send0_method(word),
                code::SEND0_EVALUATE => m.send0_evaluate(word),
                general::Send1 => m.send1(word),
                code::SEND1_SLOT => m.send1_slot(word),
                code::SEND1_METHOD => m.send1_method(word),
                code::SEND1_EVALUATE => m.send1_evaluate(word),
                general::Send2 => m.send2(word),
                code::SEND2_METHOD => m.send2_method(word),
                code::SEND2_EVALUATE => m.send2_evaluate(word),
                general::Send => m.send(word),
                code::SEND_METHOD => m.send_method(word),
                general::SendEventual => m.send_eventual(word, true),
                general::SendEventualOnly => m.send_eventual(word, false),
                general::Call => m.call(word),
                general::Primitive => m.primitive(word),
                general::Return => m.return_value(word),
                general::ReturnHome => m.return_home(word),
                general::ReturnNonlocal => m.return_nonlocal(word),
                general::ResumeUnwind => m.resume_unwind(word),
                general::LeaveHome => m.leave_home(word),

                code::ADD => m.arithmetic(word, operators::Add),
                code::SUBTRACT => m.arithmetic(word, operators::Subtract),
                code::MULTIPLY => m.arithmetic(word, operators::Multiply),
                code::QUOTIENT => m.arithmetic(word, operators::Quotient),
                code::DIVIDE => m.arithmetic(word, operators::Divide),
                code::MODULO => m.arithmetic(word, operators::Modulo),
                code::BIT_AND => m.arithmetic(word, operators::BitAnd),
                code::LOAD_INTEGER_ADD => m.load_integer_then(word, operators::Add),
                code::LOAD_INTEGER_SUBTRACT => m.load_integer_then(word, operators::Subtract),
                code::LESS => m.comparison(word, operators::Less),
                code::LESS_OR_EQUAL => m.comparison(word, operators::LessOrEqual),
                code::GREATER => m.comparison(word, operators::Greater),
                code::GREATER_OR_EQUAL => m.comparison(word, operators::GreaterOrEqual),
                code::EQUAL => m.comparison(word, operators::Equal),
                code::NOT_EQUAL => m.comparison(word, operators::NotEqual),
                code::IDENTICAL => m.identical(word),
                code::LESS_BRANCH => m.comparison_branch(word, operators::Less),
                code::LESS_OR_EQUAL_BRANCH => m.comparison_branch(word, operators::LessOrEqual),
                code::GREATER_BRANCH => m.comparison_branch(word, operators::Greater),
                code::GREATER_OR_EQUAL_BRANCH => {
                    m.comparison_branch(word, operators::GreaterOrEqual)
                }
                code::EQUAL_BRANCH => m.comparison_branch(word, operators::Equal),
                code::NOT_EQUAL_BRANCH => m.comparison_branch(word, operators::NotEqual),
                code::IDENTICAL_BRANCH => m.identical_branch(word),
                code::ARRAY_AT => m.array_at(word),
                code::ARRAY_AT_PUT => m.array_at_put(word),

                general::MakeClass => m.make_class(word),
                general::PublishClass => m.publish_class(word),
                general::Instantiate => m.instantiate(word),
                general::CheckValue => m.check_value(word),
                general::InitializeSlot => m.initialize_slot(word),
                general::MakeArray => m.make_array(word),
                general::StoreElement => m.store_element(word),

                general::Add => m.typed(word, typed::Operation::Add),
                general::Subtract => m.typed(word, typed::Operation::Subtract),
                general::Multiply => m.typed(word, typed::Operation::Multiply),
                general::Divide => m.typed(word, typed::Operation::Divide),
                general::Remainder => m.typed(word, typed::Operation::Remainder),
                general::Negate => m.typed(word, typed::Operation::Negate),
                general::And => m.typed(word, typed::Operation::And),
                general::Or => m.typed(word, typed::Operation::Or),
                general::Xor => m.typed(word, typed::Operation::Xor),
                general::Not => m.typed(word, typed::Operation::Not),
                general::ShiftLeft => m.typed(word, typed::Operation::ShiftLeft),
                general::ShiftRight => m.typed(word, typed::Operation::ShiftRight),
                general::Equal => m.typed_comparison(word, typed::Comparison::Equal),
                general::NotEqual => m.typed_comparison(word, typed::Comparison::NotEqual),
                general::Less => m.typed_comparison(word, typed::Comparison::Less),
                general::LessOrEqual => m.typed_comparison(word, typed::Comparison::LessOrEqual),
                general::Convert => m.convert(word),
                general::Box => m.box_value(word),
                general::Unbox => m.unbox_value(word),
                general::JumpIf => m.jump_if::<true>(word),
                general::JumpUnless => m.jump_if::<false>(word),
                general::LoopIf => m.loop_if::<true>(word),
                general::LoopUnless => m.loop_if::<false>(word),
                general::AddChecked => m.typed_checked(word, typed::Operation::Add),
                general::SubtractChecked => m.typed_checked(word, typed::Operation::Subtract),
                general::MultiplyChecked => m.typed_checked(word, typed::Operation::Multiply),
                general::DivideChecked => m.typed_checked(word, typed::Operation::Divide),
                general::NegateChecked => m.typed_checked(word, typed::Operation::Negate),
                general::ConvertExact => m.convert_exact(word),

                general::MakeTuple => m.make_tuple(word),
                general::TupleGet => m.tuple_get(word),
                general::TupleSet => m.tuple_set(word),
                general::Empty => m.empty(word),
                general::MakeList => m.make_list(word),
                general::FillList => m.fill_list(word),
                general::LoadBytes => m.load_bytes(word),
                general::Length => m.length(word),
                general::ListGet => m.list_get(word),
                general::ListSet => m.list_set(word),
                general::ListAppend => m.list_append(word),
                general::ListInsert => m.list_insert(word),
                general::ListRemove => m.list_remove(word),
                general::ListExchange => m.list_exchange(word),
                general::ListSlice => m.list_slice(word),
                general::ListConcatenate => m.list_concatenate(word),
                general::MapGet => m.map_get(word),
                general::MapPut => m.map_put(word),
                general::MapRemove => m.map_remove(word),
                general::MapHas => m.map_has(word),
                general::MapKey => m.map_key(word),
                general::MapValue => m.map_value(word),
                general::Take => m.take(word),
                general::LoadFunction => m.load_function(word),
                general::CallIndirect => m.call_indirect(word),

                forms::MOVE_LIST => m.move_list(word),
                forms::ADD_64 => m.whole(word, u64::wrapping_add),
                forms::ADD_64_LESS_LOOP => {
                    m.whole(word, u64::wrapping_add);
                    m.bits_loop(m.word(0), |left, right| left < right);
                }
                forms::ADD_64_LOOP => {
                    m.whole(word, u64::wrapping_add);
                    m.jump_back(m.word(0));
                }
                forms::SUBTRACT_64 => m.whole(word, u64::wrapping_sub),
                forms::MULTIPLY_64 => m.whole(word, u64::wrapping_mul),
                forms::ADD_I32 => m.half(word, i32::wrapping_add),
                forms::SUBTRACT_I32 => m.half(word, i32::wrapping_sub),
                forms::ADD_F64 => m.double(word, |left, right| left + right),
                forms::SUBTRACT_F64 => m.double(word, |left, right| left - right),
                forms::MULTIPLY_F64 => m.double(word, |left, right| left * right),
                forms::DIVIDE_F64 => m.double(word, |left, right| left / right),
                forms::LESS_SIGNED => m.bits_comparison(word, |left, right| left < right),
                forms::LESS_OR_EQUAL_SIGNED => m.bits_comparison(word, |left, right| left <= right),
                forms::EQUAL_BITS => m.bits_comparison(word, |left, right| left == right),
                forms::NOT_EQUAL_BITS => m.bits_comparison(word, |left, right| left != right),
                forms::LESS_SIGNED_JUMP => m.bits_jump(word, |left, right| left < right),
                forms::LESS_OR_EQUAL_SIGNED_JUMP => m.bits_jump(word, |left, right| left <= right),
                forms::EQUAL_BITS_JUMP => m.bits_jump(word, |left, right| left == right),
                forms::NOT_EQUAL_BITS_JUMP => m.bits_jump(word, |left, right| left != right),
                forms::LESS_SIGNED_LOOP => m.bits_loop(word, |left, right| left < right),
                forms::LESS_OR_EQUAL_SIGNED_LOOP => m.bits_loop(word, |left, right| left <= right),
                forms::EQUAL_BITS_LOOP => m.bits_loop(word, |left, right| left == right),
                forms::NOT_EQUAL_BITS_LOOP => m.bits_loop(word, |left, right| left != right),
                forms::LIST_GET_64 => m.list_get_64(word),
                forms::LIST_SET_64 => m.list_set_64(word),
                forms::LESS_F64_JUMP => m.double_jump(word, |left, right| left < right),
                forms::LESS_OR_EQUAL_F64_JUMP => m.double_jump(word, |left, right| left <= right),

                internal::BREAKPOINT => m.breakpoint(),
                internal::NOT_LINKED => m.fail_unlinked(),
                general::Spawn => m.spawn(word),
                general::SpawnIndirect => m.spawn_indirect(word),
                general::EndProcess => m.end_process(),
                general::Par => m.par(),
                general::Branch => m.jump(1),
                general::EndBranch => m.end_branch(),
                general::ParFor => m.par_for(word),
                general::MakeChannel => m.make_channel(word),
                general::ReadingEnd | general::WritingEnd => m.move_register(word),
                general::Read => m.read(word),
                internal::RECEIVED => m.received(word),
                general::Write => m.write(word),
                general::Accept => m.accept(word),
                internal::ACCEPTED => m.accepted(),
                general::EndAccept => m.end_accept(word),
                general::Poison => m.poison(word),
                general::Alt => m.alt(true),
                general::AltPriority => m.alt(false),
                internal::CHOSEN => m.chosen(word),
                general::MakeBarrier => m.make_barrier(word),
                general::Enrol => m.enrol(word, 1),
                general::Resign => m.enrol(word, -1),
                general::Sync => m.sync(word),
                general::MakeBucket => m.make_bucket(word),
                general::Fall => m.fall(word),
                general::Flush => m.flush(word),
                general::Yield => m.give_way(),
                general::Sleep => m.sleep(word),
                general::Now => m.now(word),
                general::Raise => m.raise(word),
                general::Raised => m.raised(word),
                general::FaultOf => m.fault_of(word),

                internal::LEAVE_CHUNK => m.leave_chunk(),
                internal::HALT => break,
                // SAFETY: the verifier accepts known opcodes only, and specialisation writes the
                // ones above.
                _ => unsafe { std::hint::unreachable_unchecked() },
            }
            if Self::STEP {
                m.save();
                break;
            }
        }
        m.thread.window = Window::NONE;
    }

    /// The first word of the instruction, or the one that a breakpoint has replaced.
    #[inline(always)]
    fn word_behind_breakpoint(&self) -> u32 {
        let word = self.word(0);
        // SAFETY: the pc points at a code word, and code words are atomics (first invariant).
        let place = unsafe { &*self.pc };
        if word as u8 == internal::BREAKPOINT { debugging::word_behind(place) } else { word }
    }

    /// Asks the debugger, and executes the instruction behind the breakpoint.
    #[inline(always)]
    fn breakpoint(&mut self) {
        self.slowly(|thread| debugging::at_breakpoint(thread, &Interpreter));
    }

    /// Completes a return from the first frame of a chunk to the caller in the previous chunk.
    #[inline(always)]
    fn leave_chunk(&mut self) {
        // SAFETY: `leave_chunk` runs with the chunk's first word as frame, where `Stack::grow` has
        // put the caller's frame and the site of the call, and the return its value.
        let (caller, site, value) = unsafe {
            let header = self.frame;
            let site: &'static Site = &*header.add(1).cast::<*const Site>().read();
            (header.cast::<*mut Word>().read(), site, header.add(CHUNK_RESULT).read())
        };
        self.thread.stack().pop();
        self.thread.reset_limit();
        self.frame = caller;
        self.function = site.function;
        self.pc = site.return_pc;
        self.set(usize::from(site.destination), value);
        self.returned_through(site);
    }
}
