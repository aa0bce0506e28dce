//! Isolation: what becomes of a reference that goes from one vat to another.
