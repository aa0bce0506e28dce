"""A session with a real client over each request that `squall lsp` answers, in Newspeak and in assembly.

    SQUALL=FILE python3 -m pytest tests/editors/test_session.py

The client is that of pytest-lsp, which checks each message against the protocol; it says that it is Visual Studio Code,
Neovim and Emacs in turn. `cargo xtask editors` runs this file if pytest-lsp is installed.
"""

import asyncio
import os

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

SHAPES = """\
(* Shapes, for the tests of editors. *)
class Shapes usingPlatform: platform = Value (
| private Array = platform kernel Array. |
)(
  (* A square. *)
  public class Square side: side = (
  | public side = side.
    private count ::= 0. |
  )(
    (* The area, an Integer. *)
    public area = ( ^ side * side )

    public grow: factor by: more = (
      | sum |
      sum:: side * factor.
      count:: count + 1.
      ^ sum + more
    )
  )

  public class Circle radius: radius = (
  | public radius = radius. |
  )(
    public area = ( ^ 3 * radius * radius )
  )

  public squares = (
    | one  = Square side: 3.
      name = 'square'. |
    (Array new: 2) size println.
    ^ { one area. (one grow: 2 by: 1). name length }
  )
)
"""

USER = """\
class User usingPlatform: platform = Value (
| private shapes = platform kernel. |
)(
  public main: args = (
    shapes area println.
    ^ 0
  )
)
"""

ASSEMBLY = """\
; A function that adds.
module "sums" "1.0.0"

export "sum" $sum

function $sum "sum" (2) -> i64 {
    registers i64*2, i64
    add                r2, r0, r1
    return             r2
}
"""


class Project:
    """Texts in a folder, open in an editor."""

    def __init__(self, client, folder):
        self.client, self.folder = client, folder
        self.texts, self.versions = {}, {}

    def open(self, name, text):
        path = self.folder / name
        uri = path.as_uri()
        self.texts[name], self.versions[name] = text, 1
        language = "sqasm" if name.endswith(".sqasm") else "newspeak"
        item = lsp.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def uri(self, name):
        return (self.folder / name).as_uri()

    def document(self, name):
        return lsp.TextDocumentIdentifier(uri=self.uri(name))

    def position(self, name, words, offset=0):
        """The place of these words in a text, which are there once."""
        text = self.texts[name]
        assert text.count(words) == 1, f"{words!r} is not unique"
        before = text[: text.index(words) + offset]
        return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)

    def at(self, name, words, offset=0):
        return {"text_document": self.document(name), "position": self.position(name, words, offset)}

    def all(self, name):
        return lsp.Range(lsp.Position(0, 0), lsp.Position(self.texts[name].count("\n") + 1, 0))

    def change(self, name, old, new):
        """Types: one incremental change."""
        start = self.position(name, old)
        end = self.position(name, old, len(old))
        self.versions[name] += 1
        self.texts[name] = self.texts[name].replace(old, new)
        identifier = lsp.VersionedTextDocumentIdentifier(version=self.versions[name], uri=self.uri(name))
        change = lsp.TextDocumentContentChangePartial(range=lsp.Range(start, end), text=new)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))

    async def mistakes(self, name, count=None):
        """The mistakes of a text as it is now, when they have come."""
        for _ in range(200):
            found = self.client.diagnostics.get(self.uri(name))
            if found is not None and (count is None or len(found) == count):
                return list(found)
            await asyncio.sleep(0.05)
        raise AssertionError(f"no {count} mistakes of {name}: {found}")

    def applied(self, name, edits):
        """A text after the edits of an answer."""
        text = self.texts[name]
        lines = text.splitlines(keepends=True)
        starts = [sum(map(len, lines[:index])) for index in range(len(lines) + 1)]

        def offset(place):
            return starts[place.line] + place.character if place.line < len(starts) else len(text)

        for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
        return text

    async def remedy(self, name, title):
        """A text after the quick fix with this title."""
        mistakes = self.client.diagnostics[self.uri(name)]
        parameters = lsp.CodeActionParams(
            self.document(name), self.all(name), lsp.CodeActionContext(diagnostics=mistakes)
        )
        actions = await self.client.text_document_code_action_async(parameters)
        titles = [action.title for action in actions]
        matching = [action for action in actions if action.title.startswith(title)]
        assert matching, f"{title} is not among {titles}"
        return self.applied(name, matching[0].edit.changes[self.uri(name)])


def config():
    """How the server is started."""
    return ClientServerConfig(server_command=[os.environ.get("SQUALL", "squall"), "lsp"])


@pytest_lsp.fixture(params=["visual-studio-code", "neovim", "emacs"], config=config())
async def client(request, lsp_client: LanguageClient, tmp_path):
    @lsp_client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(_parameters: lsp.RegistrationParams):
        """The server asks to hear of files that change."""

    tmp_path.joinpath("shapes.ns").write_text(SHAPES)
    tmp_path.joinpath("user.ns").write_text(USER)
    folder = lsp.WorkspaceFolder(uri=tmp_path.as_uri(), name="project")
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(request.param),
            root_uri=tmp_path.as_uri(),
            workspace_folders=[folder],
        )
    )
    lsp_client.project = project = Project(lsp_client, tmp_path)
    project.open("shapes.ns", SHAPES)
    project.open("user.ns", USER)
    project.open("sums.sqasm", ASSEMBLY)
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def project(client):
    return client.project


def names(symbols):
    return [symbol.name for symbol in symbols]


@pytest.mark.asyncio
async def test_mistakes_come_and_go_while_one_types(project):
    assert await project.mistakes("shapes.ns", 0) == []
    project.change("shapes.ns", "^ side * side", "^ side * ")
    found = await project.mistakes("shapes.ns", 1)
    assert found[0].range.start.line == 10
    assert found[0].severity == lsp.DiagnosticSeverity.Error
    project.change("shapes.ns", "^ side *  )", "^ side * side )")
    assert await project.mistakes("shapes.ns", 0) == []


@pytest.mark.asyncio
async def test_mistakes_in_assembly(project):
    assert await project.mistakes("sums.sqasm", 0) == []
    project.change("sums.sqasm", "return             r2", "return             r9")
    found = await project.mistakes("sums.sqasm", 1)
    assert found[0].range.start.line == 8
    project.change("sums.sqasm", "return             r9", "retrun             r2")
    for _ in range(200):
        found = await project.mistakes("sums.sqasm")
        if any("retrun" in mistake.message for mistake in found):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(found)


def labels(answer):
    items = answer if isinstance(answer, (list, tuple)) else answer.items
    return [item.label for item in items]


@pytest.mark.asyncio
async def test_completion_knows_receivers(project):
    client = project.client
    project.change("shapes.ns", "name length }", "name  }")
    found = await client.text_document_completion_async(
        lsp.CompletionParams(**project.at("shapes.ns", "name  }", 5))
    )
    assert "length" in labels(found) and "area" not in labels(found), "a text is no shape"
    project.change("shapes.ns", "{ one area. ", "{ one . ")
    found = await client.text_document_completion_async(
        lsp.CompletionParams(**project.at("shapes.ns", "{ one . ", 6))
    )
    assert {"area", "side"} <= set(labels(found)), "a square by its factory"
    assert "count" not in labels(found), "private slots are private"
    assert "radius" not in labels(found)
    found = await client.text_document_completion_async(
        lsp.CompletionParams(**project.at("sums.sqasm", "    return ", 6))
    )
    assert {"add", "return"} <= set(labels(found))


@pytest.mark.asyncio
async def test_hover(project):
    found = await project.client.text_document_hover_async(
        lsp.HoverParams(**project.at("shapes.ns", "one area", 5))
    )
    assert "The area, an Integer." in found.contents.value
    found = await project.client.text_document_hover_async(
        lsp.HoverParams(**project.at("sums.sqasm", "add   ", 1))
    )
    assert "add" in found.contents.value


def places(answer):
    """Files and lines of an answer."""
    answer = answer if isinstance(answer, (list, tuple)) else [answer]
    return sorted((place.uri.rsplit("/")[-1], place.range.start.line) for place in answer)


@pytest.mark.asyncio
async def test_definition(project):
    client = project.client
    ask = client.text_document_definition_async
    found = await ask(lsp.DefinitionParams(**project.at("shapes.ns", "one area", 5)))
    assert places(found) == [("shapes.ns", 10)], "the class of the receiver is known"
    found = await ask(lsp.DefinitionParams(**project.at("shapes.ns", "^ sum +", 3)))
    assert places(found) == [("shapes.ns", 13)]
    found = await ask(lsp.DefinitionParams(**project.at("shapes.ns", "name length", 6)))
    assert any(name.endswith(".ns") and name not in project.texts for name, _ in places(found)), "the library"
    found = await ask(lsp.DefinitionParams(**project.at("sums.sqasm", '"sum" $sum\n\n', 7)))
    assert places(found) == [("sums.sqasm", 5)]


@pytest.mark.asyncio
async def test_implementation(project):
    found = await project.client.text_document_implementation_async(
        lsp.ImplementationParams(**project.at("user.ns", "shapes area", 8))
    )
    assert places(found) == [("shapes.ns", 10), ("shapes.ns", 23)]


@pytest.mark.asyncio
async def test_references_and_senders(project):
    ask = project.client.text_document_references_async
    context = lsp.ReferenceContext(include_declaration=True)
    found = await ask(lsp.ReferenceParams(context, **project.at("shapes.ns", "^ sum +", 3)))
    assert places(found) == [("shapes.ns", 13), ("shapes.ns", 14), ("shapes.ns", 16)]
    context = lsp.ReferenceContext(include_declaration=False)
    found = await ask(lsp.ReferenceParams(context, **project.at("shapes.ns", "public area = ( ^ side", 8)))
    assert ("user.ns", 4) in places(found), "a sender in another text"
    assert ("shapes.ns", 30) in places(found)


@pytest.mark.asyncio
async def test_highlights(project):
    found = await project.client.text_document_document_highlight_async(
        lsp.DocumentHighlightParams(**project.at("shapes.ns", "^ sum +", 3))
    )
    kinds = {highlight.range.start.line: highlight.kind for highlight in found}
    assert kinds[14] == lsp.DocumentHighlightKind.Write and kinds[16] == lsp.DocumentHighlightKind.Read


@pytest.mark.asyncio
async def test_rename(project):
    client = project.client
    found = await client.text_document_prepare_rename_async(
        lsp.PrepareRenameParams(**project.at("shapes.ns", "^ sum +", 3))
    )
    assert found is not None
    edit = await client.text_document_rename_async(
        lsp.RenameParams(new_name="total", **project.at("shapes.ns", "^ sum +", 3))
    )
    text = project.applied("shapes.ns", edit.changes[project.uri("shapes.ns")])
    assert "| total |" in text and "total:: side * factor" in text and "^ total + more" in text
    assert "sum" not in text
    edit = await client.text_document_rename_async(
        lsp.RenameParams(new_name="extend:with:", **project.at("shapes.ns", "grow: factor", 1))
    )
    text = project.applied("shapes.ns", edit.changes[project.uri("shapes.ns")])
    assert "public extend: factor with: more" in text and "(one extend: 2 with: 1)" in text
    with pytest.raises(Exception, match=r"\S"):
        await client.text_document_rename_async(
            lsp.RenameParams(new_name="not a name", **project.at("shapes.ns", "^ sum +", 3))
        )


def flat(symbols):
    for symbol in symbols:
        yield symbol
        yield from flat(symbol.children or [])


@pytest.mark.asyncio
async def test_symbols(project):
    client = project.client
    found = await client.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(project.document("shapes.ns"))
    )
    assert {"Shapes", "Square", "Circle", "area", "grow:by:", "squares"} <= set(names(flat(found)))
    for symbol in flat(found):
        inner, outer = symbol.selection_range, symbol.range
        assert (outer.start.line, outer.start.character) <= (inner.start.line, inner.start.character)
        assert (inner.end.line, inner.end.character) <= (outer.end.line, outer.end.character)
    found = await client.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(project.document("sums.sqasm"))
    )
    assert any("sum" in name for name in names(flat(found)))
    found = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams(query="grow"))
    assert "grow:by:" in names(found)


@pytest.mark.asyncio
async def test_semantic_tokens(project):
    client = project.client
    full = await client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(project.document("shapes.ns"))
    )
    assert full.data and len(full.data) % 5 == 0
    line = 0
    for step, length in zip(full.data[0::5], full.data[2::5]):
        line += step
        assert length > 0
    assert line < SHAPES.count("\n")
    part = await client.text_document_semantic_tokens_range_async(
        lsp.SemanticTokensRangeParams(
            project.document("shapes.ns"), lsp.Range(lsp.Position(4, 0), lsp.Position(10, 0))
        )
    )
    assert 0 < len(part.data) < len(full.data)


@pytest.mark.asyncio
async def test_folding_and_selection(project):
    client = project.client
    found = await client.text_document_folding_range_async(
        lsp.FoldingRangeParams(project.document("shapes.ns"))
    )
    assert {5, 12, 26} <= {fold.start_line for fold in found}, "classes and methods"
    assert await client.text_document_folding_range_async(
        lsp.FoldingRangeParams(project.document("sums.sqasm"))
    )
    place = project.position("shapes.ns", "side * factor", 8)
    found = await client.text_document_selection_range_async(
        lsp.SelectionRangeParams(project.document("shapes.ns"), [place])
    )
    sizes, selection = [], found[0]
    while selection:
        start, end = selection.range.start, selection.range.end
        sizes.append((end.line - start.line, end.character - start.character))
        selection = selection.parent
    assert len(sizes) >= 4, "from the word to the module"
    assert sizes[0] == (0, len("factor"))


@pytest.mark.asyncio
async def test_signature_help(project):
    project.change("shapes.ns", "(one grow: 2 by: 1)", "(one grow: 2 by: )")
    found = await project.client.text_document_signature_help_async(
        lsp.SignatureHelpParams(**project.at("shapes.ns", "(one grow: 2 by: )", 17))
    )
    assert "grow: factor by: more" in found.signatures[0].label
    active = found.active_parameter
    active = found.signatures[0].active_parameter if active is None else active
    assert active == 1


@pytest.mark.asyncio
async def test_call_hierarchy(project):
    client = project.client
    items = await client.text_document_prepare_call_hierarchy_async(
        lsp.CallHierarchyPrepareParams(**project.at("shapes.ns", "public area = ( ^ side", 8))
    )
    assert items[0].name == "area"
    callers = await client.call_hierarchy_incoming_calls_async(
        lsp.CallHierarchyIncomingCallsParams(items[0])
    )
    assert {"squares", "main:"} <= {call.from_.name for call in callers}
    items = await client.text_document_prepare_call_hierarchy_async(
        lsp.CallHierarchyPrepareParams(**project.at("shapes.ns", "public squares", 8))
    )
    calls = await client.call_hierarchy_outgoing_calls_async(
        lsp.CallHierarchyOutgoingCallsParams(items[0])
    )
    assert {"area", "grow:by:"} <= {call.to.name for call in calls}


@pytest.mark.asyncio
async def test_inlay_hints(project):
    found = await project.client.text_document_inlay_hint_async(
        lsp.InlayHintParams(project.document("shapes.ns"), project.all("shapes.ns"))
    )
    assert 27 in [hint.position.line for hint in found], "the local `one` holds a square"


@pytest.mark.asyncio
async def test_formatting(project):
    client = project.client
    options = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
    project.change("shapes.ns", "public area = ( ^ side * side )", "public area=(^side*side)")
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(project.document("shapes.ns"), options)
    )
    assert project.applied("shapes.ns", edits) == SHAPES
    line = project.position("shapes.ns", "public area=(").line
    part = lsp.Range(lsp.Position(line, 0), lsp.Position(line + 1, 0))
    edits = await client.text_document_range_formatting_async(
        lsp.DocumentRangeFormattingParams(project.document("shapes.ns"), part, options)
    )
    assert project.applied("shapes.ns", edits) == SHAPES
    project.change("sums.sqasm", "    add                r2", "  add r2")
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(project.document("sums.sqasm"), options)
    )
    assert project.applied("sums.sqasm", edits) == ASSEMBLY


REMEDIES = [
    ("^ 3 * radius * radius", "^ Vector new", "add the slot `private Vector", "private Vector = platform kernel Vector."),
    ("sum:: side * factor.\n", "tally:: 1.\n      sum:: side * factor.\n", "declare the local `tally`", "| sum tally |"),
    ("name length }", "name isEmtpy }", "write `isEmpty`", "name isEmpty }"),
    ("sum:: side * factor.\n", "sum:: side * factor\n", "add the period", "sum:: side * factor.\n"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("old, new, title, expected", REMEDIES, ids=[case[2] for case in REMEDIES])
async def test_remedies(project, old, new, title, expected):
    await project.mistakes("shapes.ns", 0)
    project.change("shapes.ns", old, new)
    for _ in range(200):
        if project.client.diagnostics[project.uri("shapes.ns")]:
            break
        await asyncio.sleep(0.05)
    text = await project.remedy("shapes.ns", title)
    assert expected in text, text


@pytest.mark.asyncio
async def test_texts_that_are_closed_have_no_mistakes(project):
    project.change("user.ns", "^ 0", "^ ")
    await project.mistakes("user.ns", 1)
    project.client.text_document_did_close(lsp.DidCloseTextDocumentParams(project.document("user.ns")))
    assert await project.mistakes("user.ns", 0) == []
