//! Objects that optimised code has not made, and that its exits make ("absent objects"; the compiler's pass `absence`
//! explains them). `helpers` calls [`make`] when a unit is left, and `optimised` fills the records.

use squall_compiler::code;
use squall_compiler::ir::entities::FunctionRef;
use squall_heap::{LayoutId, Object, Word};
use squall_runtime::tiers::block;
use squall_runtime::tiers::function::Function;
use squall_runtime::tiers::outcome::Failure;
use squall_runtime::tiers::thread::{Thread, allocated};

/// An object that an exit makes.
pub struct AbsentObject {
    form: Form,
    /// The places of the unit's frame with its parts.
    parts: Vec<u32>,
    /// The places of the unit's frame that get it.
    places: Vec<u32>,
}

enum Form {
    Slots { layout: LayoutId, class: u32 },
    Context,
    Closure(&'static Function),
}

impl AbsentObject {
    /// The object that the compiler describes.
    pub fn of(
        object: &code::AbsentObject,
        function: impl Fn(FunctionRef) -> &'static Function,
    ) -> AbsentObject {
        let form = match object.form {
            code::Form::Slots { layout, class } => {
                Form::Slots { layout: LayoutId::from_bits(layout), class }
            }
            code::Form::Context => Form::Context,
            code::Form::Closure(body) => Form::Closure(function(body)),
        };
        AbsentObject { form, parts: object.parts.clone(), places: object.places.clone() }
    }

    /// The places that get the object.
    pub fn places(&self) -> &[u32] {
        &self.places
    }
}

/// Makes objects, each after those that it holds, and writes them into their places. *GC point*.
///
/// # Safety
///
/// The frame is that of the unit that was left. The places of the parts have words that the collector updates, and nothing
/// else uses the frame meanwhile.
pub unsafe fn make(
    thread: &mut Thread,
    frame: *mut Word,
    objects: &[AbsentObject],
) -> Result<(), Failure> {
    for object in objects {
        // SAFETY: the caller keeps what this asks for.
        let word = unsafe { object.make(thread, frame) }?;
        for &place in &object.places {
            // SAFETY: it is a place of the frame, which only this thread uses.
            unsafe { frame.add(place as usize).write(word) };
        }
    }
    Ok(())
}

impl AbsentObject {
    /// Makes the object. *GC point*.
    ///
    /// # Safety
    ///
    /// As for [`make`].
    unsafe fn make(&self, thread: &mut Thread, frame: *mut Word) -> Result<Word, Failure> {
        // SAFETY: it is a place of the frame with a word.
        let read = |place: u32| unsafe { frame.add(place as usize).read() };
        let part = |index: usize| read(self.parts[index]);
        let count = self.parts.len();
        match self.form {
            Form::Slots { layout, class } => {
                let class = read(class);
                let object: Object = allocated(thread.mutator.allocate_slots(layout, class))?;
                (0..count).for_each(|index| object.initialize_slot(index, part(index)));
                Ok(object.word())
            }
            Form::Context => {
                let context = block::make_context(thread, count)?;
                (0..count)
                    .for_each(|index| context.object().initialize_element(index, part(index)));
                Ok(context)
            }
            Form::Closure(function) => block::make_closure_of(thread, function, count, part),
        }
    }
}
