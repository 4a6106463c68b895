"""`trainshed check` and `trainshed explain` as a person runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trainshed.cli import main

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
BAD = GOOD.replace("b}", "1}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository as working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)
    return tmp_path


def trainshed(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


def run(arguments: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    code = "from trainshed.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], input=stdin, capture_output=True, check=False)


def test_exit_codes() -> None:
    assert trainshed("check", "good.yaml").exit_code == 0
    assert trainshed("check", "bad.yaml").exit_code == 1
    assert trainshed("check", "absent.yaml").exit_code == 2
    assert trainshed("check", "--output", "xml", "good.yaml").exit_code == 2
    assert trainshed("check", "--select", "nonsense", "good.yaml").exit_code == 2


def test_an_interrupt_is_no_error_that_was_found() -> None:
    code = "import sys; from trainshed.cli import main; print('up', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever starts the tests in the background ignores SIGINT, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (130, "interrupted\n")


def test_an_early_interrupt_of_synth_is_told_like_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainshed.synthesis.read_config", interrupted)
    ran = trainshed("synth")
    assert (ran.exit_code, ran.stderr) == (130, "interrupted\n")


def test_standard_input_is_read() -> None:
    ran = run(["check", "-", "--output", "json"], BAD.encode())
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["findings"][0]["file"] == "<stdin>"
    assert ran.stderr == b""


def test_what_cannot_run_says_why() -> None:
    ran = trainshed("check")
    assert ran.exit_code == 2
    assert "nothing to check" in ran.stderr
    assert trainshed("check", "good.yaml", "--target", "kueu=1").stderr == (
        'error: target "kueu" is not known; did you mean "kueue"?\n'
    )


def test_settings_give_paths_and_options_replace_them() -> None:
    Path("trainshed.toml").write_text('[check]\npaths = ["bad.yaml"]\nignore = ["schema"]\n')
    assert trainshed("check").exit_code == 0
    assert trainshed("check", "--ignore", "yaml").exit_code == 1
    assert trainshed("check", "--config", "absent.toml").exit_code == 2


def test_output_is_utf8_whatever_the_locale_says() -> None:
    Path("bad.yaml").write_text(BAD.replace("name: a", "name: é"), encoding="utf-8")
    code = "from trainshed.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code, "check", "bad.yaml"],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": ":".join(sys.path)},
    )
    assert "ConfigMap/é".encode() in ran.stdout
    assert ran.stderr == b""


def test_a_reader_that_stops_early_is_no_error() -> None:
    for number in range(300):
        Path(f"bad-{number}.yaml").write_text(BAD)
    code = "from trainshed.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "check", "."], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_the_command_starts_light(text: str) -> None:
    """No cdk8s, no Node, and nothing that only other outputs or kinds need."""
    Path("one.yaml").write_text(text)
    code = (
        "import sys; from trainshed.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, "check", "one.yaml"], capture_output=True, check=False)
    loaded = set(ran.stderr.decode().split())
    assert "trainshed" in loaded
    heavy = {"cdk8s", "jsii", "constructs", "rich", "cel", "jsonschema_rs", "kubernetes_validate", "ruamel", "tarfile"}
    assert loaded & heavy == set()


def test_the_command_reads_no_page_and_no_model_of_another_kind() -> None:
    """Both cost a tenth of the start: docstrings of all rules, models of pods."""
    Path("one.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n")
    code = (
        "import sys; from trainshed.cli import main\n"
        "try: main(['check', 'one.yaml'])\n"
        "except SystemExit: pass\n"
        "from trainshed.checks.rule import RULES\n"
        "print([code for code, rule in RULES.items() if 'page' in vars(rule)])\n"
        "print(sorted({f'trainshed.api.{name}' for name in ('batch', 'trainer', 'volcano')} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-2:] == ["[]", "[]"]


def test_explain_prints_a_page() -> None:
    page = trainshed("explain", "kueue-deprecated-version")
    assert page.exit_code == 0
    assert page.output.startswith("# kueue-deprecated-version\n")
    assert "cohortName" in page.output


def test_explain_lists_the_codes_that_begin_with_the_words_given() -> None:
    listed = trainshed("explain", "kueue").stdout
    assert "kueue-deprecated-version" in listed
    assert "schema-rule" not in listed
    assert trainshed("explain", "kue").exit_code == 2


def test_explain_lists_all_codes_and_names_the_nearest() -> None:
    listed = trainshed("explain")
    assert listed.exit_code == 0
    assert "schema-unknown-field" in listed.output
    wrong = trainshed("explain", "schema-unknown-fields")
    assert wrong.exit_code == 2
    assert wrong.stderr == 'error: "schema-unknown-fields" is no code; did you mean "schema-unknown-field"?\n'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_that_finds_no_room_is_one_line_and_2() -> None:
    command = [sys.executable, "-c", "from trainshed.cli import main; main()", "check", "good.yaml"]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "error: the report cannot be written: No space left on device\n"


def test_the_first_word_of_codes_is_proposed() -> None:
    assert 'did you mean "kueue"?' in trainshed("check", "good.yaml", "--select", "kueu").stderr


def test_a_check_without_findings_loads_nothing_that_only_others_need() -> None:
    code = (
        "import sys; from trainshed.cli import main\n"
        "try: main(['check', 'good.yaml'])\n"
        "except SystemExit: print(sorted({'difflib', 'rich', 'cdk8s', 'jsii'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
