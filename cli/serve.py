"""`reverie serve --http`: what its options mean."""

import sys

from reverie.cli.requests import ServeRequest
from reverie.server.http_server import read_plan, serve
from reverie.settings import load_settings


def serve_http(request: ServeRequest) -> int:
    """Serve over HTTP until asked to stop.

    Raises:
        ReverieError: if it may not, or cannot, listen as the options say.
    """
    plan = read_plan(
        request.http,
        tls_cert=request.tls_cert,
        tls_key=request.tls_key,
        behind_proxy=request.behind_proxy,
        public_url=request.public_url,
    )
    return serve(plan, load_settings, _tell)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
