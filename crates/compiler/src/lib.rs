//! The compiler of the optimising tier: bytecode and its feedback in, machine code out. The crate `squall-jit` calls
//! [`compile`] for functions and loops that are hot.
//!
//! The crate knows no heap and no runtime, and has no `unsafe`: one can compile, print and test code without a virtual
//! machine. The tier that installs the code describes functions, feedback and addresses through
//! [`facts::Facts`], and gets [`code::CompiledCode`]. Both files together are the border.
//!
//! | module | what it holds |
//! |---|---|
//! | [`facts`] | the border, inwards: what the compiler asks of the runtime |
//! | [`code`] | the border, outwards: compiled code, and the conventions it keeps |
//! | [`ir`] | the typed representation: blocks, values, states; text form; verifier |
//! | [`mod@build`] | bytecode and feedback to the representation |
//! | [`passes`] | what changes the representation |
//! | [`mod@lower`] | the representation to machine code, by Cranelift |
//! | [`words`] | the encoding of guest values |
#![forbid(unsafe_code)]

pub mod build;
pub mod code;
pub mod facts;
pub mod ir;
pub mod lower;
pub mod passes;
pub mod words;

use code::{CompileError, CompiledCode, Request};
use facts::Facts;
use ir::Unit;
use passes::residence::{self, Residence};

/// Compiles a function, from its beginning or from the head of a loop. `watch` sees the unit after each pass.
pub fn compile(
    backend: &mut lower::Backend,
    facts: &dyn Facts,
    request: &Request,
    watch: Watch<'_>,
) -> Result<CompiledCode, CompileError> {
    let mut unit = build::build(facts, request)?;
    watch(BUILD, &unit);
    let residence = optimise_watched(&mut unit, watch);
    if residence.is_err() {
        // Code that is inlined may use what no register has.
        unit = build::build_with(facts, request, build::Limits::NONE)?;
        watch(BUILD, &unit);
    }
    let residence = residence.or_else(|_| optimise_watched(&mut unit, watch))?;
    watch(RESIDENCE, &unit);
    backend.lower(&unit, &residence, facts, request)
}

/// What sees a unit after the pass with this name.
pub type Watch<'a> = &'a mut dyn FnMut(&'static str, &Unit);

/// The name of the first step: the unit as it is built.
pub const BUILD: &str = "build";
/// The name of the last pass.
pub const RESIDENCE: &str = "residence";

/// Runs all passes in their order.
pub fn optimise(unit: &mut Unit) -> Result<Residence, CompileError> {
    optimise_watched(unit, &mut |_, _| {})
}

fn optimise_watched(unit: &mut Unit, watch: Watch<'_>) -> Result<Residence, CompileError> {
    for pass in PASSES {
        let before = cfg!(debug_assertions).then(|| unit.to_string());
        (pass.run)(unit);
        watch(pass.name, unit);
        let Some(before) = before else { continue };
        if let Err(errors) = ir::verify::verify(unit) {
            panic!("{} breaks a unit: {errors:#?}\nbefore:\n{before}\nafter:\n{unit}", pass.name);
        }
    }
    residence::residence(unit).map_err(|_| CompileError::Unsupported("a value has no place"))
}

/// A pass that changes a unit.
pub struct Pass {
    /// The name in tests.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(&mut Unit),
}

/// The passes before `residence`, in their order.
pub const PASSES: &[Pass] = &[
    Pass { name: "simplify", run: passes::simplify::simplify },
    Pass { name: "threading", run: passes::threading::threading },
    Pass { name: "simplify", run: passes::simplify::simplify },
    Pass { name: "gvn", run: passes::gvn::gvn },
    Pass { name: "entries", run: passes::entries::entries },
    Pass { name: "simplify", run: passes::simplify::simplify },
    Pass { name: "absence", run: passes::absence::absence },
    Pass { name: "representation", run: passes::representation::representation },
    Pass { name: "gvn", run: passes::gvn::gvn },
    Pass { name: "loops", run: passes::loops::loops },
    Pass { name: "ranges", run: passes::ranges::ranges },
    Pass { name: "refinement", run: passes::refinement::refinement },
    Pass { name: "gvn", run: passes::gvn::gvn },
    Pass { name: "simplify", run: passes::simplify::simplify },
    Pass { name: "currency", run: passes::currency::currency },
    Pass { name: "boxes", run: passes::boxes::boxes },
];
