//! The plan of a call: the places of its arguments. `call` computes a plan once for a function, and each call of the
//! function uses it.
//!
//! A call has an *area* of words, in which each argument has its *place*. For a call through registers, the area is
//! loaded into them:
//!
//! ```text
//!   │ integers: 6 │ floating-point numbers: 8 │
//! ```
//!
//! For a call through libffi, the area holds the values, and the pointers to them that libffi needs:
//!
//! ```text
//!   │ result │ arguments … │ pointers to the arguments │
//! ```

use std::ops::RangeInclusive;

use super::form::Form;
use super::interface::Interface;
use super::registers::Shape;
use super::{CallError, MOST_ARGUMENTS};
use crate::types::Type;

/// The plan for functions of one signature.
pub(super) struct Plan {
    pub(super) slots: Box<[Slot]>,
    pub(super) result: Form,
    pub(super) route: Route,
    /// The size of the area.
    pub(super) words: usize,
}

/// An argument.
pub(super) struct Slot {
    /// The integers that can be stored there unchanged; empty if the argument is no integer.
    pub(super) integers: RangeInclusive<i64>,
    pub(super) form: Form,
    /// The index of its first word in the area.
    pub(super) place: usize,
}

/// The way in which the function is called.
pub(super) enum Route {
    /// Directly.
    Registers(Shape),
    /// By libffi. The pointers to the arguments are at `table`.
    Interface { interface: Interface, table: usize },
}

impl Plan {
    /// The plan for a function with this result and these arguments. If it is variadic, `fixed` is the
    /// number of its parameters.
    pub(super) fn new(
        result: &Type,
        arguments: &[Type],
        fixed: Option<usize>,
    ) -> Result<Plan, CallError> {
        if arguments.len() > MOST_ARGUMENTS {
            return Err(CallError::TooMany);
        }
        let result_form = Form::of(result)?;
        let forms = arguments.iter().map(Form::of).collect::<Result<Vec<Form>, _>>()?;
        if let Some((shape, places)) = Shape::of(result_form, &forms).filter(|_| fixed.is_none()) {
            let (slots, route, words) =
                (slots(&forms, places), Route::Registers(shape), shape.words());
            return Ok(Plan { slots, result: result_form, route, words });
        }
        let mut next = words(result_form);
        let mut place = |form: &Form| {
            next += words(*form);
            next - words(*form)
        };
        let places = forms.iter().map(&mut place).collect();
        let slots = slots(&forms, places);
        let interface = Interface::new(result, arguments, fixed);
        let route = Route::Interface { interface, table: next };
        let words = next + forms.len();
        Ok(Plan { slots, result: result_form, route, words })
    }
}

fn slots(forms: &[Form], places: Vec<usize>) -> Box<[Slot]> {
    let slot =
        |(form, place): (&Form, usize)| Slot { integers: form.integers(), form: *form, place };
    forms.iter().zip(places).map(slot).collect()
}

/// The words that a value takes; a result of no bytes takes one, too.
fn words(form: Form) -> usize {
    form.size().div_ceil(size_of::<u64>()).max(1)
}
