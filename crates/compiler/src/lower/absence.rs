//! What exits store of objects that are absent. `function` asks for each exit.

use crate::code::{AbsentObject, Form};
use crate::ir::Unit;
use crate::ir::entities::Value;
use crate::ir::operations::Op;
use crate::ir::values::Place;

/// The objects that an exit makes, and the parts that it stores for them.
pub(super) struct Absence {
    /// The objects, each after those that it holds.
    pub objects: Vec<AbsentObject>,
    /// Where the parts go that are no absent objects.
    pub stores: Vec<(Place, Value)>,
    /// The first place after those of parts and objects.
    pub end: u32,
    /// The absent objects that are known, and the place that each gets first.
    made: Vec<(Value, u32)>,
}

impl Absence {
    /// What an exit with these words in its places makes. Parts and objects lie from a place on that nothing else uses.
    pub fn of(unit: &Unit, values: &[(Place, Value)], first: u32) -> Absence {
        let (objects, stores, made) = (Vec::new(), Vec::new(), Vec::new());
        let mut absence = Absence { objects, stores, end: first, made };
        for &(place, value) in values.iter().filter(|(_, value)| unit.is_absent(*value)) {
            let own = absence.make(unit, unit.root(value));
            let mut objects = absence.objects.iter_mut();
            let object = objects.find(|object| object.places[0] == own);
            object.expect("it was made").places.push(place.0);
        }
        absence
    }

    /// The place of an absent object.
    fn make(&mut self, unit: &Unit, object: Value) -> u32 {
        if let Some(&(_, place)) = self.made.iter().find(|(made, _)| *made == object) {
            return place;
        }
        let inst = unit.definition(object).expect("the value is an absent object");
        let parts = inst.arguments.iter().map(|&part| self.part(unit, part));
        let mut parts: Vec<u32> = parts.collect();
        let form = match inst.op {
            Op::AbsentObject(layout) => Form::Slots { layout, class: parts.remove(0) },
            Op::AbsentClosure(function) => Form::Closure(function),
            _ => Form::Context,
        };
        let place = self.take();
        self.made.push((object, place));
        self.objects.push(AbsentObject { form, parts, places: vec![place] });
        place
    }

    fn part(&mut self, unit: &Unit, part: Value) -> u32 {
        let root = unit.root(part);
        if unit.is_absent(root) {
            return self.make(unit, root);
        }
        let place = self.take();
        self.stores.push((Place(place), part));
        place
    }

    fn take(&mut self) -> u32 {
        self.end += 1;
        self.end - 1
    }
}
