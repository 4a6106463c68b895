"""The command line: arguments in, calls, tables out. Heavy parts are imported by the command that needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from trainshed import __version__

if TYPE_CHECKING:
    from trainshed.gitops.tree import Changes


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trainshed")
def main() -> None:
    """Typed GitOps for shared GPU training clusters.

    Exit codes: 0 all is well, 1 errors were found, 2 the command could not run.
    """


@main.command()
@click.option("--verify", is_flag=True, help="Write nothing; exit 1 and list the files when dist/ is stale.")
def synth(verify: bool) -> None:
    """Render the stacks into dist/ and say what changed.

    Runs the app that cdk8s.yaml names. When anything fails, dist/ stays as it was.
    """
    from trainshed.gitops import faults_reported
    from trainshed.gitops.run_app import CannotRun, read_config, render_app
    from trainshed.gitops.tree import compare_tree, write_tree

    folder = Path.cwd()
    try:
        config = read_config(folder)
    except CannotRun as error:
        _stop(str(error))
    with faults_reported():
        files = render_app(folder, config)
        changes = compare_tree(config.dist, files) if verify else write_tree(config.dist, files)
    _show(changes, config.dist.name)
    if verify and changes:
        click.echo(f"error: {config.dist.name}/ is stale; run `trainshed synth` and commit what it writes", err=True)
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
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--baseline", metavar="PATH", help="State before the change; judges the change as well.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text")
def check(paths: tuple[str, ...], baseline: str | None, output: str) -> None:
    """Judge Kubernetes manifests: files, folders, or - for standard input."""
    from trainshed.checks.command import run_check
    from trainshed.checks.options import Options

    sys.exit(run_check(paths, output, Options(), baseline))


def _show(changes: Changes, dist: str) -> None:
    rows = [
        *(("added", path) for path in changes.added),
        *(("changed", path) for path in changes.changed),
        *(("removed", path) for path in changes.removed),
        *(("foreign", path) for path in changes.foreign),
    ]
    for what, path in rows[:_ROWS_SHOWN]:
        click.echo(f"{what:<7}  {dist}/{path}")
    if len(rows) > _ROWS_SHOWN:
        click.echo(f"… and {len(rows) - _ROWS_SHOWN} more")
    click.echo(
        f"{dist}/: {len(changes.added)} added, {len(changes.changed)} changed, {len(changes.removed)} removed, "
        f"{len(changes.unchanged)} unchanged"
    )


_ROWS_SHOWN = 40


def _stop(message: str) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
