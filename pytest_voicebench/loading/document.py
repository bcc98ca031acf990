"""One YAML file to a tree of nodes that know their lines; YAML 1.2 scalars, and nothing of YAML that surprises.

What differs from PyYAML's safe loader, and why:
- Plain scalars follow the YAML 1.2 core schema in decimal, with JSON's numbers: `true`, `false`, `null`, `~`, an empty
  value, `12`, `-1.5`, `1e3` (a float, as in JSON) have a type; `no`, `on`, `12:30`, `00123`, `+5`, `1_000`, `0x1F` and
  dates stay text.
- Refused: anchors' aliases and tags (each value stands where it is read; no anchor bomb), repeated keys, keys that are
  not text, a second document, a byte-order mark, tabs in the indentation, files over 2 MB, numbers that
  JSON cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.loading.scalars import TYPED_FIRST, typed

Json = Any

MAX_BYTES = 2_000_000
MAX_DEPTH = 40

_TIGHT_COMMENT = re.compile(rb"[ \t]#[^\s#]")
_TIGHT_COMMENT_TEXT = re.compile(r"[ \t]+(#[^\s#]\S*)")


class Scalar(NamedTuple):
    """A value that is not a collection. `raw` is the text in the file."""

    line: int
    value: str | int | float | bool | None
    raw: str


class Listing(NamedTuple):
    """A sequence."""

    line: int
    items: list[Node]


class Mapping(NamedTuple):
    """A mapping; `lines` holds the line of each key."""

    line: int
    entries: dict[str, Node]
    lines: dict[str, int]


Node = Scalar | Listing | Mapping


def plain(node: Node) -> Json:
    """The node as JSON data."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    return {name: plain(value) for name, value in node.entries.items()}


def read_document(path: Path, report: Report) -> Node | None:
    """The file's one document, or None where it cannot be read at all. Every mistake goes to the report."""
    data = _read(path, report)
    if data is None:
        return None
    builder = _Builder(report, data.decode("utf-8") if _TIGHT_COMMENT.search(data) else None)
    try:
        if not builder.take_all(data):
            return None
    except RecursionError:
        report.add(1, "yaml", "too deeply nested")
        return None
    except _yaml_error() as error:
        _report_syntax(error, report)
        return None
    if builder.root is None or (isinstance(builder.root, Scalar) and builder.root.value is None):
        report.add(1, "yaml", "the file is empty")
        return None
    return builder.root


def _read(path: Path, report: Report) -> bytes | None:
    try:
        if not path.is_file():
            report.add(1, "file", "there is no such file" if not path.exists() else "this is not a file")
            return None
        size = path.stat().st_size
        if size > MAX_BYTES:
            report.add(1, "file", f"{size:,} bytes; at most {MAX_BYTES:,} are read: split the suite into several files")
            return None
        data = path.read_bytes()
    except OSError as error:
        report.add(1, "file", f"cannot be read: {error.strerror}")
        return None
    return data if _is_clean(data, report) else None


def _is_clean(data: bytes, report: Report) -> bool:
    """False where the bytes are not plain UTF-8 text indented by spaces."""
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        report.add(1, "yaml", "the file starts with a byte-order mark; save it as UTF-8 without one")
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        report.add(data.count(b"\n", 0, error.start) + 1, "yaml", "this is not UTF-8; save the file as UTF-8")
        return False
    tabs = (
        [data.count(b"\n", 0, m.end()) + 1 for m in re.finditer(rb"^[ ]*\t", data, re.MULTILINE)]
        if b"\t" in data
        else []
    )
    for line in tabs[:20]:
        report.add(line, "yaml", "a tab in the indentation; use spaces")
    return not tabs


def _yaml_error() -> type[Exception]:
    import yaml

    return yaml.YAMLError


def _report_syntax(error: Any, report: Report) -> None:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    hint = ""
    if any(word in reason for word in ("flow", "',' or", "expected ',' or", "start any token")):
        hint = '; text that holds any of [ ] { } , : # @ ` must be quoted: "..."'
    elif "mapping values are not allowed" in reason:
        hint = '; quote the text if it contains a colon: "..."'
    what = f"cannot be read as YAML: {context + ', ' if context else ''}{reason}{hint}"
    report.add(mark.line + 1 if mark else 1, "yaml", what)


class _Open:
    """A collection under construction."""

    __slots__ = ("key", "key_line", "keyed", "node")

    def __init__(self, node: Listing | Mapping) -> None:
        self.node = node
        self.keyed = isinstance(node, Mapping)
        self.key: str | None = None
        self.key_line = 0


class _Builder:
    """Takes libyaml's events one by one and grows the tree; no recursion, so that depth costs nothing."""

    def __init__(self, report: Report, text: str | None) -> None:
        self.report = report
        self.text = text  # of the file, where it holds a `#` that may be meant as text
        self.root: Node | None = None
        self.documents = 0
        self._stack: list[_Open] = []

    def take_all(self, data: bytes) -> bool:
        """Read a document's events to the last; False where reading had to stop before. Raises yaml.YAMLError."""
        import yaml

        takers = self._takers()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(data)  # libyaml where PyYAML was built with it
        get_event, end = loader.get_event, yaml.StreamEndEvent  # yaml.parse asks twice for each
        try:
            while (kind := type(event := get_event())) is not end:
                taker = takers.get(kind)
                if taker is not None and not taker(event):
                    return False
        finally:
            loader.dispose()
        return True

    def _takers(self) -> dict[type, Callable[[Any], bool]]:
        """What takes each kind of event; it returns False where reading must stop."""
        import yaml

        return {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.SequenceStartEvent: self._start_listing,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }

    def _document(self, event: Any) -> bool:
        self.documents += 1
        if self.documents == 1:
            return True
        line = event.start_mark.line + 1
        self.report.add(line, "yaml", "a second document; one document a file: put it into a file of its own")
        return False

    def _alias(self, event: Any) -> bool:
        line = event.start_mark.line + 1
        self.report.add(line, "yaml", f"*{event.anchor}: aliases are not read; write the value out")
        return self._place(Scalar(line, None, ""), line)

    def _start_mapping(self, event: Any) -> bool:
        line = event.start_mark.line + 1
        return self._open(event, Mapping(line, {}, {}), line)

    def _start_listing(self, event: Any) -> bool:
        line = event.start_mark.line + 1
        return self._open(event, Listing(line, []), line)

    def _open(self, event: Any, node: Listing | Mapping, line: int) -> bool:
        if event.tag is not None:
            self._refuse_tag(event, line)
        if len(self._stack) >= MAX_DEPTH:
            self.report.add(line, "yaml", f"nested more than {MAX_DEPTH} deep")
            return False
        self._place(node, line)
        self._stack.append(_Open(node))
        return True

    def _end(self, _event: Any) -> bool:
        self._stack.pop()
        return True

    def _scalar(self, event: Any) -> bool:
        line = event.start_mark.line + 1
        raw = value = event.value
        if event.tag is not None:
            self._refuse_tag(event, line)
        if event.implicit[0]:
            if self.text is not None and raw:
                self._refuse_comment(raw, self.text[event.end_mark.index : event.end_mark.index + 60], line)
            if not raw or raw[0] in TYPED_FIRST:
                value = typed(raw, line, self.report)
        if self._stack and value is raw:
            top = self._stack[-1]
            if top.keyed and top.key is None:  # every other scalar is a key: it needs no node
                top.key, top.key_line = raw, line
                return True
        return self._place(Scalar(line, value, raw), line)

    def _refuse_comment(self, raw: str, rest: str, line: int) -> None:
        """`flight: BA #12` is the text BA and a comment to YAML, and hardly to whoever wrote it."""
        match = _TIGHT_COMMENT_TEXT.match(rest)
        if match:
            told = f"{quoted(raw)} ends there: {quoted(match[1])} is read as a comment; quote the whole text"
            self.report.add(line, "yaml", f"{told}, or put a space after a # that starts a comment")

    def _refuse_tag(self, event: Any, line: int) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        what = f"the tag {tag}: tags are not read; write the plain value, quoted where it is text"
        self.report.add(line, "yaml", what)

    def _place(self, node: Node, line: int) -> bool:
        """Hang the node into the collection that is open: as an item, as a key, or as the value of the last key."""
        if not self._stack:
            self.root = node
            return True
        top = self._stack[-1]
        if not top.keyed:
            top.node.items.append(node)  # type: ignore[union-attr]
        elif top.key is None:
            top.key, top.key_line = self._key(node), line
        else:
            self._set(top, node)
        return True

    def _key(self, node: Node) -> str:
        if isinstance(node, Scalar):
            if isinstance(node.value, str):
                return node.value
            what = f"the key {node.raw} is not text; quote it" if node.raw else "a key is missing"
            self.report.add(node.line, "yaml", what)
            return node.raw
        self.report.add(node.line, "yaml", "a collection as a key; quote it where it is text")
        return "?"

    def _set(self, top: _Open, node: Node) -> None:
        mapping, key = top.node, top.key
        assert isinstance(mapping, Mapping)
        assert key is not None
        if key in mapping.entries:
            self.report.add(
                top.key_line, "yaml", f"the key {quoted(key)} stands twice; first in line {mapping.lines[key]}"
            )
        else:
            mapping.entries[key] = node
            mapping.lines[key] = top.key_line
        top.key = None
