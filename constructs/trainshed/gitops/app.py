"""The cdk8s App of a Trainshed repository: renders clusters and writes `dist/` with its own writer.

cdk8s' writer names files by Kind and name alone and loses objects (cdk8s#2821), prefixes folders with numbers that
shift, and leaves stale files behind; its CLI deletes the output folder before the app has run. So `synth()` renders
everything first and then hands one complete set of files to `publish()`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_type_hints

import cdk8s
import jsii

from trainshed.addresses import folder_error, repository_error, revision_error
from trainshed.api.types import shaped
from trainshed.collector import collector_paused
from trainshed.faults import Fault, Faults
from trainshed.gitops.application import Rendered
from trainshed.gitops.arguments import faults_in, refused
from trainshed.gitops.cluster import Cluster
from trainshed.gitops.failures import faults_from_exception
from trainshed.gitops.hints import misfits, told_of
from trainshed.gitops.include import tell_what_include_cannot_read
from trainshed.gitops.layout import file_name, identity
from trainshed.gitops.publish import File, publish, texts_of
from trainshed.gitops.values import calling_place, faults_collected
from trainshed.gitops.yaml_text import GENERATED, to_yaml


@dataclass(frozen=True)
class Repository:
    """Where Argo CD reads `dist/` from: Git address, revision, and the folder of `dist/` in it.

    The address is https, http, ssh or `git@host:path`, without password or token. Raises Faults for what is not so.
    """

    example: ClassVar[str] = 'Repository(url="https://git.example.com/platform/clusters.git")'

    url: Annotated[str, shaped(repository_error)]
    revision: Annotated[str, shaped(revision_error)] = "main"
    path: Annotated[str, shaped(folder_error)] = "dist"

    def __post_init__(self) -> None:
        if broken := [
            found
            for name, hint in get_type_hints(type(self), include_extras=True).items()
            if name != "example"
            for found in misfits(getattr(self, name), hint, name)
        ]:
            raise Faults(faults_in(broken, "Repository"))


class App(cdk8s.App):
    """The root of all clusters. With a `repository`, each cluster gets its Argo CD objects too."""

    @refused
    def __init__(self, *, repository: Repository | None = None) -> None:
        tell_what_include_cannot_read()
        super().__init__()
        self.path = ""
        self._folder = Path.cwd()  # a stack may go elsewhere, dist/ does not
        self.repository = repository
        self.clusters: list[Cluster] = []
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []

    def add(self, cluster: Cluster) -> None:
        """Called by each cluster as it is made."""
        self.clusters.append(cluster)

    def build(self, *clusters: Callable[[App], Cluster]) -> None:
        """Makes each cluster; what one of them raises is collected, so that the others are judged too."""
        for index, cluster in enumerate(clusters):
            made = len(self.clusters)
            if not callable(cluster):
                told = f"is {told_of(cluster)}, must be the class of a cluster"
                place = calling_place()
                self.faults.append(Fault(told, "App", f"build[{index}]", "write for example app.build(Lab)", place))
                continue
            try:
                with faults_collected(self.faults):
                    cluster(self)
            except Exception as error:
                self.faults.extend(faults_from_exception(error))
                # Half a cluster is judged by what it has said itself: rules about all of it would cry wolf.
                for half in self.clusters[made:]:
                    self.faults.extend(half.faults)
                    self.warnings.extend(half.warnings)
                del self.clusters[made:]

    def files(self) -> dict[str, str]:
        """Path below `dist/` → text, for all clusters. Raises Faults with every mistake of all of them."""
        return texts_of(self.rendered())

    @collector_paused()  # what a synth makes lives until it is written
    def rendered(self) -> dict[str, File]:
        """As `files()`, each with its manifest and the place in the stacks where that was made."""
        faults = list(self.faults)
        files: dict[str, File] = {}
        for cluster in self.clusters:
            self.warnings.extend(cluster.warnings)
            try:
                applications = cluster.render()
            except Faults as found:
                faults.extend(found.faults)
                continue
            for name, items in applications.items():
                for item in items:
                    path = f"{cluster.id}/{name}/{file_name(item.manifest)}"
                    if path in files:
                        faults.append(_twin(path, item))
                    files[path] = File(to_yaml(item.manifest, header(item.path)), item.manifest, item.place)
        if not files and not faults:
            faults.append(Fault("the stacks render nothing", fix="make at least one component in a cluster"))
        if faults:
            raise Faults(faults)
        return files

    @jsii.member(jsii_name="synth")
    def synth(self) -> None:
        """Renders all clusters, judges the whole as `trainshed check` does, and publishes it to `dist/`.

        Raises Faults, having written nothing. Warnings go to stderr.
        """
        try:
            files = self.rendered()
        finally:
            for warning in self.warnings:
                print(f"warning: {warning}", file=sys.stderr)
        publish(files, self._folder)


def _twin(path: str, item: Rendered) -> Fault:
    _, kind, namespace, name = identity(item.manifest)
    where = f' in namespace "{namespace}"' if namespace else ""
    return Fault(
        f'{kind} "{name}"{where} would overwrite {path} of another object',
        fix="give one of them another name",
        place=item.place,
    )


def header(path: str) -> tuple[str, ...]:
    """The comment lines above each generated manifest."""
    return (f"{GENERATED.removeprefix('# ')} from {path}. Do not edit: change the stack and run `trainshed synth`.",)
