//! MMTk's tracer in the form of a [`Tracer`](crate::Tracer). `scanning` makes one, with which the weak parts of the
//! heap and of the runtime ask MMTk whether objects are live.

use super::{object, reference};
use crate::representation::Object;
use crate::tracer::Tracing;
use mmtk::vm::ObjectTracer;

/// MMTk's tracer behind the interface of the heap's one.
pub(super) struct MmtkTracing<'t, T>(pub(super) &'t mut T);

impl<T: ObjectTracer> Tracing for MmtkTracing<'_, T> {
    fn is_live(&self, object: Object) -> bool {
        reference(object).is_reachable()
    }

    fn place(&mut self, pointee: Object) -> Option<Object> {
        let pointee = reference(pointee);
        let live = pointee.is_reachable();
        live.then(|| object(pointee.get_forwarded_object().unwrap_or(pointee)))
    }

    fn trace(&mut self, pointee: Object) -> Object {
        object(self.0.trace_object(reference(pointee)))
    }
}
