"""Reads what a client recorded of a session: Claude Code's and Codex's JSON Lines, Gemini's sessions, summaries.

Each becomes the same few steps: what the person said, which commands ran and how they ended, which files were edited,
what a client's own summary says. A record is told by its shape, not by its client, so that a new version loses what
it renamed and no more. Nothing here fails on a file: what cannot be read is left out.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

LONGEST_READ = 4 * 1024 * 1024
"""Bytes at the end of a transcript that are read: the work of many hours, in a tenth of a second."""

_OPENED = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_LONGEST_RECORD = 1024 * 1024
_LONGEST_TEXT = 20_000
_LONGEST_OUTPUT = 4_000
_LONGEST_SAID = 2_000
_MOST_SAID = 60

StepKind = Literal["said", "ran", "edited", "summary"]
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened in a session."""

    kind: StepKind
    text: str  # what was said, the command, the path, or the summary
    turn: int  # how many messages of the person came before, this one included
    failed: bool = False
    output: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The steps of a session, and the folder it says it worked in."""

    steps: tuple[Step, ...]
    folder: str = ""


def read_transcript(path: str) -> Transcript:
    """Read a transcript; of a long one its end. One that is not there, or is none, has no steps.

    The path comes with an event. So nothing is read but a regular file of this user, at that very place: a link may
    lead anywhere, and a pipe keeps whoever opens it waiting.
    """
    try:
        with open(os.open(path, _OPENED), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
                return Transcript(())
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - LONGEST_READ)
            file.seek(start)
            text = file.read(LONGEST_READ).decode("utf-8", "replace")
    except (OSError, ValueError):  # ValueError: a path with a zero byte
        return Transcript(())
    if start:
        text = text.partition("\n")[2]
    return parse_transcript(text)


def parse_transcript(text: str) -> Transcript:
    """Read the text of a transcript of any known client."""
    records = list(_records(text))
    folders = [folder for record in records if (folder := _folder(record))]
    return Transcript(tuple(_steps(records)), folders[0] if folders else "")


def summary_steps(summary: str) -> tuple[Step, ...]:
    """Return the step of a summary that a client hands over when it compacted a conversation."""
    return (Step(kind="summary", text=summary[:_LONGEST_TEXT], turn=0),) if summary.strip() else ()


def said_lately(transcript: Transcript) -> list[Step]:
    """Return what the person said, the newest of it if it is much; what was pasted is cut."""
    said = [replace(step, text=step.text[:_LONGEST_SAID]) for step in transcript.steps if step.kind == "said"]
    return said[-_MOST_SAID:]


# -- records -----------------------------------------------------------------------------------------------


def _records(text: str) -> Iterator[Record]:
    """Return the objects of JSON Lines, or of one document with a list of messages, also if it is cut off."""
    lines = text.split("\n")
    found = 0
    for line in lines:
        if line[:1] == "{" and line.rstrip()[-1:] == "}" and len(line) <= _LONGEST_RECORD:
            record = _object(line)
            if record:
                found += 1
                yield from _messages_of(record)
    if not found:
        yield from _messages_within(text)


def _object(text: str) -> Record:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _messages_of(record: Record) -> Iterator[Record]:
    """Return a record, or the messages of one that holds a whole conversation."""
    messages = record.get("messages")
    if isinstance(messages, list):
        yield from (one for one in messages if isinstance(one, dict))
    else:
        yield record


def _messages_within(text: str) -> Iterator[Record]:
    """Return the messages of a document written over many lines; of one that is cut off, those that are whole."""
    decoder = json.JSONDecoder()
    begin = re.search(r'"messages"\s*:\s*\[', text)
    position = begin.end() if begin else 0
    while (position := text.find("{", position)) >= 0:
        try:
            found, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            following = re.compile(r"\n {4}\{").search(text, position)  # the next message, as deep as Gemini writes
            if following is None:
                return
            position = following.end() - 1
            continue
        position = end
        if isinstance(found, dict) and "type" in found:
            yield found


def _folder(record: Record) -> str:
    inner = _mapping(record.get("payload"))
    for holder in (record, inner):
        if isinstance(holder.get("cwd"), str):
            return str(holder["cwd"])
    return ""


# -- steps -------------------------------------------------------------------------------------------------


def _steps(records: list[Record]) -> Iterator[Step]:
    codex_says = any(_payload(record).get("type") == "user_message" for record in records)
    calls: dict[str, tuple[str, str]] = {}  # by id: what kind of call, and the command or path
    turn = 0
    for record in records:
        for step in _steps_of(record, calls, codex_says=codex_says):
            if step.kind == "said":
                turn += 1
            yield Step(kind=step.kind, text=step.text, turn=turn, failed=step.failed, output=step.output)


def _steps_of(record: Record, calls: dict[str, tuple[str, str]], *, codex_says: bool) -> Iterator[Step]:
    payload = _payload(record)
    if payload:
        yield from _codex(payload, calls, record_type=str(record.get("type")), codex_says=codex_says)
    elif record.get("type") in ("user", "gemini", "model") and "message" not in record:
        yield from _gemini(record)
    elif isinstance(record.get("message"), dict):
        yield from _claude(record, calls)


def _payload(record: Record) -> Record:
    """Return the part of a Codex record that says something; older versions wrote it without an envelope."""
    payload = _mapping(record.get("payload"))
    if payload:
        return payload
    bare = ("message", "function_call", "function_call_output", "local_shell_call")
    return record if record.get("type") in bare and "message" not in record else {}


def _claude(record: Record, calls: dict[str, tuple[str, str]]) -> Iterator[Step]:
    message = _mapping(record.get("message"))
    role = message.get("role") or record.get("role") or record.get("type")
    content = message.get("content")
    if record.get("isCompactSummary"):
        yield from summary_steps(_text(content))
        return
    if record.get("isMeta") or record.get("isSidechain") or record.get("isVisibleInTranscriptOnly"):
        return
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    for part in parts:
        if part.get("type") == "tool_use":
            _note_call(calls, str(part.get("id")), str(part.get("name")), _mapping(part.get("input")))
        elif part.get("type") == "tool_result":
            output = _text(part.get("content"))
            yield from _ended(calls.get(str(part.get("tool_use_id"))), output, failed=part.get("is_error") is True)
    if role == "user":
        yield from _said(_text(content))


def _codex(
    payload: Record, calls: dict[str, tuple[str, str]], *, record_type: str, codex_says: bool
) -> Iterator[Step]:
    kind, call_id = payload.get("type"), str(payload.get("call_id") or payload.get("id"))
    if record_type == "compacted":
        yield from summary_steps(_text(payload.get("message")))
    elif kind == "user_message":
        yield from _said(_text(payload.get("message")))
    elif kind == "message" and payload.get("role") == "user" and not codex_says:
        yield from _said(_text(payload.get("content")))
    elif kind == "function_call":
        _note_call(calls, call_id, str(payload.get("name")), _object(str(payload.get("arguments"))))
    elif kind == "local_shell_call":
        _note_call(calls, call_id, "shell", _mapping(payload.get("action")))
    elif kind == "custom_tool_call":
        _note_call(calls, call_id, str(payload.get("name")), {"input": payload.get("input")})
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output, failed = _codex_output(payload.get("output"))
        yield from _ended(calls.get(call_id), output, failed=failed)


_EXITED: Final = re.compile(r"^(?:Process exited with code|Exit code:?|Exit Code:) (\d+)\s*$", re.MULTILINE)


def _codex_output(given: Any) -> tuple[str, bool]:
    """Return the text of an output and whether the call failed; several versions say it in several ways."""
    inner = _object(given) if isinstance(given, str) and given[:1] == "{" else _mapping(given)
    if inner:
        code = _mapping(inner.get("metadata")).get("exit_code")
        failed = code not in (None, 0) or inner.get("success") is False
        return _text(inner.get("output") or inner.get("content")), failed
    text = _text(given)
    exited = _EXITED.search(text)
    _, _, output = text.partition("\nOutput:\n") if exited else ("", "", text)
    return output or text, exited is not None and exited[1] != "0"


def _gemini(record: Record) -> Iterator[Step]:
    if record.get("type") == "user":
        yield from _said(_text(record.get("content")))
        return
    for call in _list(record.get("toolCalls")):
        calls: dict[str, tuple[str, str]] = {}
        _note_call(calls, "", str(call.get("name")), _mapping(call.get("args")))
        output = " ".join(_strings(call.get("result")))
        exited = re.search(r"^Exit Code: (\d+)\s*$", output, re.MULTILINE)
        said = re.search(r"^(?:Stderr|Output): (.*?)(?=^[A-Z][\w ]+: )", output, re.MULTILINE | re.DOTALL)
        failed = call.get("status") == "error" or (exited is not None and exited[1] != "0")
        if call.get("status") != "cancelled":
            yield from _ended(calls.get(""), said[1] if said else output, failed=failed)


_SHELLS: Final = frozenset(
    {"Bash", "PowerShell", "shell", "exec_command", "shell_command", "run_shell_command", "Shell", "runInTerminal"}
)
_EDITS: Final = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "replace", "write_file", "edit_file", "create_file", "editFiles"}
)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_REJECTED: Final = "The user doesn't want to proceed with this tool use"
_TOLD_INSTEAD: Final = re.compile(r"the user said:\s*(.+)", re.DOTALL | re.IGNORECASE)


def _note_call(calls: dict[str, tuple[str, str]], call_id: str, name: str, given: Record) -> None:
    if name in _SHELLS:
        calls[call_id] = "ran", _command(given)
    elif name in _EDITS:
        path = given.get("file_path") or given.get("notebook_path") or given.get("path")
        calls[call_id] = "edited", str(path) if path else ""
    elif name == "apply_patch":
        calls[call_id] = "edited", "\n".join(_PATCHED.findall(_text(given.get("input") or given.get("patch"))))


def _command(given: Record) -> str:
    command = given.get("command") or given.get("cmd") or ""
    if isinstance(command, list):
        words = [str(word) for word in command]
        in_a_shell = len(words) > 2 and words[1] in ("-lc", "-c")
        command = words[2] if in_a_shell else " ".join(words)
    return str(command).strip()


def _ended(call: tuple[str, str] | None, output: str, *, failed: bool) -> Iterator[Step]:
    """Return the steps of a call that has ended; what the person said as they refused it is theirs."""
    if _REJECTED in output:
        told = _TOLD_INSTEAD.search(output)
        yield from _said(told[1]) if told else ()
        return
    kind, text = call or ("", "")
    if kind == "ran" and text:
        yield Step(kind="ran", text=text, turn=0, failed=failed, output=output[:_LONGEST_OUTPUT])
        text = "\n".join(_PATCHED.findall(text))  # a patch may be given to the shell
    if kind and text and not failed:
        yield from (
            Step(kind="edited", text=path.strip(), turn=0) for path in text.splitlines() if kind != "ran" or path
        )


# -- what the person said ----------------------------------------------------------------------------------

_TAGGED: Final = re.compile(
    r"<([A-Za-z]+[-_][\w-]*|private|INSTRUCTIONS)(?:\s[^<>]*)?>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_BY_A_PROGRAM: Final = re.compile(
    r"\s*(?:# AGENTS\.md instructions|\[Request interrupted|Caveat: The messages below|/\w[\w:-]*\s*$|"
    r"This session is being continued from a previous)"
)


def _said(text: str) -> Iterator[Step]:
    """Return what the person said; what a program put there in their name is no step."""
    if "<" in text:
        text = _TAGGED.sub("", text)
    text = text.strip()
    if text and not _BY_A_PROGRAM.match(text):
        yield Step(kind="said", text=text[:_LONGEST_TEXT], turn=0)


def _text(given: Any) -> str:
    """Return the text of a content, which may be a string, a part, or a list of parts."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        return given["text"] if isinstance(given.get("text"), str) else ""
    if not isinstance(given, list):
        return ""
    return "\n".join(filter(None, map(_text, given)))


def _strings(given: Any) -> Iterable[str]:
    """Return every text inside a value, but for names and ids."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        for name, part in given.items():
            if name not in ("id", "name"):
                yield from _strings(part)
    elif isinstance(given, list):
        for part in given:
            yield from _strings(part)


def _mapping(given: Any) -> Record:
    return given if isinstance(given, dict) else {}


def _list(given: Any) -> list[Record]:
    return [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []
