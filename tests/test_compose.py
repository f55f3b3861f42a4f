"""The compose file names settings that there are, and each host has a folder of its own. Docker does not run here."""

from pathlib import Path

import yaml

from reverie.settings import TABLE

ROOT = Path(__file__).parents[1]


def test_two_hosts_share_a_bucket_and_not_their_logs() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    hosts = [services["one"], services["two"]]
    for host in hosts:
        named = {name for name in host["environment"] if name.startswith("REVERIE_")}
        assert named <= {setting.variable for setting in TABLE}
    assert hosts[0]["environment"]["REVERIE_HOME"] == hosts[1]["environment"]["REVERIE_HOME"] == "s3://reverie/team"
    folders = {volume.split(":")[0] for host in hosts for volume in host["volumes"] if volume.endswith(":/data")}
    assert folders == {"one", "two"}


def test_the_image_has_what_a_bucket_needs() -> None:
    assert '".[team]"' in (ROOT / "Dockerfile").read_text("utf-8")
