"""rbac.authorization.k8s.io/v1: Role and RoleBinding.

Rules: kubernetes v1.36, `pkg/apis/rbac/validation/validation.go`, after the defaults of `pkg/apis/rbac/v1/defaults.go`.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.shapes import path_segment_error
from trainshed.api.types import Str, shaped

GROUP: Final = "rbac.authorization.k8s.io"


class PolicyRule(Model):
    """Verbs on resources. `api_groups: [""]` is the core group; without `resource_names`, all names."""

    api_groups: list[Str] | None = None
    non_resource_urls: Annotated[list[Str] | None, Field(alias="nonResourceURLs")] = None
    resource_names: list[Str] | None = None
    resources: list[Str] | None = None
    verbs: Annotated[list[Str], Field(min_length=1)]

    def rules(self) -> Iterator[Broken]:
        """`validatePolicyRule` for a namespaced rule."""
        if self.non_resource_urls:
            yield Broken("nonResourceURLs", "a Role is about one namespace, and URLs are about none", "leave it out")
            return
        if not self.api_groups:
            yield Broken("apiGroups", "is missing", 'write the groups of the resources; "" is the core group')
        if not self.resources:
            yield Broken("resources", "is missing", 'write the resources, such as "pods"')
        elif self.resource_names and len(self.resources) > 1:
            yield Broken("resourceNames", "cannot apply to several resources", "write one rule for each resource")


class Role(KubernetesObject):
    """What may be done in one namespace."""

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(path_segment_error)

    api_version: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["Role"] = "Role"
    rules_: Annotated[list[PolicyRule] | None, Field(alias="rules")] = None


class RoleRef(Model):
    """The Role of the same namespace, or the ClusterRole, that is granted."""

    api_group: Literal["rbac.authorization.k8s.io"] | None = None
    kind: Literal["Role", "ClusterRole"]
    name: Annotated[Str, shaped(path_segment_error)]


class Subject(Model):
    """Who gets it. Without `namespace`, a ServiceAccount is one of the binding's own namespace."""

    api_group: Str | None = None
    kind: Literal["ServiceAccount", "User", "Group"]
    name: Annotated[Str, Field(min_length=1)]
    namespace: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateRoleBindingSubject`; the group defaults to the right one for each kind."""
        right = "" if self.kind == "ServiceAccount" else GROUP
        if self.api_group and self.api_group != right:
            yield Broken("apiGroup", f'"{self.api_group}" is not the group of a {self.kind}', "leave it out")
        if self.kind == "ServiceAccount" and (error := naming.dns1123_subdomain_error(self.name)):
            yield Broken("name", error)


class RoleBinding(KubernetesObject):
    """Grants a Role to subjects, in the binding's namespace."""

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(path_segment_error)
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("roleRef",)

    api_version: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["RoleBinding"] = "RoleBinding"
    role_ref: RoleRef
    subjects: list[Subject] | None = None
