//! The roots of a strand that stands between two activations: an answer that was given and not taken yet, and the
//! activations below the chunk that the state stands in. The process has one heap, so this file is one case.
//!
//! A primitive that is a whole message, or a whole callback, has no activation. If it gives way, the strand stands at the
//! site below its first activation, and the only reference to the answer is in the header of the chunk. A closure that
//! returns from an activation that has ended is left before its home's receiver is asked for the answer: the strand then
//! stands at the header of a chunk, and has activations below that chunk.

mod common;

use squall_heap::{CollectionKind, Word};
use squall_runtime::concurrency::strands;
use squall_runtime::model::function::Function;
use squall_runtime::model::known::{self, KnownClass};
use squall_runtime::model::lookup::Action;
use squall_runtime::state::stack::{CHUNK_HEADER, CHUNK_RESULT, boundary_site};
use squall_runtime::state::strand::{self, ANY_SIZE, Model};
use squall_runtime::state::thread::{State, Thread, callback_bottom};

use common::{Program, start};

#[test]
fn a_strand_between_activations_has_all_its_roots() {
    let program = Program { name: "none.ns", text: String::new(), trusted: false };
    let (mut thread, _) = start(program, 1 << 20);
    let thread = &mut *thread;
    thread.message.clear();
    thread.message.push(strand::EMBEDDER);
    let main = thread.vm.main_vat();
    let strand = strands::make(thread, main, Model::Exclusive, ANY_SIZE).expect("there is memory");
    thread.enter_strand(strand);
    thread.start_state();
    an_answer_at_the_end_of_a_strand_is_a_root(thread);
    activations_below_a_chunk_are_active(thread);
    an_answer_at_the_end_of_a_callback_is_a_root(thread);
}

fn an_answer_at_the_end_of_a_strand_is_a_root(thread: &mut Thread) {
    assert_eq!(thread.activations().count(), 0);
    let header = thread.state.frame;
    assert_survives(thread, header.wrapping_add(CHUNK_RESULT));
}

fn an_answer_at_the_end_of_a_callback_is_a_root(thread: &mut Thread) {
    let (frame, function) = frame_with_nils(thread);
    let site = function.fault_site(0);
    let header = thread.stack().enter_callback(frame, site).expect("there is room");
    thread.state = callback_bottom(header);
    assert_eq!(frames(thread), [frame]);
    assert_survives(thread, header.wrapping_add(CHUNK_RESULT));
}

fn activations_below_a_chunk_are_active(thread: &mut Thread) {
    let (frame, function) = frame_with_nils(thread);
    let site = function.fault_site(0);
    let room = thread.stack().words();
    let base = thread.stack().grow(frame, site, std::iter::empty(), room).expect("there is room");
    let pc = boundary_site().return_pc;
    thread.state = State { pc, frame: base.wrapping_sub(CHUNK_HEADER), function: std::ptr::null() };
    assert_eq!(frames(thread), [frame]);
    assert!(thread.activations().all(|activation| std::ptr::eq(activation.function, function)));
    let register = 0;
    let traced = function.frame_maps().at(0).iter().any(|traced| traced.index() == register);
    assert!(traced, "the first argument is live at the first instruction");
    assert_survives(thread, frame.wrapping_add(register));
    thread.stack().pop();
}

fn frames(thread: &Thread) -> Vec<*mut Word> {
    thread.activations().map(|activation| activation.frame).collect()
}

/// The first frame of the strand, and a function that it may belong to, with a nil in each register.
fn frame_with_nils(thread: &mut Thread) -> (*mut Word, &'static Function) {
    let vm = thread.vm;
    let layout = known::layout_of(vm.roots.kernel.get());
    let behavior = vm.behavior_of_layout(layout).expect("the kernel has a behavior");
    let entry = vm.lookups.public(layout, behavior, vm.symbol("module:"));
    let Action::Method(function) = entry.action else { panic!("the kernel has this method") };
    let base = thread.stack().base();
    for register in 0..function.frame_words as usize {
        // SAFETY: the bottom of a stack of any size has room for a frame.
        unsafe { base.add(register).write(Word::NIL) };
    }
    (base, function)
}

/// Collects while the only reference to a new object is at this place, and checks that the object has moved and is whole.
fn assert_survives(thread: &mut Thread, place: *mut Word) {
    let class = thread.vm.known_class(KnownClass::Array);
    let content = Word::from_small_integer_unchecked(42);
    let made = thread.mutator.allocate_array(known::ARRAY, class, 3, content);
    let made = made.expect("there is memory").word();
    // SAFETY: the place is in the stack of the strand that runs here.
    unsafe { place.write(made) };
    thread.mutator.collect(CollectionKind::Nursery);
    // SAFETY: as above.
    let moved = unsafe { place.read() };
    assert_ne!(moved, made, "a nursery collection moves new objects");
    let moved = moved.as_object().expect("it is an object");
    assert_eq!((moved.length(), moved.element(2)), (3, content));
    // SAFETY: as above.
    unsafe { place.write(Word::NIL) };
}
