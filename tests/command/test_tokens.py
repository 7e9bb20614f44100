"""`--tokens` and `--token`: who is let in, from the command line's two sides."""

import json
import signal
import subprocess
import sys

import httpx
import pytest

pytestmark = pytest.mark.usefixtures("compiled_paths")

EDGES = "src,dst,weight\n1,2,4.0\n2,3,1.0\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_an_address_of_others_without_tokens_is_wrong_usage_that_names_the_option(tornado, host):
    done = tornado("run", "sssp", "--source", "1", "--http", f"{host}:0")
    assert done.code == 2
    assert "--tokens" in done.err
    assert not done.out


@pytest.mark.parametrize(
    ("content", "said"),
    [("read good\nfrobnicate s3cr3t\n", "line 2"), (None, "No such file"), ("", "no token")],
)
def test_a_file_of_tokens_that_cannot_be_read_is_wrong_usage(tornado, tmp_path, content, said):
    path = tmp_path / "tokens"
    if content is not None:
        path.write_text(content)
    for arguments, variables in ((("--tokens", str(path)), {}), ((), {"TORNADO_TOKENS": str(path)})):
        done = tornado("run", "sssp", "--source", "1", "--http", "127.0.0.1:0", *arguments, **variables)
        assert done.code == 2
        assert "--tokens" in done.err and said in done.err
        assert "s3cr3t" not in done.err


@pytest.fixture
def process(environment, tmp_path):
    """A service with tokens, and a function that starts it."""
    started = []

    def start(*arguments, **variables):
        (tmp_path / "roads.csv").write_text(EDGES)
        command = [
            sys.executable,
            "-m",
            "tornado",
            "run",
            "sssp",
            "--source",
            "1",
            "--edges",
            "roads.csv",
            "--json",
        ]
        process = subprocess.Popen(
            [*command, "--store", "memory:", "--http", "127.0.0.1:0", *arguments],
            cwd=tmp_path,
            env=environment | variables,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        for line in process.stderr:
            said = json.loads(line)
            if said["event"] == "ready":
                return process, said["url"]
        raise AssertionError("it ended")

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_service_with_tokens_asks_the_command_line_for_one_too(process, tornado):
    _, url = process(TORNADO_TOKENS="read r3ad\nwrite wr1te")
    refused = tornado("ls", "--url", url)
    assert refused.code == 1 and "--token" in refused.err
    wrong = tornado("query", "sssp", "--url", url, "--token", "s3cr3t")
    assert wrong.code == 1 and "s3cr3t" not in wrong.err
    assert tornado("query", "sssp", "--url", url, TORNADO_TOKEN="r3ad").code == 0
    stopped = tornado("stop", "sssp", "--url", url, "--token", "r3ad")
    assert stopped.code == 1 and "only reads" in stopped.err
    assert tornado("stop", "sssp", "--url", url, "--token", "wr1te").code == 0


def test_a_token_that_no_header_can_carry_is_wrong_usage(tornado):
    done = tornado("ls", "--token", "sécret words")
    assert done.code == 2
    assert "sécret" not in done.err


def test_a_pipeline_has_a_token_of_its_own_and_hears_of_no_other(process, tmp_path):
    path = tmp_path / "pipeline.py"
    path.write_text(
        "import os, urllib.request as r\n"
        "assert 'TORNADO_TOKENS' not in os.environ\n"
        "url = f\"{os.environ['TORNADO_URL']}/v1/loops/{os.environ['TORNADO_LOOP']}/edges\"\n"
        "headers = {'content-type': 'application/x-ndjson', 'authorization': f\"Bearer {os.environ['TORNADO_TOKEN']}\"}\n"
        'print(r.urlopen(r.Request(url, b\'{"src": 3, "dst": 4}\', headers)).status)\n'
    )
    running, url = process("--pipeline", str(path), TORNADO_TOKENS="read r3ad")
    for line in running.stderr:
        said = json.loads(line)
        assert said["event"] != "error", said
        if said["event"] == "pipeline-ended":
            break
    answer = httpx.post(
        f"{url}/v1/queries?wait_s=30",
        json={"loop": "sssp", "vertices": [4]},
        headers={"Authorization": "Bearer r3ad"},
        timeout=60,
    )
    assert answer.json()["result"]["values"] == [{"vertex": 4, "value": 6.0}]


def test_a_signal_has_the_tokens_read_again_and_each_change_is_a_line_of_the_audit(process, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("write f1rst")
    running, url = process("--tokens", str(path))

    def push(token):
        headers = {"Authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
        edge = b'{"src": 3, "dst": 4}'
        return httpx.post(f"{url}/v1/loops/sssp/edges", content=edge, headers=headers).status_code

    def said(event):
        for line in running.stderr:
            if (found := json.loads(line))["event"] == event:
                assert "f1rst" not in line and "s3cond" not in line
                return found
        raise AssertionError("it ended")

    assert push("f1rst") == 202
    audit = said("audit")
    assert (audit["who"][:7], audit["path"], audit["status"]) == ("sha256:", "/v1/loops/sssp/edges", 202)
    assert audit["time"] and audit["request"]
    path.write_text("write s3cond")
    running.send_signal(signal.SIGHUP)
    said("reloaded")
    assert (push("f1rst"), push("s3cond")) == (401, 202)
    path.write_text("wrong s3cond")
    running.send_signal(signal.SIGHUP)
    assert "the tokens stay as they were: " in (message := said("error")["message"])
    assert "line 1" in message
    assert push("s3cond") == 202


@pytest.mark.parametrize(
    ("options", "variables", "code"),
    [
        (("--tokens", "none"), {}, 2),
        (("--tls-certificate", "none.pem", "--tls-key", "none.key"), {}, 2),
        ((), {"TORNADO_TOKENS": "none"}, 0),  # it may be there for other runs
    ],
)
def test_what_is_for_the_interface_is_wrong_usage_without_it(tornado, tmp_path, options, variables, code):
    (tmp_path / "roads.csv").write_text(EDGES)
    arguments = (
        "--source",
        "1",
        "--edges",
        str(tmp_path / "roads.csv"),
        "--store",
        "memory:",
        "--output",
        "-",
    )
    done = tornado("run", "sssp", *arguments, *options, **variables)
    assert done.code == code, done.err
    assert ("is for the HTTP interface, and there is none" in done.err) == (code == 2)
    assert not options or options[0] in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tls-certificate", "none.pem"), "without --tls-key"),
        (("--tls-key", "none.key"), "without --tls-certificate"),
        (("--tls-certificate", "none.pem", "--tls-key", "none.key"), "cannot be read"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_wrong_usage(tornado, options, said):
    done = tornado("run", "sssp", "--source", "1", "--http", "127.0.0.1:0", *options)
    assert done.code == 2
    assert said in done.err
