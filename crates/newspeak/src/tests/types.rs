//! Type annotations: every form in every place where one may stand, and nowhere in the tree.

use super::tree;
use crate::dump;

const TYPES: &[&str] = &[
    "<MyType>",
    "<List[FooBar]>",
    "<[:FooBar]>",
    "<[:String :ObjectMirror]>",
    "<List[Promise[V, E]]>",
    "<WeakMap[FarReference, InternalFarReference]>",
    "<[:V | V2 def]>",
    "<[:Promise | R def] | [R def]>",
    "<{String. Foobar}>",
    "<A|B | C>",
    "<[X def]>",
    "<[]>",
    "<{}>",
    "<{A. B.}>",
    "<(A | B) / C>",
    "<name: String>",
    "<Point {x. y}>",
];

/// Programs with a place for a type, marked `@`.
const PLACES: &[&str] = &[
    "class T x: x @ = ()()",
    "class T x: x@y: y@= ()()",
    "class T ^@ = ()()",
    "class T new ^ @= ()()",
    "class T = (| a @ |)()",
    "class T = (| a@|)()",
    "class T = (| a @ b@ |)()",
    "class T = (| a @ = 1. b @::= 2. |)()",
    "class T = (| a @= 1. |)()",
    "class T = ()(foo ^ @ = ())",
    "class T = ()(foo ^@= ())",
    "class T = ()(at: i @ put: v @ ^ @ = ())",
    "class T = ()(+ other @ = ())",
    "class T = ()(foo = (| a @ b @ = 1. c@ | ))",
    "class T = ()(foo = ([:a @ | a]))",
    "class T = ()(foo = ([:a @ :b @| a]))",
    "class T = ()(foo = ([:a @| | b @| b]))",
    "class T = ()(foo = ([:a @|| b @| b]))",
];

#[test]
fn every_type_in_every_place() {
    for place in PLACES {
        let untyped =
            dump::ast(&tree(&place.replace("^@", "").replace("^ @", "").replace('@', " ")));
        for annotation in TYPES {
            // A keyword cannot be told from `name:` inside a type.
            let text = place.replace('@', annotation).replace("name: String", "name : String");
            assert_eq!(dump::ast(&tree(&text)), untyped, "{text}");
        }
    }
}
