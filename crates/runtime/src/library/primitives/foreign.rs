//! C: the primitives for libraries, functions, types, callbacks and calls. `lib/Foreign.ns` calls them.
//!
//! The primitives take native handles (see [`crate::concurrency::foreign`]) or the library's wrappers around them.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_foreign::{
    Callback, Declaration, DeclarationError, Declarations, Function, Kind, Library, LibraryError,
    Meaning, Parameter, Signature, Type,
};
use squall_heap::{Object, Word};

use super::answer;
use crate::concurrency::foreign::{
    self, Body, ForeignFunction, ForeignMemory, KnownType, OpenLibrary, callbacks, callouts,
    check_permission, convert, requests, slots,
};
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::block;
use crate::objects::number::{integer_argument, make_big, make_integer};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};
use crate::state::vat;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("foreignPointerClass:memoryClass:", |thread, window| {
        answer(Ok(register_classes(thread, window)))
    }),
    Primitive::ordinary("openForeignLibrary:", |thread, window| answer(open(thread, window))),
    Primitive::ordinary("linkedForeignLibrary:", |thread, window| answer(linked(thread, window))),
    Primitive::ordinary("processLibrary", |thread, _| answer(process(thread))),
    Primitive::effect("closeForeignLibrary:", |_, window| answer(close(window))),
    Primitive::ordinary("foreignLibraryIsClosed:", |_, window| answer(is_closed(window))),
    Primitive::ordinary("foreignLibrary:declaring:", |thread, window| {
        answer(declaring(thread, window))
    }),
    Primitive::ordinary("foreignLibrary:confinedTo:", |thread, window| {
        answer(confined(thread, window))
    }),
    Primitive::ordinary("foreignLibrary:function:", |thread, window| {
        answer(function(thread, window))
    }),
    Primitive::ordinary("foreignLibrary:type:", |thread, window| answer(type_of(thread, window))),
    Primitive::ordinary("foreignLibrary:constant:", |thread, window| {
        answer(constant(thread, window))
    }),
    Primitive::ordinary("foreignLibrary:variable:", |thread, window| {
        answer(variable(thread, window))
    }),
    Primitive::ordinary("foreignLibrary:callback:do:server:repeater:", |thread, window| {
        answer(callback(thread, window))
    }),
    Primitive::effect("releaseCallback:", |thread, window| {
        answer(release_callback(thread, window))
    }),
    Primitive::effect("expectCallsOf:", |thread, window| answer(expect_calls(thread, window))),
    Primitive::ordinary("foreignFunctionAsLeaf:", |thread, window| answer(as_leaf(thread, window))),
    Primitive::ordinary("foreignFunction:withTypes:", |thread, window| {
        answer(with_types(thread, window))
    }),
    Primitive::ordinary("foreignTypeSize:", |thread, window| {
        answer(layout(thread, window, |layout| layout.size))
    }),
    Primitive::ordinary("foreignTypeAlignment:", |thread, window| {
        answer(layout(thread, window, |layout| layout.alignment))
    }),
    Primitive::ordinary("foreignDescription:", |thread, window| {
        answer(description(thread, window))
    }),
    Primitive::ordinary("foreignAddress:", |thread, window| answer(address(thread, window))),
    Primitive::ordinary("foreignErrno", |thread, _| {
        answer(make_integer(thread, thread.strand().errno().into()))
    }),
    Primitive::ordinary("foreignErrorText:", |thread, window| answer(error_text(thread, window))),
    Primitive::ordinary("repeatForeignCall:as:keeping:", only_in_replays),
    Primitive::ordinary("leaveForeignCall:as:", only_in_replays),
    Primitive::effect("foreignAnswer:with:", |thread, window| {
        answer(requests::answer(thread, window.get(0), window.get(1)))
    }),
    Primitive::effect("foreignDismiss:", |thread, window| {
        answer(requests::dismiss_word(thread, window.get(0)))
    }),
    Primitive::effect("foreignCall:", callouts::call::<0>),
    Primitive::effect("foreignCall:with:", callouts::call::<1>),
    Primitive::effect("foreignCall:with:with:", callouts::call::<2>),
    Primitive::effect("foreignCall:with:with:with:", callouts::call::<3>),
    Primitive::effect("foreignCall:with:with:with:with:", callouts::call::<4>),
    Primitive::effect("foreignCallLeaf:", callouts::call::<0>)
        .with_short_form(callouts::call_leaf::<0>),
    Primitive::effect("foreignCallLeaf:with:", callouts::call::<1>)
        .with_short_form(callouts::call_leaf::<1>),
    Primitive::effect("foreignCallLeaf:with:with:", callouts::call::<2>)
        .with_short_form(callouts::call_leaf::<2>),
    Primitive::effect("foreignCallLeaf:with:with:with:", callouts::call::<3>)
        .with_short_form(callouts::call_leaf::<3>),
    Primitive::effect("foreignCall:arguments:", callouts::call_with_array),
];

/// The library says which classes its pointers and memory are of; the first ones stay.
fn register_classes(thread: &mut Thread, window: Window) -> Word {
    let foreign = &thread.vm.concurrency().foreign;
    for (root, class) in [(&foreign.pointer_class, 0), (&foreign.memory_class, 1)] {
        if root.get() == Word::NIL {
            root.set(window.get(class));
        }
    }
    Word::NIL
}

fn make(thread: &mut Thread, body: Body) -> Result<Word, Failure> {
    foreign::make(thread, body).map(Object::word)
}

fn make_library(thread: &mut Thread, library: Library) -> Result<Word, Failure> {
    let declarations = Arc::new(Declarations::new());
    make(thread, Body::Library(OpenLibrary { library, declarations, is_confined: false }))
}

fn open(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    check_permission(thread, &name)?;
    // SAFETY: the user who allows the program to call C allows it to load libraries.
    let opened = crate::concurrency::worker::outside(thread, || unsafe { Library::open(&name) });
    match opened {
        Ok(library) => make_library(thread, library),
        Err(error) => Err(library_failure(thread, &error)),
    }
}

fn linked(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    check_permission(thread, &name)?;
    let found = thread.vm.options.linked_libraries.iter().find(|(known, _)| *known == name);
    match found {
        Some((name, functions)) => make_library(thread, Library::linked(name, functions)),
        None => {
            let text = format!("the library `{name}` is not part of this program");
            Err(foreign::failure(thread, "NotLoaded", &text))
        }
    }
}

fn process(thread: &mut Thread) -> Result<Word, Failure> {
    check_permission(thread, "the process")?;
    make_library(thread, Library::process())
}

fn close(window: Window) -> Result<Word, Failure> {
    Ok(foreign::library(window.get(0))?.library.close().into())
}

fn is_closed(window: Window) -> Result<Word, Failure> {
    Ok(foreign::library(window.get(0))?.library.is_closed().into())
}

/// Makes another native handle of a library, which keeps alive the same objects as the first one.
fn derived(thread: &mut Thread, window: Window, library: OpenLibrary) -> Result<Word, Failure> {
    let made = foreign::make(thread, Body::Library(library))?;
    keep(made, kept(window.get(0)));
    Ok(made.word())
}

fn kept(word: Word) -> Word {
    foreign::handle(word).map_or(Word::NIL, |handle| handle.slot(slots::KEPT))
}

/// A handle that was just made keeps something alive.
fn keep(handle: Object, word: Word) {
    handle.initialize_slot(slots::KEPT, word);
}

fn declaring(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?.clone();
    let text = text_argument(window.get(1))?;
    let mut declarations = (*library.declarations).clone();
    if let Err(error) = declarations.declare(&text) {
        return Err(declaration_failure(thread, &error, &text));
    }
    derived(thread, window, OpenLibrary { declarations: Arc::new(declarations), ..library })
}

fn confined(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?.clone();
    if library.is_confined || !window.get(1).is_pointer() {
        return Err(Failure::argument(window.get(1)));
    }
    let confined = OpenLibrary { is_confined: true, ..library };
    let made = foreign::make(thread, Body::Library(confined))?;
    keep(made, window.get(1));
    Ok(made.word())
}

fn function(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?;
    let text = text_argument(window.get(1))?;
    let (name, signature) = match declared_function(&library.declarations, &text) {
        Ok(found) => found,
        Err(error) => return Err(declaration_failure(thread, &error, &text)),
    };
    let function = match library.library.function(&name, &signature) {
        Ok(function) => function,
        Err(error) => return Err(callouts::call_failure(thread, &error)),
    };
    make_function(
        thread,
        window,
        ForeignFunction {
            function,
            declarations: library.declarations.clone(),
            is_leaf: false,
            is_confined: library.is_confined,
        },
    )
}

/// Makes a function's native handle, which keeps alive the same objects as that of its library or of the function that
/// it derives from.
fn make_function(
    thread: &mut Thread,
    window: Window,
    function: ForeignFunction,
) -> Result<Word, Failure> {
    let made = foreign::make(thread, Body::Function(function))?;
    keep(made, kept(window.get(0)));
    Ok(made.word())
}

/// The function that a declaration declares, or the one that was declared with this name.
fn declared_function(
    declarations: &Declarations,
    text: &str,
) -> Result<(Arc<str>, Signature), DeclarationError> {
    match declarations.function(text.trim()) {
        Some(signature) => Ok((text.trim().into(), signature.clone())),
        None => declarations.parse_function(text),
    }
}

fn as_leaf(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let Body::Function(known) = foreign::body(window.get(0))? else {
        return Err(Failure::argument(window.get(0)));
    };
    make_function(
        thread,
        window,
        ForeignFunction {
            function: known.function.clone(),
            declarations: known.declarations.clone(),
            is_leaf: true,
            is_confined: known.is_confined,
        },
    )
}

/// A variadic function for surplus arguments of certain types.
fn with_types(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let Body::Function(known) = foreign::body(window.get(0))? else {
        return Err(Failure::argument(window.get(0)));
    };
    let text = text_argument(window.get(1))?;
    let parameters = format!("void surplus({text})");
    let types: Vec<Type> = match known.declarations.parse_function(&parameters) {
        Ok((_, signature)) => {
            signature.parameters().iter().map(|Parameter { c_type, .. }| c_type.clone()).collect()
        }
        Err(error) => return Err(declaration_failure(thread, &error, &parameters)),
    };
    let function: Function = match known.function.with_arguments(&types) {
        Ok(function) => function,
        Err(error) => return Err(callouts::call_failure(thread, &error)),
    };
    make_function(
        thread,
        window,
        ForeignFunction {
            function,
            declarations: known.declarations.clone(),
            is_leaf: known.is_leaf,
            is_confined: known.is_confined,
        },
    )
}

/// The type with this text, and the meanings of its names.
fn known_type(
    thread: &mut Thread,
    library: &OpenLibrary,
    text: &str,
) -> Result<KnownType, Failure> {
    let declarations = library.declarations.clone();
    match declarations.parse_type(text) {
        Ok(c_type) => Ok(KnownType { c_type: declarations.resolved(&c_type), declarations }),
        Err(error) => Err(declaration_failure(thread, &error, text)),
    }
}

fn type_of(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?;
    let text = text_argument(window.get(1))?;
    let found = known_type(thread, library, &text)?;
    make(thread, Body::Type(found))
}

fn constant(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?;
    let name = text_argument(window.get(1))?;
    match library.declarations.constant(&name) {
        Some(value) => make_big(thread, value.into()),
        None => {
            let text = format!("no constant `{name}` is declared");
            Err(foreign::failure(thread, "Declaration", &text))
        }
    }
}

/// The memory of a variable, which is declared here or was before.
fn variable(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let library = foreign::library(window.get(0))?;
    let text = text_argument(window.get(1))?;
    let (name, c_type) = match declared_variable(&library.declarations, &text) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let text = format!("this declares no variable: {text}");
            return Err(foreign::failure(thread, "Declaration", &text));
        }
        Err(error) => return Err(declaration_failure(thread, &error, &text)),
    };
    // SAFETY: the user who allows the program to call C vouches for its declarations.
    match unsafe { library.library.variable(&name, &c_type) } {
        Ok(memory) => {
            let declarations = library.declarations.clone();
            convert::make_memory(thread, memory, Some(KnownType { c_type, declarations }))
        }
        Err(error) => Err(library_failure(thread, &error)),
    }
}

fn declared_variable(
    declarations: &Declarations,
    text: &str,
) -> Result<Option<(Arc<str>, Type)>, DeclarationError> {
    if let Some(c_type) = declarations.variable(text.trim()) {
        return Ok(Some((text.trim().into(), c_type.clone())));
    }
    let mut declared = declarations.clone().declare(&format!("{text};"))?;
    Ok(match declared.pop() {
        Some(Declaration { name, meaning: Meaning::Variable(c_type) }) => Some((name, c_type)),
        _ => None,
    })
}

/// A primitive for replays, whose machine has another one in its place.
fn only_in_replays(_: &mut Thread, window: Window) -> Outcome {
    Failure::argument(window.get(0)).into()
}

/// Makes a function for C to call, of the vat that runs this.
fn callback(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    check_permission(thread, "a callback")?;
    let library = foreign::library(window.get(0))?;
    let text = text_argument(window.get(1))?;
    let signature = match callback_signature(&library.declarations, &text) {
        Ok(signature) => signature,
        Err(error) => return Err(declaration_failure(thread, &error, &text)),
    };
    let block = block::closure(window.get(2)).ok_or(Failure::argument(window.get(2)))?;
    if let Some(other) =
        [3, 4].into_iter().find(|index| block::closure(window.get(*index)).is_none())
    {
        return Err(Failure::argument(window.get(other)));
    }
    let takes = block::closure_function(block).arguments as usize - 1;
    let count = signature.parameters().len();
    if takes != count {
        let text = format!("`{signature}` has {count} parameters, but the block takes {takes}");
        return Err(foreign::failure(thread, "Arity", &text));
    }
    let body = match callbacks::make(&signature, library.declarations.clone()) {
        Ok(body) => body,
        Err(error) => return Err(foreign::failure(thread, "Callback", &error.to_string())),
    };
    let vat = vat::current(thread)?;
    let made = foreign::make(thread, body)?;
    made.initialize_slot(slots::KEPT, window.get(2));
    made.initialize_slot(slots::SERVER, window.get(3));
    made.initialize_slot(slots::REPEATER, window.get(4));
    made.initialize_slot(slots::VAT, vat.object.get());
    Ok(made.word())
}

/// The parameters and result of a callback: the text is the type of a function, of a pointer to one, or a function's
/// declaration.
fn callback_signature(
    declarations: &Declarations,
    text: &str,
) -> Result<Signature, DeclarationError> {
    if let Some(signature) = declarations.function(text.trim()) {
        return Ok(signature.clone());
    }
    if let Ok(c_type) = declarations.parse_type(text) {
        let c_type = declarations.resolved(&c_type);
        let target = c_type.target().map(|target| declarations.resolved(target));
        if let Kind::Function(signature) = target.as_ref().unwrap_or(&c_type).kind() {
            return Ok(signature.clone());
        }
    }
    declarations.parse_function(text).map(|(_, signature)| signature)
}

/// The handle of a callback in a word, and the callback, if it was not released.
fn callback_argument(word: Word) -> Result<(Object, &'static Mutex<Option<Callback>>), Failure> {
    let handle = foreign::handle(word).ok_or(Failure::argument(word))?;
    match &foreign::native_of(handle).body {
        Body::Callback(_, callback) => Ok((handle, callback)),
        _ => Err(Failure::argument(word)),
    }
}

fn release_callback(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (handle, callback) = callback_argument(window.get(0))?;
    let released = callback.lock().take();
    thread.vm.concurrency().foreign.forget(thread.vm, handle);
    Ok(released.is_some().into())
}

fn expect_calls(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (handle, callback) = callback_argument(window.get(0))?;
    if callback.lock().is_some() {
        thread.vm.concurrency().foreign.expect(thread.vm, handle);
    }
    Ok(Word::NIL)
}

fn layout(
    thread: &mut Thread,
    window: Window,
    part: fn(squall_foreign::Layout) -> usize,
) -> Result<Word, Failure> {
    let Body::Type(known) = foreign::body(window.get(0))? else {
        return Err(Failure::argument(window.get(0)));
    };
    match known.c_type.layout() {
        Some(layout) => make_integer(thread, part(layout) as i64),
        None => {
            let text = format!("there are no values of type `{}`", known.c_type);
            Err(foreign::failure(thread, "Declaration", &text))
        }
    }
}

fn description(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = match foreign::body(window.get(0))? {
        Body::Library(library) => library.library.name().to_owned(),
        Body::Function(ForeignFunction { function, .. }) => {
            function.signature().declaring(function.name())
        }
        Body::Type(known) => known.c_type.to_string(),
        Body::Memory(ForeignMemory { content: Some(known), .. }) => known.c_type.to_string(),
        Body::Memory(_) => "bytes".to_owned(),
        Body::Callback(callback, _) => callback.signature.to_string(),
    };
    make_string(thread, &text)
}

/// The address of something that C can have a pointer to.
fn address(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let word = window.get(0);
    let address = match foreign::native(word).map(|native| &native.body) {
        Some(Body::Function(function)) => Some(function.function.address()),
        Some(Body::Callback(_, callback)) => {
            callback.lock().as_ref().map(|callback| callback.address())
        }
        Some(Body::Memory(memory)) => match memory.memory.address() {
            Ok(address) => Some(address),
            Err(error) => return Err(foreign::memory_failure(thread, &error)),
        },
        Some(Body::Library(_) | Body::Type(_)) => None,
        None => convert::address_of_pointer(thread.vm, word),
    };
    let address = address.ok_or(Failure::argument(word))?;
    make_integer(thread, address.0 as i64)
}

/// The text for an error number of C.
fn error_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let number = i32::try_from(integer_argument(window.get(0))?);
    let number = number.map_err(|_| Failure::argument(window.get(0)))?;
    let text = std::io::Error::from_raw_os_error(number).to_string();
    // Rust adds the number.
    let end = text.rfind(" (os error").unwrap_or(text.len());
    make_string(thread, &text[..end])
}

/// The failure for a text that declares nothing. *GC point.*
pub fn declaration_failure(thread: &mut Thread, error: &DeclarationError, text: &str) -> Failure {
    let text = format!("{error}\n{}", error.excerpt(text));
    foreign::failure(thread, "Declaration", &text)
}

/// The failure for something that a library does not have. *GC point.*
fn library_failure(thread: &mut Thread, error: &LibraryError) -> Failure {
    foreign::failure(thread, foreign::library_reason(error), &error.to_string())
}
