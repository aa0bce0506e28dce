//! Objects: the handlers for closures, contexts, classes, instances and arrays. The dispatch loop calls them. Each
//! handler leaves the work to the runtime and only moves operands and results.

use squall_bytecode::entities::{ClassId, FunctionId};
use squall_heap::{Format, Word, confine};
use squall_runtime::tiers::access::Element;
use squall_runtime::tiers::block;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::classes;
use squall_runtime::tiers::function::Site;
use squall_runtime::tiers::known::{self, KnownClass};
use squall_runtime::tiers::lookup::Action;
use squall_runtime::tiers::outcome::Failure;
use squall_runtime::tiers::processes;
use squall_runtime::tiers::thread::{Thread, Window, allocated};
use squall_runtime::tiers::values;

use crate::machine::{Machine, a, b, c};

impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn make_closure(&mut self, word: u32) {
        let function = self.function().module.function(FunctionId(self.word(1)));
        let captured = self.range(b(word), c(word));
        self.slowly(|thread| {
            let made = block::make_closure(thread, function, captured);
            calls::complete_here(thread, a(word), 2, made);
        });
    }

    #[inline(always)]
    pub(crate) fn make_home(&mut self, word: u32) {
        let frame = self.frame;
        self.slowly(|thread| {
            let made = block::make_home(thread, frame);
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn load_captures(&mut self, word: u32) {
        let (site, object) = (self.site(self.word(1) & 0xFFFF), self.get(b(word)));
        self.slowly(|thread| {
            let class = calls::class_on_path(thread, site, object);
            calls::complete_here(thread, a(word), 2, class.map(classes::captures));
        });
    }

    /// Usually the receiver's own class is the right one: then no slow path is needed.
    #[inline(always)]
    pub(crate) fn enclosing(&mut self, word: u32) {
        let (site, object) = (self.site(self.word(1) & 0xFFFF), self.get(b(word)));
        if let Some(around) = direct_enclosing(site, object) {
            self.set(a(word), around);
            return self.jump(2);
        }
        self.slowly(|thread| {
            let class = calls::class_on_path(thread, site, object);
            calls::complete_here(thread, a(word), 2, class.map(classes::enclosing));
        });
    }

    #[inline(always)]
    fn range(&self, start: usize, count: usize) -> Window {
        // SAFETY: the verifier has shown the range to be inside the frame and initialised.
        unsafe { Window::new(self.frame.add(start), count) }
    }

    #[inline(always)]
    pub(crate) fn make_class(&mut self, word: u32) {
        let definition = self.function().module.definition(ClassId(self.word(1)));
        let parts = self.range(b(word), c(word));
        self.slowly(|thread| {
            let made = classes::make_class(thread, definition, parts);
            calls::complete_here(thread, a(word), 2, made);
        });
    }

    #[inline(always)]
    pub(crate) fn publish_class(&mut self, word: u32) {
        let site = self.site(self.word(1) & 0xFFFF);
        self.notably(|thread| {
            let get = |register| processes::registers::get(thread, register);
            let (object, class) = (get(b(word)), get(c(word)));
            let published = publish(thread, site, object, class);
            calls::complete_here(thread, a(word), 2, published);
        });
    }

    #[inline(always)]
    pub(crate) fn instantiate(&mut self, word: u32) {
        let class = self.get(b(word));
        self.slowly(|thread| {
            let made = classes::instantiate(thread, class);
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn check_value(&mut self, word: u32) {
        let object = self.get(a(word));
        if !values::must_be_checked(self.thread.vm, object) {
            return self.jump(1);
        }
        self.slowly(|thread| {
            // STAYS: object: the check collects only if it fails, and then the object is not used again.
            let checked = values::check(thread, object);
            calls::complete_here(thread, a(word), 1, checked.map(|()| object));
        });
    }

    #[inline(always)]
    pub(crate) fn initialize_slot(&mut self, word: u32) {
        let (object, value) = (self.get(a(word)), self.get(b(word)));
        let site = self.site(self.word(1) & 0xFFFF);
        let entry = site.entry();
        if let (Action::SlotIndex(index), Some(target)) = (entry.action, object.as_object())
            && target.layout() == entry.layout
        {
            // SAFETY: objects with the entry's layout have the entry's slot.
            unsafe { target.set_slot_unchecked(&mut self.thread.mutator, index as usize, value) };
            return self.jump(2);
        }
        self.slowly(|thread| {
            let stored = slot_of(thread, site, object).map(|index| {
                object.object().set_slot(&mut thread.mutator, index, value);
                object
            });
            calls::complete_here(thread, a(word), 2, stored);
        });
    }

    #[inline(always)]
    pub(crate) fn make_array(&mut self, word: u32) {
        let size = self.word(1) as usize;
        self.slowly(|thread| {
            let class = thread.vm.known_class(KnownClass::Array);
            let made = thread.mutator.allocate_array(known::ARRAY, class, size, Word::NIL);
            calls::complete_here(thread, a(word), 2, allocated(made).map(Word::from));
        });
    }

    #[inline(always)]
    pub(crate) fn store_element(&mut self, word: u32) {
        let (array, value, index) = (self.get(a(word)), self.get(b(word)), self.word(1) as usize);
        // SAFETY: an array has a length.
        let has_place = |object: squall_heap::Object| index < unsafe { object.length_unchecked() };
        match array.as_object() {
            Some(object) if object.layout() == known::ARRAY && has_place(object) => {
                // SAFETY: the index is below the length.
                unsafe { object.set_element_unchecked(&mut self.thread.mutator, index, value) };
                self.jump(2);
            }
            _ => self.fail_with(array),
        }
    }

    /// `send1` of `at:` to an array with a small integer.
    #[inline(always)]
    pub(crate) fn array_at(&mut self, word: u32) {
        let (array, index) = (self.get(b(word)), self.get(c(word)));
        match element(array, index) {
            Some((object, index)) => {
                // SAFETY: the index is below the length.
                if let Some(value) = unsafe { self.load(object, Element(index)) } {
                    self.set(a(word), value);
                    self.jump(2);
                }
            }
            None => self.send1(word),
        }
    }

    /// `send2` of `at:put:` to an array with a small integer.
    #[inline(always)]
    pub(crate) fn array_at_put(&mut self, word: u32) {
        let (array, index) = (self.get(b(word)), self.get(c(word)));
        match element(array, index) {
            Some((object, index)) if object.layout() == known::ARRAY => {
                let value = self.get((self.word(1) >> 16 & 0xFF) as usize);
                // SAFETY: the index is below the length.
                if unsafe { self.store(object, Element(index), value) } {
                    self.set(a(word), value);
                    self.jump(2);
                }
            }
            _ => self.send2(word),
        }
    }
}

/// The enclosing object of an object's own class, if the site says that this is the class.
#[inline(always)]
fn direct_enclosing(site: &'static Site, object: Word) -> Option<Word> {
    let object = object.as_object()?;
    let entry = site.entry();
    match entry.action {
        Action::Enclosing(path)
            if entry.layout == object.layout() && path.hops == 0 && path.mixin.is_none() =>
        {
            let class = if path.from_class { object } else { object.class().as_object()? };
            Some(classes::enclosing(class))
        }
        _ => None,
    }
}

/// The array and the zero-based index that an element access names, if it is in range.
#[inline(always)]
fn element(array: Word, index: Word) -> Option<(squall_heap::Object, usize)> {
    let object = array.as_object()?;
    let layout = object.layout();
    if layout != known::ARRAY && layout != known::VALUE_ARRAY {
        return None;
    }
    debug_assert!(layout.format() == Format::Array);
    let index = index.as_small_integer()?.wrapping_sub(1) as u64 as usize;
    // SAFETY: an array has a length.
    let length = unsafe { object.length_unchecked() };
    (index < length).then(|| (object, confine(index, length)))
}

/// The index of the slot that a site names, in an object.
fn slot_of(thread: &mut Thread, site: &'static Site, object: Word) -> Result<usize, Failure> {
    match calls::look_up(thread, site, object).action {
        Action::SlotIndex(index) if object.is_pointer() => Ok(index as usize),
        _ => Err(Failure::argument(object)),
    }
}

/// Puts a class object into its slot. If another thread was first, answers that thread's class object.
fn publish(
    thread: &mut Thread,
    site: &'static Site,
    object: Word,
    class: Word,
) -> Result<Word, Failure> {
    let slot = slot_of(thread, site, object)?;
    let target = object.as_object().ok_or(Failure::argument(object))?;
    match target.compare_exchange_slot(&mut thread.mutator, slot, Word::NIL, class) {
        Ok(()) => Ok(class),
        Err(winner) => Ok(winner),
    }
}
