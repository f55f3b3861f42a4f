"""The address of a remote, reduced to what names the project: `host/owner/name`.

`git@Host:owner/name.git`, `ssh://git@host:2222/owner/name` and `https://user:token@host/owner/name/` are one
project. Whatever stands before the last `@` is a credential and is dropped first, so that no later step can
keep a part of it.
"""

import re
import sys
from collections.abc import Iterable
from urllib.parse import unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HELPER = re.compile(r"[A-Za-z0-9]+::")
_DRIVE = re.compile(r"[A-Za-z]:")
_CREDENTIALS = re.compile(r".*(?<!/)@", re.DOTALL)  # an `@` that opens a path segment is a name, as in /@team/
_SCP_LIKE = re.compile(r"(\[[^\]]*\]|[^/:]+):(.*)", re.DOTALL)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f]")

# Doors that the forges document for networks where the usual ssh port is closed.
_OTHER_DOORS = {
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
    "ssh.dev.azure.com": "dev.azure.com",
    "ssh.github.com": "github.com",
}


def rewritten(url: str, rules: Iterable[tuple[str, str]]) -> str:
    """Apply git's `url.BASE.insteadOf PREFIX` rules, given as (prefix, base): the longest prefix wins."""
    fitting = [rule for rule in rules if rule[0] and url.startswith(rule[0])]
    if not fitting:
        return url
    prefix, base = max(fitting, key=lambda rule: len(rule[0]))
    return base + url[len(prefix) :]


def path_on_disk(url: str) -> str | None:
    """Return the path that a remote on this machine points at, or None for one elsewhere."""
    if url[:7].lower() == "file://":
        path = unquote("/" + url[7:].partition("/")[2])
        return path[1:] if sys.platform == "win32" and _DRIVE.match(path[1:]) else path
    if _SCHEME.match(url) or _HELPER.match(url):
        return None
    if sys.platform == "win32" and _DRIVE.match(url):
        return url
    return None if ":" in url.partition("/")[0] else url


def hosted_name(url: str) -> str | None:
    """Return `host/owner/name` of a remote on some server, or None if the address has no such parts."""
    if path_on_disk(url) is not None or _HELPER.match(url):
        return None
    scheme = _SCHEME.match(url)
    bare = _CREDENTIALS.sub("", url[scheme.end() :] if scheme else url, count=1)
    if scheme:
        authority, _, path = re.split(r"[?#]", bare, maxsplit=1)[0].partition("/")
        path = unquote(path, errors="replace")
    else:
        scp_like = _SCP_LIKE.fullmatch(bare)
        if scp_like is None:
            return None
        authority, path = scp_like.groups()
        if authority.count(":") == 1:  # [host:port]:path
            authority = authority.strip("[]")
    host = _host(authority)
    segments = _segments(host, path)
    return "/".join([host, *segments]) if host and segments else None


def _host(authority: str) -> str:
    bracketed = re.match(r"\[([^\]]*)\]", authority)
    host = bracketed[1] if bracketed else authority.partition(":")[0]
    host = _UNPRINTABLE.sub("", host).rstrip(".").lower()
    return _OTHER_DOORS.get(host, host)


def _segments(host: str, path: str) -> list[str]:
    segments = [part for part in _UNPRINTABLE.sub("", path).split("/") if part not in ("", ".")]
    if host == "dev.azure.com":
        # Its ssh form is v3/org/project/repo, its https form org/project/_git/repo.
        segments = [part for part in segments[segments[:1] == ["v3"] :] if part != "_git"]
    if segments:
        segments[-1] = segments[-1].removesuffix(".git")
    return [part for part in segments if part]
