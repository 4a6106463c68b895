"""Argo CD's ApplicationSet, v3.5.1: one template, many Applications.

Rules: `applicationset/controllers` and `applicationset/utils` at v3.5.1, and the operator manual's page on templates.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from trainshed.api.argocd.generators import ApplicationSetTemplate, Generator
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Bool, IntOrString, Str

_OPTIONS: Final = tuple(f"missingkey={mode}" for mode in ("default", "invalid", "zero", "error"))
_PERCENT: Final = re.compile(r"[0-9]+%")


class ApplicationSetSyncPolicy(Model):
    """What the set may do to its Applications, and whether their objects outlive it."""

    preserve_resources_on_deletion: Bool | None = None
    applications_sync: Literal["create-only", "create-update", "create-delete", "sync"] | None = None


class StepMatch(Model):
    """A condition on an Application's labels."""

    key: Str | None = None
    operator: Str | None = None
    values: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """The two operators: Argo CD v3.5.1, `applicationset_controller.go`, `buildAppDependencyList`."""
        if self.operator not in ("In", "NotIn"):
            yield Broken("operator", f'it is "{self.operator or ""}"', 'write "In" or "NotIn"')


class RolloutStep(Model):
    """Applications that go together, and how many of them at a time."""

    match_expressions: list[StepMatch] | None = None
    max_update: IntOrString | None = None

    def rules(self) -> Iterator[Broken]:
        """A number or a percentage: `intstr.GetScaledValueFromIntOrPercent`."""
        if isinstance(self.max_update, str) and not _PERCENT.fullmatch(self.max_update):
            yield Broken("maxUpdate", f'"{self.max_update}" is not a percentage', 'write 2 or "25%"')


class RollingSync(Model):
    """Syncs step by step; auto-sync of the Applications is switched off meanwhile."""

    steps: list[RolloutStep] | None = None


class Strategy(Model):
    """In which order Applications are synced (`type`) and deleted (`deletion_order`)."""

    type: Str | None = None
    rolling_sync: RollingSync | None = None
    deletion_order: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """Argo CD v3.5.1 ignores what does not fit (`applicationset_controller.go`, progressive syncs)."""
        steps = self.rolling_sync.steps if self.rolling_sync else None
        rolling = self.type == "RollingSync"
        if self.type not in (None, "", "AllAtOnce", "RollingSync"):
            yield Broken("type", f'"{self.type}" is not a strategy', 'write "AllAtOnce" or "RollingSync"')
        if rolling and not steps:
            yield Broken("rollingSync.steps", "it is empty, so RollingSync does nothing", "add steps")
        order = (self.deletion_order or "").lower()
        if order not in ("", "allatonce", "reverse"):
            yield Broken("deletionOrder", f'"{self.deletion_order}" is not an order', 'write "AllAtOnce" or "Reverse"')
        if order == "reverse" and not (rolling and steps):
            yield Broken("deletionOrder", "Reverse works only with RollingSync", 'write type "RollingSync" with steps')


class PreservedFields(Model):
    """Labels and annotations of Applications that others write and the set leaves alone."""

    annotations: list[Str] | None = None
    labels: list[Str] | None = None


class ApplicationIgnoreDifferences(Model):
    """Fields of Applications, all or the one called `name`, that the set leaves alone."""

    name: Str | None = None
    json_pointers: list[Str] | None = None
    jq_path_expressions: list[Str] | None = None


class ApplicationSetSpec(Model):
    """The desired state. `go_template` selects Go templates; without it, `{{name}}` is plain substitution."""

    go_template: Bool | None = None
    generators: list[Generator]
    template: ApplicationSetTemplate
    sync_policy: ApplicationSetSyncPolicy | None = None
    strategy: Strategy | None = None
    preserved_fields: PreservedFields | None = None
    go_template_options: list[Str] | None = None
    apply_nested_selectors: Bool | None = None
    ignore_application_differences: list[ApplicationIgnoreDifferences] | None = None
    template_patch: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """Go's `text/template` knows one option; `templatePatch` needs Go templates (operator manual, templates)."""
        for index, option in enumerate(self.go_template_options or []):
            if self.go_template and option not in _OPTIONS:
                fix = f"write one of {', '.join(_OPTIONS)}"
                yield Broken(f"goTemplateOptions[{index}]", f'"{option}" is not an option of Go templates', fix)
        if self.template_patch and not self.go_template:
            yield Broken("templatePatch", "it works only with Go templates", "add goTemplate: true")


class ApplicationSet(KubernetesObject):
    """One set of Applications."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["argoproj.io/v1alpha1"] = "argoproj.io/v1alpha1"
    kind: Literal["ApplicationSet"] = "ApplicationSet"
    spec: ApplicationSetSpec
