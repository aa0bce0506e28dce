//! The passes over a unit. Each is one function that changes the unit; [`crate::compile`] runs them in order.
//!
//! | module | what it does |
//! |---|---|
//! | [`kinds`] | the type of an operation's result; the builder uses it, too |
//! | [`absence`] | objects that only the unit's code sees are not made |
//! | [`currency`] | slots' kinds are tested where they may have changed |
//! | [`boxes`] | doubles that only exits need as words are boxed there |
//! | [`fold`] | what an operation is equal to, if that is simpler; the builder uses it, too |
//! | [`infer`] | the types of all values, loops included |
//! | [`simplify`] | folding, branches that are known, parameters and code that nothing needs |
//! | [`ranges`] | what comparisons show of integers |
//! | [`representation`] | raw parameters in place of tagged ones |
//! | [`gvn`] | equal operations become one, by dominance |
//! | `hashing` | the hash of tables by values |
//! | [`liveness`] | the values that are used after a place |
//! | `counting` | which loops end whatever other strands do; `loops` asks it |
//! | [`entries`] | loops test their variables once, before |
//! | [`loops`] | what does not change is done before the loop |
//! | [`refinement`] | the most that is known of a word where it is used |
//! | [`threading`] | paths that know where they go when they meet do not meet |
//! | [`residence`] | what is stored into the frame, and loaded again, at calls and exits |

pub mod absence;
pub mod boxes;
mod counting;
pub mod currency;
pub mod entries;
pub mod fold;
pub mod gvn;
mod hashing;
pub mod infer;
pub mod kinds;
pub mod liveness;
pub mod loops;
pub mod ranges;
pub mod refinement;
pub mod representation;
pub mod residence;
pub mod simplify;
pub mod threading;
