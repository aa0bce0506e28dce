//! Every request, in a project of two programs.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::client::{Client, address, applied};

const SHOP: &str = "\
(* A shop. *)
class Shop usingPlatform: platform = (
| private Vector = platform kernel Vector.
  private sold ::= 0. |
)(
  (* Something that can be bought. *)
  class Item name: name price: price = (
  | public name = name.
    public price ::= price. |
  )(
    (* The price with a tax in percent. *)
    public priceWith: tax = ( ^ price + (price * tax / 100) )

    public move: count to: place = ( ^ place take: count of: self )
  ) : (
    public free: name = ( ^ self name: name price: 0 )
  )

  (* Sells a pen. *)
  public main: arguments = (
    | items = Vector new. pen = Item name: 'pen' price: 3. |
    items append: pen.
    items do: [:item | sold:: sold + (item priceWith: 20) ].
    pen price: 4.
    pen move: 2 to: self.
    ^ 0
  )

  public take: count of: item = ( ^ count )
)
";

const OTHER: &str = "\
class Other usingPlatform: platform = ()(
  public main: arguments = (
    | shop |
    (shop priceWith: 3) println.
    shop move: 1 to: 2.
    shop price: 5; price.
    ^ shop sold
  )
)
";

fn client() -> Client {
    let mut client = Client::new(&[("shop.ns", SHOP), ("other.ns", OTHER)]);
    client.open("shop.ns", SHOP);
    client
}

/// The answer to a request about a place, in short.
fn check(method: &str, word: &str, number: usize, expected: Expect) {
    let mut client = client();
    let place = client.place("shop.ns", word, number);
    let answer = client.request(&format!("textDocument/{method}"), place);
    expected.assert_eq(&client.locations(&answer));
}

#[test]
fn definitions_follow_what_is_known_of_the_receiver() {
    // A variable, a member of a class around, a member of a known class, one of the library, one of an unknown receiver.
    check(
        "definition",
        "pen price",
        1,
        expect![[r#"
        shop.ns:21 "pen"
    "#]],
    );
    check(
        "definition",
        "sold + ",
        1,
        expect![[r#"
        shop.ns:4 "sold"
    "#]],
    );
    check(
        "definition",
        "Item name: 'pen'",
        1,
        expect![[r#"
        shop.ns:7 "Item"
    "#]],
    );
    check(
        "definition",
        "name: 'pen'",
        1,
        expect![[r#"
        shop.ns:7 "name:"
    "#]],
    );
    check(
        "definition",
        "price: 4",
        1,
        expect![[r#"
        shop.ns:9 "price"
    "#]],
    );
    check(
        "definition",
        "append:",
        1,
        expect![[r#"
        Kernel.ns
    "#]],
    );
    check(
        "definition",
        "priceWith: 20",
        1,
        expect![[r#"
        shop.ns:12 "priceWith:"
    "#]],
    );
    check(
        "definition",
        "kernel",
        1,
        expect![[r#"
        Platform.ns
    "#]],
    );
}

#[test]
fn implementors_are_those_of_all_classes() {
    check(
        "implementation",
        "main:",
        1,
        expect![[r#"
        Bytecode.ns
        other.ns:2 "main:"
        shop.ns:20 "main:"
    "#]],
    );
    check(
        "implementation",
        "price: 4",
        1,
        expect![[r#"
        shop.ns:9 "price"
    "#]],
    );
}

#[test]
fn references_are_uses_of_a_variable_or_senders_of_a_message() {
    let references = |word: &str, number: usize, expected: Expect| {
        let mut client = client();
        let mut place = client.place("shop.ns", word, number);
        place["context"] = json!({ "includeDeclaration": true });
        let answer = client.request("textDocument/references", place);
        expected.assert_eq(&client.locations(&answer));
    };
    references(
        "pen = Item",
        1,
        expect![[r#"
        shop.ns:21 "pen"
        shop.ns:22 "pen"
        shop.ns:24 "pen"
        shop.ns:25 "pen"
    "#]],
    );
    references(
        "priceWith: tax",
        1,
        expect![[r#"
        other.ns:4 "priceWith:"
        shop.ns:12 "priceWith:"
        shop.ns:23 "priceWith:"
    "#]],
    );
    references(
        "move: 2",
        1,
        expect![[r#"
        other.ns:5 "move:"
        shop.ns:14 "move:"
        shop.ns:25 "move:"
    "#]],
    );
}

#[test]
fn folders_that_are_closed_are_forgotten() {
    let mut client = client();
    let names = |client: &mut Client| {
        let found = client.request("workspace/symbol", json!({ "query": "" }));
        let found = found.as_array().cloned().unwrap_or_default();
        let uri = |symbol: &Value| symbol["location"]["uri"].as_str().unwrap_or("").to_owned();
        found.iter().map(uri).collect::<std::collections::BTreeSet<_>>()
    };
    let both = [address("other.ns"), address("shop.ns")];
    assert!(both.iter().all(|uri| names(&mut client).contains(uri)));
    let folder = json!([{ "uri": "file:///project", "name": "project" }]);
    let change =
        |added: &Value, removed: &Value| json!({ "event": { "added": added, "removed": removed } });
    client.notify("workspace/didChangeWorkspaceFolders", change(&json!([]), &folder));
    let left = names(&mut client);
    // The text that is open stays.
    assert!(!left.contains(&both[0]) && left.contains(&both[1]), "{left:?}");
    client.notify("workspace/didChangeWorkspaceFolders", change(&folder, &json!([])));
    assert!(both.iter().all(|uri| names(&mut client).contains(uri)));
}

#[test]
fn uses_in_the_text_are_highlighted() {
    let mut client = client();
    let place = client.place("shop.ns", "item |", 1);
    let answer = client.request("textDocument/documentHighlight", place);
    let ranges: Vec<String> = answer
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| client.shown(&json!(address("shop.ns")), &one["range"]))
        .collect();
    expect![[r#"
        shop.ns:23 "item"
        shop.ns:23 "item""#]]
    .assert_eq(&ranges.join("\n"));
}

#[test]
fn names_say_what_they_are() {
    let hover = |word: &str, expected: Expect| {
        let mut client = client();
        let place = client.place("shop.ns", word, 1);
        let answer = client.request("textDocument/hover", place);
        expected.assert_eq(answer["contents"]["value"].as_str().unwrap_or("nothing"));
    };
    hover(
        "priceWith: 20",
        expect![[r#"
        ```newspeak
        public priceWith: tax
        ```
        *Shop.Item*

        The price with a tax in percent."#]],
    );
    hover(
        "append:",
        expect![[r#"
        ```newspeak
        public append: object
        ```
        *Kernel.Vector*

        Adds the argument at the end; answers the receiver."#]],
    );
    hover(
        "items append:",
        expect![[r#"
        ```newspeak
        items = Vector new.
        ```
        *a local variable*

        value: `Vector`"#]],
    );
    hover("(* A shop", expect!["nothing"]);
}

#[test]
fn names_can_be_changed_everywhere() {
    let rename = |word: &str, new: &str, expected: Expect| {
        let mut client = client();
        let mut place = client.place("shop.ns", word, 1);
        let prepared = client.request("textDocument/prepareRename", place.clone());
        place["newName"] = new.into();
        let shown = match client.ask("textDocument/rename", place) {
            Err(reason) => reason,
            Ok(edit) => {
                let texts = client.edited(&edit);
                let changed = |name: &str, old: &str| {
                    let new = texts[&address(name)].clone();
                    let lines = old.lines().zip(new.lines()).filter(|(old, new)| old != new);
                    lines.map(|(_, new)| format!("{name}: {}\n", new.trim())).collect::<String>()
                };
                let word = client.shown(&json!(address("shop.ns")), &prepared);
                format!("{word}\n{}{}", changed("shop.ns", SHOP), changed("other.ns", OTHER))
            }
        };
        expected.assert_eq(&shown);
    };
    rename(
        "pen = Item",
        "pencil",
        expect![[r#"
        shop.ns:21 "pen"
        shop.ns: | items = Vector new. pencil = Item name: 'pen' price: 3. |
        shop.ns: items append: pencil.
        shop.ns: pencil price: 4.
        shop.ns: pencil move: 2 to: self.
    "#]],
    );
    rename(
        "priceWith: tax",
        "priceAt:",
        expect![[r#"
        shop.ns:12 "priceWith"
        shop.ns: public priceAt: tax = ( ^ price + (price * tax / 100) )
        shop.ns: items do: [:item | sold:: sold + (item priceAt: 20) ].
        other.ns: (shop priceAt: 3) println.
    "#]],
    );
    rename(
        "move: 2",
        "carry",
        expect![[r#"
        shop.ns:25 "move"
        shop.ns: public carry: count to: place = ( ^ place take: count of: self )
        shop.ns: pen carry: 2 to: self.
        other.ns: shop carry: 1 to: 2.
    "#]],
    );
    rename(
        "price ::=",
        "cost",
        expect![[r#"
        shop.ns:9 "price"
        shop.ns: public cost ::= price. |
        shop.ns: public priceWith: tax = ( ^ cost + (cost * tax / 100) )
        shop.ns: pen cost: 4.
        other.ns: shop cost: 5; cost.
    "#]],
    );
    rename(
        "sold ::=",
        "revenue",
        expect![[r#"
        shop.ns:4 "sold"
        shop.ns: private revenue ::= 0. |
        shop.ns: items do: [:item | revenue:: revenue + (item priceWith: 20) ].
    "#]],
    );
    rename(
        "Item name: name",
        "Thing1",
        expect![[r#"
        shop.ns:7 "Item"
        shop.ns: class Thing1 name: name price: price = (
        shop.ns: | items = Vector new. pen = Thing1 name: 'pen' price: 3. |
    "#]],
    );
    rename("append:", "push:", expect!["`append:` belongs to the library, too"]);
    rename(
        "move: 2",
        "carry:",
        expect!["`carry:` takes another number of arguments than `move:to:`"],
    );
    rename(
        "move: 2",
        "carry:over:",
        expect![[r#"
        shop.ns:25 "move"
        shop.ns: public carry: count over: place = ( ^ place take: count of: self )
        shop.ns: pen carry: 2 over: self.
        other.ns: shop carry: 1 over: 2.
    "#]],
    );
    rename("pen = Item", "self", expect!["`self` is no name"]);
}

#[test]
fn a_text_has_an_outline() {
    let mut client = client();
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") } });
    let answer = client.request("textDocument/documentSymbol", parameters);
    let mut shown = String::new();
    outline(&answer, 0, &mut shown);
    expect![[r#"
        Shop (2)
          Vector (14)
          sold (8)
          Item (5)
            name (14)
            price (8)
            priceWith: (6)
            move:to: (6)
            free: (12)
          main: (6)
          take:of: (6)
    "#]]
    .assert_eq(&shown);
}

fn outline(symbols: &Value, depth: usize, shown: &mut String) {
    for symbol in symbols.as_array().into_iter().flatten() {
        let (name, kind) = (symbol["name"].as_str().unwrap_or_default(), &symbol["kind"]);
        *shown += &format!("{}{name} ({kind})\n", "  ".repeat(depth));
        outline(&symbol["children"], depth + 1, shown);
    }
}

#[test]
fn names_are_searched_in_all_texts() {
    let mut client = client();
    let answer = client.request("workspace/symbol", json!({ "query": "pri" }));
    let found: Vec<String> = answer
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| format!("{} in {}", one["name"], one["containerName"]))
        .collect();
    expect![[r#"
        "price" in "Item"
        "priceWith:" in "Item""#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn words_are_highlighted_by_their_meaning() {
    let mut client = client();
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") } });
    let answer = client.request("textDocument/semanticTokens/full", parameters);
    let legend = [
        "class",
        "method",
        "property",
        "variable",
        "parameter",
        "keyword",
        "string",
        "number",
        "comment",
        "operator",
        "symbol",
        "modifier",
    ];
    let (mut line, mut column) = (0, 0);
    let mut shown = String::new();
    let lines: Vec<&str> = SHOP.lines().collect();
    for token in answer["data"].as_array().expect("numbers").chunks(5).take(40) {
        let numbers: Vec<usize> =
            token.iter().map(|number| number.as_u64().expect("a number") as usize).collect();
        line += numbers[0];
        column = if numbers[0] == 0 { column + numbers[1] } else { numbers[1] };
        let text = &lines[line][column..column + numbers[2]];
        shown += &format!("{text} {}\n", legend[numbers[3]]);
    }
    expect![[r#"
        (* A shop. *) comment
        class keyword
        Shop class
        usingPlatform: method
        platform parameter
        private modifier
        Vector property
        platform parameter
        kernel method
        Vector class
        private modifier
        sold property
        0 number
        (* Something that can be bought. *) comment
        class keyword
        Item class
        name: method
        name parameter
        price: method
        price parameter
        public modifier
        name property
        name parameter
        public modifier
        price property
        price parameter
        (* The price with a tax in percent. *) comment
        public modifier
        priceWith: method
        tax parameter
        price property
        + operator
        price property
        * operator
        tax parameter
        / operator
        100 number
        public modifier
        move: method
        count parameter
    "#]]
    .assert_eq(&shown);
    let range =
        json!({ "start": { "line": 20, "character": 0 }, "end": { "line": 21, "character": 0 } });
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") }, "range": range });
    let part = client.request("textDocument/semanticTokens/range", parameters);
    assert_eq!(part["data"].as_array().map(Vec::len), Some(5 * 9));
}

#[test]
fn brackets_and_comments_can_be_folded() {
    let mut client = client();
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") } });
    let answer = client.request("textDocument/foldingRange", parameters);
    let folds = answer.as_array().expect("a list").iter();
    let shown: Vec<String> =
        folds.map(|one| format!("{}-{}", one["startLine"], one["endLine"])).collect();
    expect!["1-3 4-28 6-8 9-13 14-15 19-25"].assert_eq(&shown.join(" "));
}

#[test]
fn selections_grow_with_the_program() {
    let mut client = client();
    let place = client.place("shop.ns", "tax / 100", 1);
    let parameters =
        json!({ "textDocument": place["textDocument"], "positions": [place["position"]] });
    let answer = client.request("textDocument/selectionRange", parameters);
    let (mut range, mut shown) = (&answer[0], Vec::new());
    while range.is_object() {
        let text = client.shown(&json!(address("shop.ns")), &range["range"]);
        shown.push(text.chars().take(60).collect::<String>());
        range = &range["parent"];
    }
    expect![[r#"
        shop.ns:12 "tax"
        shop.ns:12 "* tax"
        shop.ns:12 "price * tax"
        shop.ns:12 "(price * tax / 100)"
        shop.ns:12 "+ (price * tax / 100)"
        shop.ns:12 "price + (price * tax / 100)"
        shop.ns:12 "( ^ price + (price * tax / 100) )"
        shop.ns:12 "public priceWith: tax = ( ^ price + (price * tax
        shop.ns:10 "(\n    (* The price with a tax in percent. *)\n 
        shop.ns:7 "class Item name: name price: price = (\n  | publi
        shop.ns:5 "(\n  (* Something that can be bought. *)\n  class
        shop.ns:2 "class Shop usingPlatform: platform = (\n| private
        shop.ns:1 "(* A shop. *)\nclass Shop usingPlatform: platform"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn signatures_are_known_while_a_message_is_written() {
    let mut client = client();
    client.open("shop.ns", &SHOP.replace("pen price: 4.", "pen move: 4 to: "));
    let place = client.end("shop.ns", "pen move: 4 to: ", 1);
    let answer = client.request("textDocument/signatureHelp", place);
    let labels: Vec<String> = answer["signatures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["label"].to_string())
        .collect();
    expect![[r#""public move: count to: place" 1"#]].assert_eq(&format!(
        "{} {}",
        labels.join(" "),
        answer["activeParameter"]
    ));
}

#[test]
fn calls_have_a_hierarchy() {
    let mut client = client();
    let place = client.place("shop.ns", "priceWith: tax", 1);
    let items = client.request("textDocument/prepareCallHierarchy", place);
    let names = |calls: &Value, end: &str| {
        let calls = calls.as_array().cloned().unwrap_or_default();
        let shown =
            calls.iter().map(|call| format!("{} of {}", call[end]["name"], call[end]["detail"]));
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown.join("\n")
    };
    let callers = client.request("callHierarchy/incomingCalls", json!({ "item": items[0] }));
    expect![[r#"
        "main:" of "Other"
        "main:" of "Shop""#]]
    .assert_eq(&names(&callers, "from"));
    let place = client.place("shop.ns", "move: count", 1);
    let items = client.request("textDocument/prepareCallHierarchy", place);
    let called = client.request("callHierarchy/outgoingCalls", json!({ "item": items[0] }));
    expect![[r#""take:of:" of "Shop""#]].assert_eq(&names(&called, "to"));
}

#[test]
fn known_values_are_hinted_at() {
    let mut client = client();
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") }, "range": range });
    let answer = client.request("textDocument/inlayHint", parameters);
    let hints = answer.as_array().expect("a list").iter();
    let shown: Vec<String> =
        hints.map(|one| format!("{}{}", one["position"]["line"], one["label"])).collect();
    expect![[r#"
        20": Vector"
        20": Item""#]]
    .assert_eq(&shown.join("\n"));
}

// Completion

/// The first items behind some text in the method `main:`, with the rest of the program after it.
fn completed(statement: &str, expected: Expect) {
    let mut client = client();
    client.open("shop.ns", &SHOP.replace("pen price: 4.", statement));
    let place = client.end("shop.ns", statement, 1);
    let answer = client.request("textDocument/completion", place);
    let items = answer["items"].as_array().expect("a list").iter().take(6);
    let shown: Vec<String> = items
        .map(|item| {
            format!(
                "{} ({})",
                item["textEdit"]["newText"].as_str().unwrap_or("?"),
                item["detail"].as_str().unwrap_or("")
            )
        })
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn completion_knows_the_receiver() {
    completed(
        "pen pr",
        expect![[r#"
        price (Item)
        price: ${1} (Item)
        priceWith: ${1} (Item)
        print (Thing)
        println (Thing)"#]],
    );
    completed(
        "items app",
        expect![[r#"
        append: ${1} (Vector)
        appendAll: ${1} (Vector)"#]],
    );
    completed("Item fr", expect!["free: ${1} (Item)"]);
    completed(
        "'text' subs",
        expect![[r#"
        substringFrom: ${1} (String)
        substringFrom: ${1} to: ${2} (String)
        subclassResponsibility (Thing)"#]],
    );
    completed("self ta", expect!["take: ${1} of: ${2} (Shop)"]);
    completed(
        "(pen pri",
        expect![[r#"
        price (Item)
        price: ${1} (Item)
        priceWith: ${1} (Item)
        print (Thing)
        println (Thing)"#]],
    );
    completed(
        "items do: [:each | pen pri",
        expect![[r#"
        price (Item)
        price: ${1} (Item)
        priceWith: ${1} (Item)
        print (Thing)
        println (Thing)"#]],
    );
    completed(
        "items append: (pen pri",
        expect![[r#"
        price (Item)
        price: ${1} (Item)
        priceWith: ${1} (Item)
        print (Thing)
        println (Thing)"#]],
    );
}

#[test]
fn completion_knows_the_names_around() {
    completed(
        "^ ite",
        expect![[r#"
            items (local)
            Item (Shop)
            isInteger (Thing)
            IdentitySet (in `platform collections`)
            Integer (in `platform kernel`)"#]],
    );
    completed(
        "sold:: sol",
        expect![[r#"
        sold (Shop)
        sold: ${1} (Shop)
        subclassResponsibility (Thing)
        StackOverflow (in `platform kernel`)
        SubclassResponsibility (in `platform kernel`)
        Symbol (in `platform kernel`)"#]],
    );
    completed(
        "Dictio",
        expect![[r#"
        Dictionary (in `platform collections`)
        DictionaryMixin (in `platform kernel`)
        DictionaryReadMixin (in `platform collections`)"#]],
    );
    completed("'a pen", expect![[""]]);
    completed("(* pen", expect![[""]]);
}

// Mistakes

#[test]
fn mistakes_are_published_after_each_change() {
    let mut client = client();
    assert_eq!(client.mistakes("shop.ns"), [] as [Value; 0]);
    let place = SHOP.find("items append: pen").expect("it is there");
    client.change("shop.ns", place..place + 5, "itens");
    let mistakes = client.mistakes("shop.ns");
    expect![[r#"
        nothing is called `itens` here (no variable, no member of the classes around, not inherited by Shop)
        did you mean `items`?"#]].assert_eq(mistakes[0]["message"].as_str().expect("a text"));
    assert_eq!(mistakes[0]["code"], "undeclared-name");
    client.change("shop.ns", place..place + 5, "items");
    assert_eq!(client.mistakes("shop.ns"), [] as [Value; 0]);
    client
        .notify("textDocument/didClose", json!({ "textDocument": { "uri": address("shop.ns") } }));
    assert_eq!(client.mistakes("shop.ns"), [] as [Value; 0]);
}

/// The lines that a remedy changes, for each remedy of the mistakes in some statements in place of one of `main:`.
fn remedied(statement: &str, expected: Expect) {
    let mut client = client();
    let text = SHOP.replace("pen price: 4.", statement);
    client.open("shop.ns", &text);
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") }, "range": range, "context": { "diagnostics": [] } });
    let answer = client.request("textDocument/codeAction", parameters);
    let mut shown = String::new();
    for action in answer.as_array().expect("a list") {
        let changed = applied(&text, &action["edit"]["changes"][address("shop.ns")]);
        let old: Vec<&str> = text.lines().collect();
        let lines: Vec<&str> = changed
            .lines()
            .map(str::trim)
            .filter(|line| !old.iter().any(|old| old.trim() == *line))
            .collect();
        shown +=
            &format!("{}: {}\n", action["title"].as_str().unwrap_or_default(), lines.join(" / "));
    }
    expected.assert_eq(&shown);
}

#[test]
fn remedies_are_changes_of_the_text() {
    remedied(
        "pen prices: 4.",
        expect![[r#"
        write `price:`: pen price: 4.
    "#]],
    );
    remedied(
        "Dictionary new println.",
        expect![[r#"
        add the slot `private Dictionary = platform collections Dictionary.`: private sold ::= 0. / private Dictionary = platform collections Dictionary. |
    "#]],
    );
    remedied(
        "count:: 3.",
        expect![[r#"
        declare the local `count`: | items = Vector new. pen = Item name: 'pen' price: 3. count |
        add the slot `private count ::= nil.`: private sold ::= 0. / private count ::= nil. |
    "#]],
    );
    remedied(
        "pen name: 3. name:: 4.",
        expect![[r#"
        declare the local `name`: | items = Vector new. pen = Item name: 'pen' price: 3. name |
        add the slot `private name ::= nil.`: private sold ::= 0. / private name ::= nil. |
    "#]],
    );
    remedied(
        "pen price: 4\n    pen price: 5.",
        expect![[r#"
        add the period: pen price: 4.
    "#]],
    );
    remedied(
        "pen price:4. ^ 3 -1.",
        expect![[r#"
        add the space: pen price:4. ^ 3 - 1.
    "#]],
    );
    remedied(
        "16 ifTrue: (pen println).",
        expect![[r#"
        put it into a block: 16 ifTrue: [ pen println ].
    "#]],
    );
    remedied(
        "pen.price println.",
        expect![[r#"
        write a space: pen price println.
    "#]],
    );
    remedied(
        "0x1F println.",
        expect![[r#"
        write `16r1F`: 16r1F println.
    "#]],
    );
    remedied(
        "[ | unused | ] value.",
        expect![[r#"
        remove the local: [ |  | ] value.
    "#]],
    );
}

// Layout, assembly, strangers

#[test]
fn texts_are_laid_out() {
    let mut client = client();
    let text =
        SHOP.replace("    items append: pen.\n", "  items   append: pen.\n").replace("^ 0", "^0");
    client.open("shop.ns", &text);
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let parameters = json!({ "textDocument": { "uri": address("shop.ns") }, "options": options });
    let edits = client.request("textDocument/formatting", parameters.clone());
    assert_eq!(applied(&text, &edits), SHOP);
    let line = text.lines().position(|line| line.contains("  append: pen")).expect("it is there");
    let mut part = parameters.clone();
    part["range"] = json!({ "start": { "line": line, "character": 3 }, "end": { "line": line, "character": 4 } });
    let edits = client.request("textDocument/rangeFormatting", part);
    assert_eq!(applied(&text, &edits), SHOP.replace("^ 0", "^0"));
    client.open("shop.ns", "class Shop = (");
    assert_eq!(client.request("textDocument/formatting", parameters), Value::Null);
}

const ASSEMBLY: &str = "\
function $count \"count\" (1) -> i64 {
    registers i64*2
    load_raw           r1, i64 1
    jump               end
end:
    return             r1
}
";

#[test]
fn the_text_form_of_bytecode_is_known_too() {
    let mut client = client();
    client.open("text.sqasm", &ASSEMBLY.replace("r1, i64 1", "r9, i64 1"));
    let mistakes = client.mistakes("text.sqasm");
    expect![[r#"{"character":4,"line":2} "`load_raw`: r9 does not exist\nin count""#]]
        .assert_eq(&format!("{} {}", mistakes[0]["range"]["start"], mistakes[0]["message"]));
    client.open("text.sqasm", ASSEMBLY);
    assert_eq!(client.mistakes("text.sqasm"), [] as [Value; 0]);
    let place = client.place("text.sqasm", "load_raw", 1);
    let hover = client.request("textDocument/hover", place);
    expect!["`load_raw` destination, constant : destination := the bits of constant – The constant's type is the destination's."].assert_eq(hover["contents"]["value"].as_str().expect("a text"));
    let place = client.place("text.sqasm", "end", 1);
    let answer = client.request("textDocument/definition", place);
    expect![[r#"
        text.sqasm:5 "end"
    "#]]
    .assert_eq(&client.locations(&answer));
    let text = json!({ "textDocument": { "uri": address("text.sqasm") } });
    let symbols = client.request("textDocument/documentSymbol", text.clone());
    assert_eq!(symbols[0]["name"], "count");
    let folds = client.request("textDocument/foldingRange", text.clone());
    assert_eq!(folds[0]["endLine"], 5);
    let place = client.place("text.sqasm", "load_raw", 1);
    let items = client.request("textDocument/completion", place);
    assert!(items.as_array().expect("a list").iter().any(|item| item["label"] == "load_raw"));
    client.open("text.sqasm", &ASSEMBLY.replace("    ", " "));
    let edits = client.request("textDocument/formatting", text);
    assert_eq!(applied(&client.texts[&address("text.sqasm")].clone(), &edits), ASSEMBLY);
}

#[test]
fn requests_that_make_no_sense_are_refused_or_empty() {
    let mut client = client();
    assert!(client.ask("textDocument/moniker", json!({})).is_err());
    assert!(client.ask("textDocument/hover", json!({ "textDocument": 3 })).is_err());
    let nowhere = json!({ "textDocument": { "uri": "untitled:Untitled-1" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(client.request("textDocument/hover", nowhere), Value::Null);
    let mut behind = client.place("shop.ns", "class", 1);
    behind["position"] = json!({ "line": 4_000_000, "character": 4_000_000 });
    assert_eq!(client.request("textDocument/hover", behind), Value::Null);
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "file:///x.ns", "version": 1 }, "contentChanges": [] }),
    );
    client.notify("textDocument/didOpen", json!("nonsense"));
    assert!(
        client
            .request(
                "textDocument/documentSymbol",
                json!({ "textDocument": { "uri": address("shop.ns") } })
            )
            .is_array()
    );
}

#[test]
fn packages_are_known_and_stay_as_they_are() {
    let package = "class Phrases usingPlatform: platform = Value ()(\n  (* A way past a place. *)\n  public passing: place = ( ^ place )\n)";
    let program = "class Tour usingPlatform: platform = (\n| phrases = platform packages at: #phrases. |\n)(\n  public main: args = ( ^ phrases passing: (self ways: 3) )\n  public ways: count = ( ^ count )\n)";
    let mut client = Client::new(&[("tour.ns", program), ("/packages/phrases/main.ns", package)]);
    client.open("tour.ns", program);
    let place = client.place("tour.ns", "passing:", 1);
    let found = client.request("textDocument/definition", place.clone());
    assert_eq!(found[0]["uri"], "file:///packages/phrases/main.ns");
    let shown = client.request("textDocument/hover", place.clone()).to_string();
    assert!(shown.contains("A way past a place."), "{shown}");
    let renaming = |mut place: serde_json::Value| {
        place["newName"] = "along".into();
        place
    };
    let refused = client.ask("textDocument/rename", renaming(place));
    assert_eq!(refused.expect_err("it is of a package"), "`passing:` belongs to a package, too");
    let own = client.place("tour.ns", "ways:", 1);
    let edits = client.request("textDocument/rename", renaming(own));
    assert!(edits["changes"]["file:///project/tour.ns"].is_array(), "{edits}");
}
