//! The parts of programs: symbols, functions, behaviors, modules, and the lookup of messages. The layers above read it;
//! the loader and the kernel's primitives add to it.
//!
//! It is the lowest layer. Nothing here allocates on the guest heap or knows that anything runs: no function takes a
//! thread.
//!
//! | part | modules |
//! |---|---|
//! | loaded code | [`module`], [`modules`], [`text`], [`function`], [`native_code`], [`linking`], [`links`], [`specialise`], [`types`] |
//! | classes and messages | [`known`], [`behavior`], [`behaviors`], [`lookup`], [`symbols`], [`hashing`] |
//! | primitives as their callers see them | [`primitive`], [`outcome`] |
//! | the world outside | [`host`], [`packages`], [`permissions`] |

pub mod behavior;
pub mod behaviors;
pub mod function;
pub mod hashing;
pub mod host;
pub mod known;
pub mod linking;
pub mod links;
pub mod lookup;
pub mod module;
pub mod modules;
pub mod native_code;
pub mod outcome;
pub mod packages;
pub mod permissions;
pub mod primitive;
pub mod specialise;
pub mod symbols;
pub mod text;
pub mod types;
