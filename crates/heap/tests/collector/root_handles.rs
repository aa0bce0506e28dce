//! Root handles are roots until their scope ends.

use crate::world::*;
use crate::{Case, case, stressed};
use squall_heap::{CollectionKind, RootScope, Word};

pub const CASES: &[Case] = &[
    stressed("handles_follow_their_objects", handles_follow_their_objects),
    stressed("scopes_nest", scopes_nest),
    case("closed_scopes_keep_nothing", closed_scopes_keep_nothing),
];

fn handles_follow_their_objects() {
    let mut mutator = start();
    let handles: Vec<_> = (0..1000).map(|index| rooted_pair(&mut mutator, index, 1)).collect();
    for kind in KINDS {
        mutator.collect(kind);
        for (index, &handle) in handles.iter().enumerate() {
            check_pair(mutator.get(handle), index, 1);
        }
    }
    mutator.set(handles[7], Word::TRUE);
    assert_eq!(mutator.get(handles[7]), Word::TRUE);
}

fn scopes_nest() {
    fn list(scope: &mut RootScope<'_>, length: usize) -> Word {
        if length == 0 {
            return Word::NIL;
        }
        let mut inner = scope.scope();
        let first = pair(&mut inner, integer(length), integer(0));
        let first = inner.root(first);
        let rest = list(&mut inner, length - 1);
        let first = inner.get(first);
        pair(&mut inner, first, rest).word()
    }
    let mut mutator = start();
    let outer = rooted_pair(&mut mutator, 5, 6);
    let mut scope = mutator.scope();
    let depth = scope.root_depth();
    let list = list(&mut scope, 100);
    assert_eq!(scope.root_depth(), depth);
    let list = scope.root(list);
    scope.collect(CollectionKind::Full);
    let mut rest = scope.get(list);
    for length in (1..=100).rev() {
        let cell = rest.as_object().expect("a cell");
        check_pair(cell.slot(0), length, 0);
        rest = cell.slot(1);
    }
    drop(scope);
    assert_eq!(mutator.root_depth(), depth);
    check_pair(mutator.get(outer), 5, 6);
}

fn closed_scopes_keep_nothing() {
    let mut mutator = start();
    {
        let mut scope = mutator.scope();
        rooted_array(&mut scope, ARRAY, 10_000_000);
        scope.collect(CollectionKind::Full);
        assert!(scope.heap().statistics().live_bytes >= 80_000_000);
    }
    mutator.collect(CollectionKind::Full);
    assert!(mutator.heap().statistics().live_bytes < 1 << 20);
}
