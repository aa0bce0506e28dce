//! The primitives for functions and objects that the embedder offers under a name. `lib/Host.ns` calls them.

use super::answer;
use crate::concurrency::embedding::functions;
use crate::model::primitive::Primitive;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("hostCall:with:", |thread, window| answer(functions::call(thread, window))),
    Primitive::effect("hostApply:", |thread, window| answer(functions::apply(thread, window))),
    Primitive::ordinary("hostHas:", |thread, window| {
        answer(functions::has_function(thread, window))
    }),
    Primitive::effect("hostValue:", |thread, window| answer(functions::provided(thread, window))),
];
