// What the tests of this extension use without an editor.

export * from "./outline";
