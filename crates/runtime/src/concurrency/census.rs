//! The census: the objects of a program by class and by vat. The observer's server calls it when the user asks for it.
//!
//! An object has no field for its vat. So the census walks over all objects that strands, vats and the library reach, and
//! an object belongs to the vat from which the walk reached it: the walk changes the vat where it goes through a far
//! reference, a promise, a strand or a vat. Values that several vats share count for the one that is reached first, and what
//! the kernel, the platform and the constants of functions reach counts for no vat.
//!
//! All mutators stand for the walk, some 100 ns for each object; it keeps a set of addresses in native memory.

use std::collections::HashMap;

use squall_heap::{LayoutId, Object, Word};

use crate::concurrency::promises;
use crate::concurrency::reach::{Seen, visit_shared, visit_words};
use crate::model::known;
use crate::objects::far_reference;
use crate::state::strand::StrandRef;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// A number of objects, and their bytes.
#[derive(Clone, Copy, Default)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.objects += 1;
        self.bytes += bytes as u64;
    }
}

/// The result of a census.
#[derive(Default)]
pub struct Census {
    /// The amounts by the names of classes.
    pub classes: HashMap<String, Amount>,
    /// The amounts by the numbers of vats; 0 is for what is shared.
    pub vats: HashMap<u64, Amount>,
}

/// Takes a census. The calling thread is none of the machine's; all mutators stand meanwhile.
pub fn take(vm: &Vm) -> Census {
    vm.heap.while_stopped(|| {
        let mut walk = Walk::default();
        visit_shared(vm, &mut |word| walk.add(word, 0));
        walk.run(vm);
        for vat in vm.vats.all() {
            walk.add(vat.object.get(), vat.number(vm));
            walk.add(vat.taken(), vat.number(vm));
        }
        for strand in vm.strands.all() {
            walk.add(strand.object.get(), strand.vat().map_or(0, |vat| vat.number(vm)));
        }
        walk.run(vm);
        vm.visit_running(&mut |thread, word| {
            let vat = thread.running_strand().and_then(StrandRef::vat);
            walk.add(word, vat.map_or(0, |vat| vat.number(vm)));
        });
        walk.run(vm);
        walk.result(vm)
    })
}

#[derive(Default)]
struct Walk {
    seen: Seen,
    /// Objects that are to be looked at, with the numbers of their vats.
    pending: Vec<(Object, u64)>,
    layouts: HashMap<u32, Amount>,
    vats: HashMap<u64, Amount>,
}

impl Walk {
    fn add(&mut self, word: Word, vat: u64) {
        if let Some(object) = word.as_object()
            && self.seen.insert(object.address())
        {
            self.pending.push((object, vat));
        }
    }

    fn run(&mut self, vm: &Vm) {
        while let Some((object, vat)) = self.pending.pop() {
            let vat = vat_beyond(vm, object).unwrap_or(vat);
            let layout = object.layout();
            self.layouts.entry(layout.bits()).or_default().add(object.size());
            self.vats.entry(vat).or_default().add(object.size());
            self.add(object.class(), 0);
            visit_words(object, |word| self.add(word, vat));
        }
    }

    fn result(self, vm: &Vm) -> Census {
        let mut classes: HashMap<String, Amount> = HashMap::new();
        for (layout, amount) in self.layouts {
            let class = classes.entry(name_of(vm, LayoutId::from_bits(layout))).or_default();
            class.objects += amount.objects;
            class.bytes += amount.bytes;
        }
        Census { classes, vats: self.vats }
    }
}

/// The vat that what this object refers to belongs to, if the object says that.
fn vat_beyond(vm: &Vm, object: Object) -> Option<u64> {
    let vat = match object.layout() {
        known::STRAND => StrandRef::of_object(object)?.vat()?,
        known::VAT => VatRef::of_object(object),
        known::FAR_REFERENCE => far_reference::vat_of(object),
        known::PROMISE => promises::owner(object),
        _ => return None,
    };
    Some(vat.number(vm))
}

fn name_of(vm: &Vm, layout: LayoutId) -> String {
    match layout {
        known::STRAND => return "a strand's own".to_owned(),
        known::VAT => return "a vat's own".to_owned(),
        known::CHANNEL => return "a channel's own".to_owned(),
        known::PROMISE => return "a promise's own".to_owned(),
        _ => {}
    }
    let behavior = vm.behavior_of_layout(layout);
    behavior.map_or_else(|| "others of the machine".to_owned(), |behavior| behavior.full_name())
}
