//! The table of all behaviors: by the layout of their instances, and by their parts. Making a class object looks its
//! behavior up here.
//!
//! Every definition with its superclass and mixins has one behavior, which is made when a class object first needs it and stays
//! for good. A guest computes as many superclasses as it likes, so guests together get a part of the layouts only. Lookups and
//! the collector's reports find behaviors by layout, without a lock; the lock is for threads that make them.

use std::collections::HashMap;
use std::sync::OnceLock;

use parking_lot::Mutex;
use squall_heap::{Format, LayoutId, slot_kinds};

use crate::model::behavior::{Behavior, BehaviorFault};
use crate::model::known::{FIRST_FREE_NUMBER, KnownClass};
use crate::model::module::Definition;

/// All behaviors.
#[derive(Default)]
pub struct BehaviorTable {
    layouts: LayoutTable,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    /// How many layout numbers are taken, from 0 on.
    numbers: usize,
    by_parts: HashMap<Parts, &'static Behavior>,
}

/// The parts that determine a behavior: addresses of definition, superclass's behavior and mixins.
#[derive(PartialEq, Eq, Hash)]
struct Parts {
    definition: usize,
    superclass: usize,
    mixins: Vec<usize>,
}

impl Parts {
    fn of(
        definition: &Definition,
        superclass: Option<&Behavior>,
        mixins: &[&'static Definition],
    ) -> Parts {
        let address = |definition: &Definition| std::ptr::from_ref(definition) as usize;
        Parts {
            definition: address(definition),
            superclass: superclass.map_or(0, |behavior| std::ptr::from_ref(behavior) as usize),
            mixins: mixins.iter().map(|mixin| address(mixin)).collect(),
        }
    }
}

impl BehaviorTable {
    /// The behavior of instances with this layout.
    #[inline]
    pub fn of_layout(&self, layout: LayoutId) -> Option<&'static Behavior> {
        self.layouts.get(layout)
    }

    /// The behavior for a definition with this superclass and these mixins; made if it is new, together with that of its class
    /// side, and then also answers how many bytes that takes. The class side of a class without a superclass inherits from
    /// `root_of_class_sides`.
    pub fn of_parts(
        &self,
        definition: &'static Definition,
        superclass: Option<&'static Behavior>,
        mixins: &[&'static Definition],
        root_of_class_sides: Option<&'static Behavior>,
        is_for_guest: bool,
    ) -> Result<(&'static Behavior, usize), BehaviorFault> {
        let parts = Parts::of(definition, superclass, mixins);
        let mut made = self.made.lock();
        if let Some(&behavior) = made.by_parts.get(&parts) {
            return Ok((behavior, 0));
        }
        if is_for_guest && made.numbers > MOST_WITH_GUESTS {
            return Err(BehaviorFault::TooMany);
        }
        let class_super = match superclass {
            Some(superclass) => superclass.class_side.get().copied(),
            None => root_of_class_sides,
        };
        let number = made.next_number();
        let behavior = Behavior::instance_side(definition, superclass, mixins, number)?;
        let behavior: &'static Behavior = Box::leak(Box::new(behavior));
        made.register(&self.layouts, behavior.layout, behavior);
        // The slots of fixed layouts are the machine's.
        let is_free = behavior.layout.number() >= FIRST_FREE_NUMBER;
        if is_free && behavior.layout.format() == Format::Slots {
            slot_kinds::register(behavior.layout);
        }
        if let Some(boxed) = definition.known().and_then(KnownClass::boxed_layout) {
            made.register(&self.layouts, boxed, behavior);
        }
        let number = made.next_number();
        let class_side = Box::leak(Box::new(Behavior::class_side(behavior, class_super, number)?));
        made.register(&self.layouts, class_side.layout, class_side);
        _ = class_side.instance_side.set(behavior);
        _ = behavior.class_side.set(class_side);
        made.by_parts.insert(parts, behavior);
        Ok((behavior, behavior.bytes() + class_side.bytes()))
    }
}

/// A guest makes no behavior if more layout numbers than these are taken.
const MOST_WITH_GUESTS: usize = LayoutId::MAX_NUMBER as usize / 4 * 3;

impl Made {
    fn next_number(&self) -> u32 {
        (self.numbers as u32).max(FIRST_FREE_NUMBER)
    }

    fn register(&mut self, layouts: &LayoutTable, layout: LayoutId, behavior: &'static Behavior) {
        self.numbers = self.numbers.max(layout.number() as usize + 1);
        layouts.set(layout, behavior);
    }
}

/// The behaviors by layout, for readers that take no lock: pages that are made when they are needed,
/// of cells that are set once.
struct LayoutTable {
    pages: [OnceLock<LayoutPage>; LAYOUT_PAGES],
}

type LayoutPage = Box<[OnceLock<&'static Behavior>]>;

/// Layout numbers in a page.
const LAYOUT_PAGE: usize = 512;
const LAYOUT_PAGES: usize = (LayoutId::MAX_NUMBER as usize + 1) / LAYOUT_PAGE;

impl Default for LayoutTable {
    fn default() -> LayoutTable {
        LayoutTable { pages: [const { OnceLock::new() }; LAYOUT_PAGES] }
    }
}

impl LayoutTable {
    #[inline]
    fn get(&self, layout: LayoutId) -> Option<&'static Behavior> {
        let number = layout.number() as usize;
        let page = self.pages[number / LAYOUT_PAGE].get()?;
        page[number % LAYOUT_PAGE].get().copied()
    }

    /// The first behavior of a layout stays.
    fn set(&self, layout: LayoutId, behavior: &'static Behavior) {
        let number = layout.number() as usize;
        let page = self.pages[number / LAYOUT_PAGE]
            .get_or_init(|| std::iter::repeat_with(OnceLock::new).take(LAYOUT_PAGE).collect());
        _ = page[number % LAYOUT_PAGE].set(behavior);
    }
}
