"""What docker-compose.yml says, and the same started on this machine without an engine for containers."""

import re
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

from tornado.command.child import Child

CHECKOUT = Path(__file__).resolve().parents[2]
COMPOSE = CHECKOUT / "docker-compose.yml"
DOCKERFILE = CHECKOUT / "Dockerfile"
SPARK_SETTINGS = CHECKOUT / "deploy" / "spark" / "spark-defaults.conf"


def described():
    """Return the file, its anchors and merges resolved."""
    return YAML(typ="safe").load(COMPOSE.read_text())


def spark_settings():
    lines = [line.split(None, 1) for line in SPARK_SETTINGS.read_text().splitlines()]
    return {line[0]: line[1] for line in lines if line and not line[0].startswith("#")}


def option(service, name):
    """Return what a service's command gives for --name."""
    [value] = [
        word.removeprefix(f"--{name}=") for word in service["command"] if word.startswith(f"--{name}=")
    ]
    return value


class Natively:
    """Commands and health checks of the file, with the addresses and folders of this machine in place of the containers'.

    Parameters
    ----------
    places : dict of str to str
        What to write in place of what; each must be somewhere in the file.
    """

    def __init__(self, places, environment):
        self.services = described()["services"]
        self._places = places
        self._environment = environment
        text = COMPOSE.read_text()
        assert [place for place in places if place not in text] == []

    def command(self, words):
        # All at once: what was put in is not looked at again.
        found = re.compile("|".join(map(re.escape, sorted(self._places, key=len, reverse=True))))
        programs = {"tornado": [sys.executable, "-m", "tornado"], "python": [sys.executable]}
        first, *rest = (found.sub(lambda match: self._places[match[0]], word) for word in words)
        return [*programs.get(first, [str(Path(sys.executable).with_name(first))]), *rest]

    def start(self, name):
        return Child(name, self.command(self.services[name]["command"]), self._environment)

    def is_healthy(self, name):
        kind, *words = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        done = subprocess.run(
            self.command(words),
            capture_output=True,
            cwd=CHECKOUT,
            env=self._environment,
            timeout=30,
            check=False,
        )
        return done.returncode == 0
