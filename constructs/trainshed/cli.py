"""The command line: arguments in, calls, tables out. Heavy parts are imported by the command that needs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from trainshed import __version__
from trainshed.collector import collector_paused
from trainshed.faults import printable

if TYPE_CHECKING:
    from trainshed.gitops.tree import Changes


class _Commands(click.Group):
    """Commands that Ctrl-C ends with 130, as a shell would say; click's own 1 would mean that errors were found."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trainshed")
def main() -> None:
    """Typed GitOps for shared GPU training clusters.

    Exit codes: 0 all is well, 1 errors were found, 2 the command could not run, 130 it was interrupted.
    """


@main.command()
@click.option("--verify", is_flag=True, help="Write nothing; exit 1 and list the files when dist/ is stale.")
@click.option("--no-check", is_flag=True, help="Do not judge what is rendered as `trainshed check` does.")
def synth(verify: bool, no_check: bool) -> None:
    """Render the stacks, check the result, write it into dist/, and say what changed.

    Runs the app that cdk8s.yaml names, in a process of its own. When that fails, or the check finds an error, dist/
    stays as it was, and the exit code is 1.
    """
    from trainshed.checks.options import CannotCheck
    from trainshed.gitops.app_config import CannotRun
    from trainshed.synthesis import Synthesis

    try:
        made = Synthesis(Path.cwd(), verify=verify, check=not no_check).run()
    except (CannotRun, CannotCheck) as error:
        _stop(str(error))
    if made.changes is not None:
        words, limit = (_DIFFERENCES, sys.maxsize) if verify else (_CHANGES, _ROWS_SHOWN)
        _show(made.changes, made.dist, words, limit)
    click.echo(made.told, err=True, nl=False)
    if made.failed:
        sys.exit(1)


@main.command()
@click.argument("what", type=click.Choice(["tenant"]))
def schema(what: str) -> None:
    """Print the JSON Schema of a YAML input, for editors."""
    from trainshed.inputs.schema import schema_text

    click.echo(schema_text(what))


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--cluster", default="production", show_default=True, help="Name of the first cluster.")
@click.option("--repository", default="https://git.example.com/platform/clusters.git", help="Git address for Argo CD.")
def init(folder: Path, cluster: str, repository: str) -> None:
    """Write a small working repository into FOLDER: a stack, a tenant file, cdk8s.yaml, CI and pre-commit."""
    from trainshed.scaffold import CannotInit, write_scaffold

    try:
        written = write_scaffold(folder, cluster=cluster, repository=repository)
    except CannotInit as error:
        _stop(str(error))
    for path in written:
        click.echo(path)


@main.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--baseline", metavar="PATH|REVISION", help="The state before; judges the change as well.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "github", "sarif", "junit"]),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option("--select", metavar="CODE", multiple=True, help="Only these codes, or those that begin so (kueue).")
@click.option("--ignore", metavar="CODE", multiple=True, help="Not these codes.")
@click.option("--severity", type=click.Choice(["error", "warning", "info"]), help="The lowest severity to report.")
@click.option("--target", metavar="SYSTEM=RELEASE", multiple=True, help="Versions to judge for: kueue=0.18,trainer=2.2")
@click.option("--crds", metavar="PATH", multiple=True, help="CustomResourceDefinitions to judge custom resources by.")
@click.option("--config", metavar="FILE", help="Default: the nearest trainshed.toml or pyproject.toml.")
def check(paths: tuple[str, ...], **options: Any) -> None:
    """Judge Kubernetes manifests: files, folders, or - for standard input.

    Says what will be refused, hang, wait for ever, drift or be lost, with the place and the fix.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them reads every installed package
    with collector_paused():  # one report, then the end: walking through 300 models costs a tenth of the start
        from trainshed.checks.command import run_check
        from trainshed.checks.options import CannotCheck

        try:
            code = run_check(paths, **options)
        except CannotCheck as error:
            _stop(str(error))
    sys.exit(code)


@main.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain a CODE of a finding: what, why and how to mend it. Without CODE, list all; with the first words
    of codes, such as kueue, those."""
    from trainshed.checks.command import run_explain
    from trainshed.checks.options import CannotCheck

    try:
        click.echo(run_explain(code))
    except CannotCheck as error:
        _stop(str(error))


#: How the lists of `Changes` are called where they were made, and where they were only found.
_CHANGES = {"added": "added", "changed": "changed", "removed": "removed", "unchanged": "unchanged"}
_DIFFERENCES = {
    "added": "missing",
    "changed": "different",
    "removed": "left over",
    "foreign": "not generated",
    "unchanged": "up to date",
}
_ROWS_SHOWN = 40


def _show(changes: Changes, dist: str, words: dict[str, str], limit: int) -> None:
    """A row for each file, then one line of sums. Rows are plain text where no terminal reads them."""
    lists: dict[str, list[str]] = {word: getattr(changes, name) for name, word in words.items()}
    *differing, _ = lists.items()
    rows = [(word, f"{dist}/{path}") for word, paths in differing for path in paths]
    width = max((len(word) for word, _ in rows), default=0)
    for word, path in rows[:limit]:
        click.echo(f"{click.style(f'{word:{width}}', fg=_COLOURS.get(word))}  {printable(path)}")
    if len(rows) > limit:
        click.echo(f"… and {len(rows) - limit} more")
    click.echo(f"{dist}/: " + ", ".join(f"{len(paths)} {word}" for word, paths in lists.items()))


_COLOURS = {"added": "green", "changed": "yellow", "removed": "red"}


def _stop(message: str) -> NoReturn:
    click.echo(f"error: {printable(message)}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
