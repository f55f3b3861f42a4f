"""`reverie move`: all memories to another folder or bucket, or a copy of them."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from reverie.cli.commands import Options
from reverie.cli.requests import MoveHomeRequest
from reverie.cli.run import alone_with_the_store
from reverie.cli.terminal import DONE, Progress, counted, say, say_json
from reverie.errors import StoreUnavailable
from reverie.settings import HOME, HOST_FOLDER, Settings, load_settings
from reverie.storage.homes import DomainHome, home_of
from reverie.time import clock_from

_DOMAINS: Final = "domains"


async def run_move(request: MoveHomeRequest, options: Options) -> int:
    """Move every domain of the home that is set, and say what to set now."""
    with alone_with_the_store():
        return await _move(request, options)


async def _move(request: MoveHomeRequest, options: Options) -> int:
    try:
        from reverie.storage.move import move  # needs a package that only homes in buckets use
    except ImportError as error:
        raise StoreUnavailable("`reverie move` needs one more package: pip install 'reverie-mcp[team]'.") from error

    settings = load_settings()
    target = _settings_for(request.to, settings)
    memories = files = 0
    for domain in await _domains(settings):
        bar = Progress(f"Copying {domain}")
        try:
            moved = await move(
                _home(replace(settings, domain=domain)),
                _home(replace(target, domain=domain)),
                now=clock_from(settings.clock)(),
                progress=partial(_show, bar),
                keep=request.copy,
            )
        finally:
            bar.done()
        if moved is not None:
            memories, files = memories + moved.memories, files + moved.files
    if options.json:
        say_json(
            {"from": settings.home, "to": target.home, "copy": request.copy, "memories": memories, "files": files}
        )
        return DONE
    if not files:
        say(f"There is no store in {settings.home} yet: nothing to move.")
        return DONE
    say(f"{counted(memories, 'memory')} in {files:,} files were copied to {target.home}, read back and compared.")
    if request.copy:
        say(f"{settings.home} stays in use. To restore the copy, set {HOME.variable}={target.home} and move it back.")
        return DONE
    say(f"Set {HOME.variable}={target.home} from now on. The copy in {settings.home} stays until you remove it.")
    if settings.is_local and (Path(settings.home) / "reverie.toml").exists():
        say("reverie.toml is not read from a bucket: set its values in the environment of every host.")
    return DONE


def _show(bar: Progress, done: int, total: int) -> None:
    bar.show(done / (total or 1), f"{done:,} of {total:,} files")


def _settings_for(to: str, settings: Settings) -> Settings:
    own = {HOME.variable: to} | ({HOST_FOLDER.variable: settings.host_folder} if settings.host_folder else {})
    return replace(settings, home=load_settings(own).home)


def _home(settings: Settings) -> DomainHome:
    return home_of(settings.domain_uri, settings.domain_folder)


async def _domains(settings: Settings) -> list[str]:
    if settings.is_local:
        folder = Path(settings.home) / _DOMAINS
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    from reverie.storage.bucket import domains_in

    return await domains_in(f"{settings.home.rstrip('/')}/{_DOMAINS}")
