"""A service to be watched, and a real Prometheus that watches it, where there is one."""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.ports import free_port

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.fixture(scope="session")
def dashboard():
    spec = importlib.util.spec_from_file_location("deploy_dashboard", DEPLOY / "dashboard.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The URL of a service that has been asked, with a store on disk."""
    folder = tmp_path_factory.mktemp("store")
    with tornado.open(f"lmdb://{folder}/roads", workers=1) as session:
        paths = session.start(ShortestPaths(source=1), name="roads")
        paths.insert([1, 2], [2, 3], [1.0, 2.0])
        paths.query(vertices=[3]).result()
        yield session.serve(port=0).url


@pytest.fixture(scope="module")
def metric_names(service):
    """The names of all samples, and those that a counter or histogram has."""
    lines = httpx.get(f"{service}/metrics", trust_env=False).text.splitlines()
    kinds = dict(line.split()[2:4] for line in lines if line.startswith("# TYPE"))
    return {
        name + suffix
        for name, kind in kinds.items()
        for suffix in (("_bucket", "_count", "_sum") if kind == "histogram" else ("",))
    }


@pytest.fixture(scope="module")
def prometheus(service, tmp_path_factory):
    """Ask a real Prometheus that has scraped the service: a path, and what is asked, to the data of its answer."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus here (Debian has a package of that name)")
    folder = tmp_path_factory.mktemp("prometheus")
    target = service.removeprefix("http://")
    config = {
        "global": {"scrape_interval": "200ms", "evaluation_interval": "200ms"},
        "rule_files": [str(DEPLOY / "alerts.yml")],
        "scrape_configs": [{"job_name": "tornado-loops", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # which is YAML as well
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )

    def ask(path, **parameters):
        answer = httpx.get(f"http://{address}/api/v1/{path}", params=parameters, trust_env=False).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    try:
        until = time.monotonic() + 60
        while True:
            try:
                if ask("query", query="tornado_queries_submitted_total")["result"]:
                    break
            except (httpx.TransportError, json.JSONDecodeError):
                pass  # until it is ready, it says so in plain words
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        yield ask
    finally:
        process.terminate()
        process.wait()
