//! A random graph and its shadow: each change of the heap's objects is also made to plain Rust data, and the two agree
//! after each collection.

use crate::world::*;
use crate::{Case, case, stressed};
use squall_heap::{CollectionKind, Format, Mutator, Object, RootHandle, Word};
use std::collections::HashMap;

pub const CASES: &[Case] = &[
    stressed("random_graph_1", || random_graph(1)),
    stressed("random_graph_2", || random_graph(2)),
    case("random_graph_3", || random_graph(3)),
    case("random_graph_4", || random_graph(4)),
    case("random_graph_5", || random_graph(5)),
];

/// A value in the shadow.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Number(usize),
    Node(usize),
}

/// An object in the shadow. Its first field holds its number.
struct Node {
    format: Format,
    fields: Vec<Value>,
}

struct Graph {
    state: u64,
    shadow: Vec<Node>,
    /// For each root, the node it holds.
    roots: Vec<usize>,
    handles: Vec<RootHandle>,
}

const ROOTS: usize = 50;

fn random_graph(seed: u64) {
    let mut mutator = start();
    let mut graph = Graph::new(&mut mutator, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for step in 0..scaled(60_000, 300) {
        match graph.choose(100) {
            0..40 => graph.replace_root(&mut mutator),
            40..98 => graph.store(&mut mutator),
            _ if step % 10 == 0 => graph.collect(&mut mutator),
            _ => graph.drop_root(&mut mutator),
        }
    }
    graph.collect(&mut mutator);
    assert!(mutator.heap().collections() > 10);
}

impl Graph {
    fn new(mutator: &mut Mutator, state: u64) -> Graph {
        let mut graph = Graph { state, shadow: Vec::new(), roots: Vec::new(), handles: Vec::new() };
        for _ in 0..ROOTS {
            let (number, object) = graph.new_node(mutator);
            graph.roots.push(number);
            graph.handles.push(mutator.push_root(object.word()));
        }
        graph
    }

    fn choose(&mut self, below: usize) -> usize {
        random(&mut self.state) as usize % below
    }

    /// A new node without edges, of a random shape.
    fn new_node(&mut self, mutator: &mut Mutator) -> (usize, Object) {
        let number = self.shadow.len();
        let (format, length) = match self.choose(20) {
            0 => (Format::Array, 1025 + self.choose(2000)),
            1..10 => (Format::Array, 1 + self.choose(30)),
            _ => (Format::Slots, 2),
        };
        let object = match format {
            Format::Array => mutator.allocate_array(ARRAY, NO_CLASS, length, integer(0)),
            _ => mutator.allocate_slots(PAIR, NO_CLASS),
        };
        let object = object.unwrap();
        let mut fields = vec![Value::Number(0); length];
        fields[0] = Value::Number(number);
        for (index, field) in fields.iter().enumerate() {
            let Value::Number(value) = *field else {
                continue;
            };
            initialize(object, index, integer(value));
        }
        self.shadow.push(Node { format, fields });
        (number, object)
    }

    fn replace_root(&mut self, mutator: &mut Mutator) {
        let root = self.choose(ROOTS);
        let (number, object) = self.new_node(mutator);
        // Half of the new nodes refer to the old one.
        if self.choose(2) == 0 && self.shadow[number].fields.len() > 1 {
            let old = mutator.get(self.handles[root]);
            set(mutator, object, 1, old);
            self.shadow[number].fields[1] = Value::Node(self.roots[root]);
        }
        self.roots[root] = number;
        mutator.set(self.handles[root], object.word());
    }

    fn drop_root(&mut self, mutator: &mut Mutator) {
        let (from, to) = (self.choose(ROOTS), self.choose(ROOTS));
        self.roots[to] = self.roots[from];
        mutator.set(self.handles[to], mutator.get(self.handles[from]));
    }

    /// Stores a root, or a number, into a node a few steps from another root.
    fn store(&mut self, mutator: &mut Mutator) {
        let root = self.choose(ROOTS);
        let (number, object) = self.walk(mutator, root);
        let length = self.shadow[number].fields.len();
        if length == 1 {
            return;
        }
        let field = 1 + self.choose(length - 1);
        let source = self.choose(ROOTS + 10);
        let (value, word) = match self.handles.get(source) {
            Some(&handle) => (Value::Node(self.roots[source]), mutator.get(handle)),
            None => (Value::Number(source), integer(source)),
        };
        set(mutator, object, field, word);
        self.shadow[number].fields[field] = value;
    }

    fn walk(&mut self, mutator: &Mutator, root: usize) -> (usize, Object) {
        let mut number = self.roots[root];
        let mut object = object(mutator, self.handles[root]);
        for _ in 0..self.choose(6) {
            let field = self.choose(self.shadow[number].fields.len());
            let Value::Node(next) = self.shadow[number].fields[field] else {
                break;
            };
            object = get(object, field).as_object().expect("an edge");
            number = next;
        }
        (number, object)
    }

    fn collect(&mut self, mutator: &mut Mutator) {
        let kind = if self.choose(4) == 0 { CollectionKind::Full } else { CollectionKind::Nursery };
        mutator.collect(kind);
        self.check(mutator);
    }

    /// Walks heap and shadow in parallel; each node has exactly one object.
    fn check(&self, mutator: &Mutator) {
        let mut objects: HashMap<usize, Object> = HashMap::new();
        let roots = self.roots.iter().zip(&self.handles);
        let mut waiting: Vec<(usize, Object)> =
            roots.map(|(&number, &handle)| (number, object(mutator, handle))).collect();
        while let Some((number, object)) = waiting.pop() {
            if let Some(known) = objects.insert(number, object) {
                assert_eq!(known, object, "node {number} has one object");
                continue;
            }
            let node = &self.shadow[number];
            assert_eq!(object.layout().format(), node.format);
            for (index, &field) in node.fields.iter().enumerate() {
                let word = get(object, index);
                match field {
                    Value::Number(value) => assert_eq!(word, integer(value)),
                    Value::Node(next) => waiting.push((next, word.as_object().expect("an edge"))),
                }
            }
        }
    }
}

fn get(object: Object, index: usize) -> Word {
    if object.layout() == PAIR { object.slot(index) } else { object.element(index) }
}

fn set(mutator: &mut Mutator, object: Object, index: usize, value: Word) {
    if object.layout() == PAIR {
        object.set_slot(mutator, index, value);
    } else {
        object.set_element(mutator, index, value);
    }
}

fn initialize(object: Object, index: usize, value: Word) {
    if object.layout() == PAIR {
        object.initialize_slot(index, value);
    } else {
        object.initialize_element(index, value);
    }
}
