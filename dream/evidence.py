"""What the code on disk says about a memory, looked at once a night; `drift` and `beliefs` act on it."""

from dataclasses import dataclass
from typing import Protocol

from reverie.codebase import evidence as codebase
from reverie.codebase.evidence import Checked
from reverie.codebase.facts import ClaimKind, check_claim, claims_about
from reverie.memory import GLOBAL_PROJECT, Memory

_ANSWERABLE: frozenset[ClaimKind] = frozenset({"script", "target", "dependency", "version", "setting"})
"""Claims whose failing speaks against the text itself; that a file or symbol is gone is for drift to follow."""


@dataclass(frozen=True, slots=True)
class Check:
    """One look: how the anchors stand, and a receipt for what speaks against the text or bears it out."""

    checked: Checked
    receipt: str = ""
    refuted: bool = False


class Evidence(Protocol):
    """Something that can look."""

    def check(self, memory: Memory) -> Check | None:
        """Look at what a memory names; None if it names nothing that can be looked at from here."""
        ...


class NoEvidence:
    """Where there is no project to look at: nothing is known, so nothing is held against a memory."""

    def check(self, memory: Memory) -> Check | None:
        """Return nothing."""
        return None


class ProjectEvidence:
    """Looks at the project a session works in."""

    def __init__(self, evidence: codebase.Evidence) -> None:
        self._evidence = evidence

    def check(self, memory: Memory) -> Check | None:
        """Check the anchors of a memory of this project, and the claims of its text that manifests can answer."""
        # What a scan of the code wrote is kept in step by the next scan.
        if memory.source == "code_scan" or memory.project not in (*self._evidence.names, GLOBAL_PROJECT):
            return None
        checked = self._evidence.check(memory.project, memory.branch, memory.anchors, thorough=True)
        against = self._against(memory)
        if not memory.anchors and not against:
            return None
        return Check(checked, against or checked.note or "what it names is as it was", refuted=bool(against))

    def _against(self, memory: Memory) -> str:
        """Return the first finding that speaks against the text, with the place where it was found."""
        tree = self._evidence.tree
        if tree is None or memory.project not in self._evidence.names:
            return ""
        for claim in claims_about(memory.content, memory.anchors):
            finding = check_claim(tree, claim) if claim.kind in _ANSWERABLE else None
            if finding is not None and finding.verdict == "fails":
                return f"{finding.receipt or 'the repository'}: {finding.note or f'not {claim.name} {claim.value}'}"
        return ""
