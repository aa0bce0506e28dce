//! Items of run queues, and keys of timers. Any layer makes items, the scheduler hands them to workers, and the
//! worker's loop ([`crate::concurrency::worker`]) runs them.

use std::num::NonZeroUsize;

use crate::state::strand::StrandRef;
use crate::state::vat::VatRef;

/// Something in a run queue, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item(NonZeroUsize);

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// A vat that is scheduled.
    Vat(VatRef),
    /// A vat to look at, for the bound worker where its turns are at home.
    Visit(VatRef),
    /// A strand that is ready, and needs no owner; or, at a bound worker, one that waits for it.
    Strand(StrandRef),
    /// A strand that is ready, with its vat, which is scheduled, for the bound worker where it is at home.
    StrandWithVat(StrandRef),
    /// Nothing, for a worker that is to look around.
    Nothing,
    /// A timer is due.
    Timer,
    /// A native thread that is none of the VM's calls guest code.
    Request,
    /// A native thread has left something to do.
    Errand,
}

// The kind is in the low bits of a strand's or a vat's address.
const VAT: usize = 1;
const TIMER: usize = 2;
const REQUEST: usize = 3;
const STRAND_WITH_VAT: usize = 4;
const VISIT: usize = 5;
const NOTHING: usize = 6;
const ERRAND: usize = 7;
const KIND: usize = 7;

impl Item {
    /// See [`ItemKind::Vat`].
    pub fn vat(vat: VatRef) -> Item {
        Item::new(vat.address() | VAT)
    }

    /// See [`ItemKind::Visit`].
    pub fn visit(vat: VatRef) -> Item {
        Item::new(vat.address() | VISIT)
    }

    /// See [`ItemKind::Strand`].
    pub fn strand(strand: StrandRef) -> Item {
        Item::new(strand.address())
    }

    /// See [`ItemKind::StrandWithVat`].
    pub fn strand_with_vat(strand: StrandRef) -> Item {
        Item::new(strand.address() | STRAND_WITH_VAT)
    }

    /// See [`ItemKind::Nothing`].
    pub const NOTHING: Item = Item(NonZeroUsize::new(NOTHING).expect("not zero"));

    /// See [`ItemKind::Timer`].
    pub const TIMER: Item = Item(NonZeroUsize::new(TIMER).expect("not zero"));

    /// See [`ItemKind::Request`].
    pub const REQUEST: Item = Item(NonZeroUsize::new(REQUEST).expect("not zero"));

    /// See [`ItemKind::Errand`].
    pub const ERRAND: Item = Item(NonZeroUsize::new(ERRAND).expect("not zero"));

    fn new(bits: usize) -> Item {
        // Addresses are not null, and the other kinds have bits of their own.
        Item(NonZeroUsize::new(bits).unwrap_or(NonZeroUsize::MIN))
    }

    /// The strand, if it is one that needs no owner.
    #[inline(always)]
    pub fn strand_alone(self) -> Option<StrandRef> {
        // SAFETY: beside this kind, `Item::strand` put the address of a strand.
        (self.0.get() & KIND == 0).then(|| unsafe { StrandRef::from_address(self.0.get()) })
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> ItemKind {
        let bits = self.0.get();
        let address = bits & !KIND;
        // SAFETY: the constructors put addresses of strands and vats beside these kinds.
        unsafe {
            match bits & KIND {
                VAT => ItemKind::Vat(VatRef::from_address(address)),
                VISIT => ItemKind::Visit(VatRef::from_address(address)),
                STRAND_WITH_VAT => ItemKind::StrandWithVat(StrandRef::from_address(address)),
                NOTHING => ItemKind::Nothing,
                TIMER => ItemKind::Timer,
                REQUEST => ItemKind::Request,
                ERRAND => ItemKind::Errand,
                _ => ItemKind::Strand(StrandRef::from_address(address)),
            }
        }
    }
}

/// Denotes a timer, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerKey {
    /// Its place in the table.
    pub(crate) place: u32,
    /// How many timers had this place before.
    pub(crate) generation: u32,
}
