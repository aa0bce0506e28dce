//! Guest objects that the VM itself makes and reads: arrays, strings, numbers, closures, class objects, and the values of
//! typed code. The tiers, and the layers above, call these modules.
//!
//! | part | modules |
//! |---|---|
//! | objects of the dialect | [`array`](mod@array), [`block`], [`number`], [`string`], [`classes`], [`far_reference`], [`rights`] |
//! | tuples, lists, maps and boxed values of typed code | [`typed`] |
//! | which object stands for which in a walk over objects | [`counterparts`] |

pub mod array;
pub mod block;
pub mod classes;
pub mod counterparts;
pub mod far_reference;
pub mod number;
pub mod operators;
pub mod rights;
pub mod string;
pub mod typed;
