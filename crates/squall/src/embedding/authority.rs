//! A test: a guest's first object reaches no authority. It walks over all objects that the object leads to, by classes,
//! superclasses, mixins, enclosing objects, slots and elements, after the guest has fetched every module that it can.
//!
//! Primitives are the other way to reach something; the library alone may use them, and
//! `docs/internals/boundary.md` says what each of them checks.

use std::collections::BTreeSet;
use std::io;

use squall_heap::{Format, Object, Word};
use squall_runtime::model::known;
use squall_runtime::model::modules::is_computing;
use squall_runtime::objects::classes::{behavior_of, behavior_of_class};
use squall_runtime::objects::far_reference;
use squall_runtime::state::vm::Vm as Runtime;

use super::{Budgets, Value, Vm};
use crate::{FileKind, Options, Surroundings, library};

struct Quiet;

impl Surroundings for Quiet {
    fn write_output(&self, _: &str) {}
    fn write_error(&self, _: &str) {}
    fn flush(&self) {}
    fn read_module(&self, _: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// It keeps what the kernel gives it.
const GUEST: &str = "class Poor = (| private got ::= kernel. |)(
    public fetch: name = ( got:: {kernel module: name asSymbol. got}. ^ true )
)";

/// An object that a walk has found, and what is wrong with it, if something is.
fn look_at(vm: &Runtime, object: Object) -> Result<(), String> {
    let layout = object.layout();
    if layout == known::RIGHT {
        return Err("a right".to_owned());
    }
    let is_inside = [known::VAT, known::STRAND, known::SANDBOX, known::FAR_REFERENCE];
    if is_inside.contains(&layout) {
        return Err(format!("an object of the machine, of layout {layout:?}"));
    }
    let behavior = match behavior_of_class(vm, object.word()) {
        Some(instances) => Some(instances),
        None => behavior_of(vm, object),
    };
    let Some(behavior) = behavior else { return Ok(()) };
    let module = behavior.definition.module.loaded();
    let name = module.main_definition().map_or("", |definition| definition.name_text());
    let is_library = module.bytecode.is_image();
    match !is_library || name == "Kernel" || is_computing(name) {
        true => Ok(()),
        false => Err(format!("{} of the module {name}", behavior.full_name())),
    }
}

/// All words that an object leads to.
fn words_of(object: Object) -> Vec<Word> {
    let layout = object.layout();
    let mut words = vec![object.class()];
    match layout.format() {
        Format::Slots | Format::Ephemeron | Format::Strand => {
            words.extend((0..layout.slot_count()).map(|index| object.slot(index)));
        }
        Format::Array => words.extend((0..object.length()).map(|index| object.element(index))),
        Format::Bytes | Format::Raw | Format::WeakArray => {}
    }
    words
}

/// Walks from an object; answers the number of objects, and what is wrong.
fn walk(vm: &Runtime, first: Object) -> (usize, Vec<String>) {
    let (mut seen, mut wrong) = (BTreeSet::from([first.address()]), BTreeSet::new());
    let mut pending = vec![first];
    while let Some(object) = pending.pop() {
        if let Err(problem) = look_at(vm, object) {
            wrong.insert(problem);
            continue;
        }
        let objects = words_of(object).into_iter().filter_map(Word::as_object);
        pending.extend(objects.filter(|object| seen.insert(object.address())));
    }
    (seen.len(), wrong.into_iter().collect())
}

#[test]
fn a_guests_first_object_reaches_no_authority() {
    let vm = Vm::start(Options::default(), Quiet).expect("it starts");
    let everything = ["files", "net", "os", "ffi", "host", "system", "nativeThreads", "bytecode"];
    let sandbox = vm.sandbox("poor", Budgets::default(), &everything).expect("a sandbox");
    let class = sandbox.load("poor.ns", FileKind::Newspeak, GUEST.as_bytes()).expect("a class");
    let guest = vm.call(&class, "new", &[]).expect("an instance");
    for name in library::names() {
        let fetched = vm.call(&guest, "fetch:", &[Value::Text(name.to_owned())]);
        assert_eq!(fetched.is_ok(), is_computing(name), "{name}");
    }
    let Value::Object(guest) = guest else { panic!("a guest is an object") };
    let (count, wrong) = vm
        .do_inside(move |thread| {
            let far = thread.vm.concurrency().embedding.kept.word(&guest).object();
            walk(thread.vm, far_reference::target_of(far).object())
        })
        .expect("the machine runs");
    assert!(count > 100, "the walk has ended early: {count}");
    assert_eq!(wrong, Vec::<String>::new());
    // The walk finds authority where there is some.
    let Value::Object(platform) = vm.platform().clone() else { panic!("it is an object") };
    let (_, found) = vm
        .do_inside(move |thread| {
            walk(thread.vm, thread.vm.concurrency().embedding.kept.word(&platform).object())
        })
        .expect("the machine runs");
    assert!(!found.is_empty());
}
