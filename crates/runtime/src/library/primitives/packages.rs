//! Packages: the primitives by which a part of the program finds the others, and what it may do
//! ([`crate::model::packages`]). `lib/Packages.ns` calls them.
//!
//! A [right](rights) stands for a part, and nothing else does. A right to a part is made for those that the part's dependent
//! names only, and one to the application for the platform's own module of packages. So a part cannot pass for another one,
//! whatever objects it makes of the library's classes.

use std::path::Path;

use squall_heap::Word;

use super::answer;
use super::reflection::definition;
use crate::model::outcome::Failure;
use crate::model::packages::Part;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::rights::{self, Kind};
use crate::objects::string::{make_string, symbol_object, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("applicationPackage", |thread, _| {
        answer(rights::make(thread, Kind::Package, 0))
    }),
    Primitive::ordinary("package:named:", |thread, window| answer(dependency(thread, window))),
    Primitive::ordinary("packageNames:", |thread, window| answer(names(thread, window))),
    Primitive::ordinary("packageTitle:", |thread, window| {
        answer(text(thread, window, |part| part.map_or("the program", |part| &part.title)))
    }),
    Primitive::ordinary("packageMain:", |thread, window| {
        answer(text(thread, window, |part| part.map_or("", |part| &part.main)))
    }),
    Primitive::ordinary("packageKey:", |thread, window| answer(key(thread, window))),
    Primitive::ordinary("package:lacks:", |thread, window| answer(refusal(thread, window))),
    Primitive::ordinary("package:path:", |thread, window| {
        answer(text_argument(window.get(1)).and_then(|path| {
            let found = part(thread, window)?.and_then(|part| part.path(&path, None));
            path_or_nil(thread, found)
        }))
    }),
    Primitive::ordinary("package:path:nextTo:", |thread, window| {
        answer(path_next_to(thread, window))
    }),
];

/// The number of the part that the first argument stands for.
fn number(thread: &Thread, window: Window) -> Result<usize, Failure> {
    let right = window.get(0);
    let number = rights::number(thread, right, Kind::Package)?;
    usize::try_from(number).map_err(|_| Failure::argument(right))
}

/// The part that the first argument stands for; none, if the program has no packages.
fn part(thread: &Thread, window: Window) -> Result<Option<&'static Part>, Failure> {
    Ok(thread.vm.options.packages.parts.get(number(thread, window)?))
}

/// A right to the part that the first argument gets under the name in the second; nil if there is none.
fn dependency(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(1))?;
    match part(thread, window)?.and_then(|part| part.dependency(&name)) {
        Some(number) => rights::make(thread, Kind::Package, number as i64),
        None => Ok(Word::NIL),
    }
}

fn names(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let dependencies = part(thread, window)?.map_or(&[][..], |part| &part.dependencies);
    array::make_value_of(thread, dependencies.len(), |thread, index| {
        make_string(thread, &dependencies[index].0)
    })
}

fn text(
    thread: &mut Thread,
    window: Window,
    of: fn(Option<&'static Part>) -> &'static str,
) -> Result<Word, Failure> {
    let text = of(part(thread, window)?);
    make_string(thread, text)
}

/// The symbol under which the registry keeps the part's module. There is none in a sandbox: its copies of modules are its
/// own.
fn key(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    if thread.sandbox.is_some() {
        return Ok(Word::NIL);
    }
    let name = format!("package {}", number(thread, window)?);
    let symbol = thread.vm.symbol(&name);
    symbol_object(thread, symbol)
}

/// Why the part may not use the module of the platform with the name in the second argument; nil if it may.
fn refusal(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let capability = text_argument(window.get(1))?;
    match part(thread, window)?.and_then(|part| part.refusal(&capability)) {
        Some(reason) => make_string(thread, &reason),
        None => Ok(Word::NIL),
    }
}

/// The path in the second argument, relative to the source file of the definition in the third one; nil if it leads out of
/// the part's folder.
fn path_next_to(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let path = text_argument(window.get(1))?;
    let definition = definition(thread, window.get(2))?;
    let folder = Path::new(definition.module.bytecode.path_text()).parent();
    let found = part(thread, window)?.and_then(|part| part.path(&path, folder));
    path_or_nil(thread, found)
}

fn path_or_nil(thread: &mut Thread, path: Option<String>) -> Result<Word, Failure> {
    path.map_or(Ok(Word::NIL), |path| make_string(thread, &path))
}
