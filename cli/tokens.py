"""`reverie tokens`: makes, lists and revokes the tokens with which clients call `reverie serve --http`."""

from reverie.cli.commands import Options
from reverie.cli.requests import TokensRequest
from reverie.cli.terminal import DONE, columns, say, say_json
from reverie.errors import InvalidInput
from reverie.server.tokens import TokenFolder, TokenRecord
from reverie.settings import load_settings
from reverie.time import parse_moment, system_clock


async def run_tokens(request: TokensRequest, options: Options) -> int:
    """Make a token, list them, or revoke one."""
    tokens = TokenFolder(load_settings().installation.folder)
    if request.action == "list":
        _list(tokens, options)
        return DONE
    if not request.name:
        raise InvalidInput("NAME", "no token is named", f"Run `reverie tokens {request.action} NAME`.")
    if request.action == "revoke":
        tokens.revoke(request.name)
        say_json({"revoked": request.name}) if options.json else say(f"Revoked {request.name}.")
        return DONE
    if not request.scope:
        raise InvalidInput("--scope", "a token needs a scope", "Give read, write or admin.")
    now = system_clock()
    ends = parse_moment(request.expires, "--expires", now=now, forward=True) if request.expires else None
    token = tokens.create(
        request.name, request.scope, user=request.user, now=now, expires_at=ends, projects=request.project
    )
    if options.json:
        say_json({"name": request.name, "scope": request.scope, "projects": list(request.project), "token": token})
    else:
        say(token)
        say("This is shown once. Whoever has it can use it; `reverie tokens revoke` ends it at once.")
    return DONE


def _list(tokens: TokenFolder, options: Options) -> None:
    found = tokens.all()
    if options.json:
        say_json([_as_json(record) for record in found])
    elif not found:
        say("There are no tokens. `reverie tokens create NAME --scope read` makes one.")
    else:
        rows = [
            (one.name, one.user, one.scope, ", ".join(one.projects) or "all", one.created_at[:10], _end(one))
            for one in found
        ]
        say(*columns([("name", "user", "scope", "projects", "created", "expires"), *rows]))


def _as_json(record: TokenRecord) -> dict[str, object]:
    return {
        "name": record.name,
        "user": record.user,
        "scope": record.scope,
        "projects": list(record.projects),
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "expired": record.is_expired(system_clock()),
    }


def _end(record: TokenRecord) -> str:
    if record.expires_at is None:
        return "never"
    return f"{record.expires_at[:10]}{' (expired)' if record.is_expired(system_clock()) else ''}"
