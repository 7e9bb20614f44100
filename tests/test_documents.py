"""Documents tell the truth where a machine can tell: links lead somewhere, and what examples print is what comes out."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.command.conftest import environment, tornado_process

__all__ = ["environment", "tornado_process"]

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(path for pattern in ("*.md", "docs/*.md", "tests/*.md") for path in ROOT.glob(pattern))
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def named(path):
    return path.relative_to(ROOT).as_posix()


def anchors_of(text):
    """Return the anchors of the headings of a document, as GitHub makes them."""
    seen, found = {}, set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = seen[anchor] = seen.get(anchor, -1) + 1
        found.add(f"{anchor}-{again}" if again else anchor)
    return found


def broken_links(name, text, documents):
    """Return what is wrong with the links of a document; `documents` has the text of each by its path, None for other files."""
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (Path("/", name).parent / file).resolve().relative_to("/").as_posix() if file else name
        if path not in documents:
            yield f"{name} links to {target}, but there is no {path}"
        elif anchor and anchor not in anchors_of(documents[path] or ""):
            yield f"{name} links to {target}, but {path} has no such heading"


def tracked():
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split("\n")  # fmt: skip
    names = [name for name in files if name] or [
        named(path) for path in ROOT.rglob("*") if not {".git", ".venv"} & set(path.parts)
    ]
    return {name: (ROOT / name).read_text(encoding="utf-8") if name.endswith(".md") else None for name in names
            if (ROOT / name).is_file()}  # fmt: skip


def test_every_relative_link_leads_to_a_file_and_a_heading():
    documents = tracked()
    broken = [
        fault for path in DOCUMENTS for fault in broken_links(named(path), documents[named(path)], documents)
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("docs/none.md", "there is no docs/none.md"),
        ("#Two", "README.md has no such heading"),
        ("docs/a.md#three", "docs/a.md has no such heading"),
        ("a.py#two", "a.py has no such heading"),
    ],
)
def test_the_check_sees_a_broken_link(target, fault):
    documents = {"docs/a.md": "# One\n## `Two`, and more\n```\n# three\n```\n", "a.py": None}
    documents["README.md"] = (
        f"# One\nSee [there]({target}), [here](#one), [so](docs/a.md#two-and-more), [x](https://x)."
    )
    (broken,) = broken_links("README.md", documents["README.md"], documents)
    assert broken == f"README.md links to {target}, but {fault}"


FILE_NAME = re.compile(r"`([\w./*-]+\.(?:py|md|toml|yml))`")
EXAMPLES = {
    "path/to/file.py",
    "safest.py",
    "brokers.py",
    "opinions.py",
    "trust.py",
    "upstream.py",
    "tornado/storage/sqlite_store.py",
    "FILE.py",
}


def unknown_files(text, names):
    """Return the names of files that a document mentions and that nothing has, whole or from a folder on."""
    for name in FILE_NAME.findall(FENCE.sub("", text)):
        pattern = re.compile("(.*/)?" + re.escape(name).replace(r"\*", "[^/]*"))
        if name not in EXAMPLES and not any(pattern.fullmatch(known) for known in names):
            yield name


def test_every_file_that_a_document_mentions_is_there():
    documents = tracked()
    # What changed once may be gone by now.
    faults = {
        named(path): found
        for path in DOCUMENTS
        if path.name != "CHANGELOG.md" and (found := list(unknown_files(documents[named(path)], documents)))
    }
    assert faults == {}


def test_the_check_sees_a_file_that_is_gone():
    text = "`loops/part.py`, `parts.py`, `query/http*.py`, `loops/pa.py`, `http.py`\n```\n`z.py`\n```\n"
    assert list(unknown_files(text, ["tornado/loops/part.py", "tornado/query/http_x.py"])) == [
        "parts.py",
        "loops/pa.py",
        "http.py",
    ]


def test_the_readme_can_be_read_in_five_minutes_and_leads_to_every_document():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 150 <= text.count("\n") <= 200
    linked = {target.partition("#")[0] for target in LINK.findall(text)}
    assert {named(path) for path in DOCUMENTS} - linked == {"README.md"}


def blocks_of(name):
    """Return the examples of a document in their order: of fenced ones the language and text, of indented ones None and text."""
    text = (ROOT / name).read_text(encoding="utf-8")
    pattern = r"^```(\w*)\n(.*?)^```$|(?:(?<=\n\n)|\A)((?: {4}[^\n]*\n|\n(?= {4}))+)"
    return [
        (found[1], found[2])
        if found[2] is not None
        else (None, re.sub(r"^ {4}", "", found[3], flags=re.MULTILINE))
        for found in re.finditer(pattern, text, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("name", ["README.md", "docs/python.md", "docs/learning.md"])
def test_a_program_in_a_document_prints_what_stands_below_it(name, compiled_paths, capsys):
    blocks = blocks_of(name)
    place = next(index for index, (language, _) in enumerate(blocks) if language == "python")
    exec(compile(blocks[place][1], name, "exec"), {})
    assert capsys.readouterr().out == blocks[place + 1][1]


def performed(session, tornado_process, folder):
    """Perform `cat` and `tornado run` of a session, and return it with what came out.

    `cat` of a file that is not there makes it; what a run says beside its result is left as it stands, as it has times in it.
    """
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)[1:]
    came = ""
    for command, out in zip(parts[::2], parts[1::2], strict=True):
        came += f"$ {command}\n"
        program, *arguments = command.split()
        if program == "cat":
            path = folder / arguments[0]
            if not path.exists():
                path.write_text(out)
            came += path.read_text()
        else:
            assert (program, arguments[0]) == ("tornado", "run"), command
            done = tornado_process(*arguments, timeout_s=600)
            assert done.code == 0, done.err
            came += done.out or out
    return came


def sessions_of(name):
    return [
        text
        for language, text in blocks_of(name)
        if language is None and "$ tornado run" in text and "$ cat" in text
    ]


def test_the_file_of_the_readme_gives_the_answer_of_the_readme(compiled_paths, tornado_process, tmp_path):
    blocks = blocks_of("README.md")
    (roads,) = (text for _, text in blocks if text.startswith("src,dst,weight,op\n"))
    (tmp_path / "roads.csv").write_text(roads)
    (session,) = sessions_of("README.md")
    assert performed(session, tornado_process, tmp_path) == session
    (quarantine,) = (tmp_path / "data").rglob("*.quarantine.jsonl")
    said = [text for _, text in blocks_of("docs/command-line.md") if '"reason"' in text]
    assert [quarantine.read_text()] == said


def test_the_program_of_the_document_whose_answer_has_a_bound_is_as_near_as_that(tornado_process, tmp_path):
    text = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"`trust\.py`:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in blocks_of("docs/extending.md") if language is None]
    place = next(index for index, block in enumerate(blocks) if block.startswith("1,2,0.25\n"))
    (tmp_path / "trust.py").write_text(program)
    (tmp_path / "trusts.csv").write_text(blocks[place])
    done = tornado_process("run", "trust.py:Trust", "--edges", "trusts.csv", "--output", "-", timeout_s=600)
    assert done.code == 0, done.err

    def values(lines):
        return {vertex: float(value) for vertex, value in (line.split(",") for line in lines.split()[1:])}

    assert values(done.out) == pytest.approx(values(blocks[place + 1]), abs=1e-6)


def test_the_programs_of_the_document_give_the_answers_of_the_document(tornado_process, tmp_path):
    name = "docs/extending.md"
    text = (ROOT / name).read_text(encoding="utf-8")
    for file, program in re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (tmp_path / file).write_text(program)
    sessions = sessions_of(name)
    assert len(sessions) == 4
    for session in sessions:
        assert performed(session, tornado_process, tmp_path) == session
