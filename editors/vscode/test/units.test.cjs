// Tests of what needs no editor. `npm test` builds ../dist/units.js and runs them.

const assert = require("node:assert");
const { test } = require("node:test");
const { Events, placeIn, testsIn, withoutCommentsAndStrings } = require("../dist/units.js");

const MODULE = `(* class Commented testNothing = ( *)
class Tests usingPlatform: platform testFramework: testing = (
| private TestContext = testing TestContext. |
)(
  public class FirstTest = TestContext ()(
    public testOne = ( assert: 'class Text testNo = (' size equals: "'" )
    testTwo = ( )
    private helper = ( )
    public test: argument = ( )
  ) : ( public TEST_CONTEXT = () )

  class Helper = ()( public other = ( ) )
)
`;

test("contexts and tests are found with their lines", () => {
  assert.deepStrictEqual(testsIn(MODULE), [
    {
      name: "FirstTest",
      line: 4,
      tests: [
        { name: "testOne", line: 5, tests: [] },
        { name: "testTwo", line: 6, tests: [] },
      ],
    },
  ]);
});

test("a text without the factory of test modules has none", () => {
  assert.deepStrictEqual(testsIn(MODULE.replace("testFramework:", "other:")), []);
});

test("quotes within quotes end", () => {
  const text = `a "'" b '"' c 'it''s' d '\\'' e """" f (* ' (* " *) *) g "\\" h '' i`;
  const plain = withoutCommentsAndStrings(text);
  assert.strictEqual(plain.length, text.length);
  assert.strictEqual(plain.replace(/ +/g, ""), "abcdefghi");
  assert.strictEqual(withoutCommentsAndStrings("'open\n(*").trim(), "");
  assert.strictEqual(withoutCommentsAndStrings("(* open\n'").trim(), "");
});

test("events come in pieces, between lines of the program", () => {
  const events = new Events();
  assert.deepStrictEqual(events.add('hello\n{"event":"te').others, ["hello"]);
  const { events: found, others } = events.add('st","name":"A.testB","outcome":"passed"}\n{"event": no}\n');
  assert.deepStrictEqual(found, [{ event: "test", name: "A.testB", outcome: "passed" }]);
  assert.deepStrictEqual(others, ['{"event": no}']);
});

test("the place of a failure is the first one", () => {
  const message = "expected 2 (Integer), not 1 (Integer)\n  at C>>testBad (a b/t.ns:1:143)\n  at D>>e (u.ns:2:2)\n";
  assert.deepStrictEqual(placeIn(message), { file: "a b/t.ns", line: 0, column: 142 });
  assert.strictEqual(placeIn("no place"), undefined);
});
