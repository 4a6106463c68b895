"""Volumes made of several sources, and of fields of the pod.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, validateProjectionSources.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.refs import FIELDS_IN_FILES, KeyToPath, ObjectFieldSelector, ResourceFieldSelector
from trainshed.api.core.shapes import FilePath, Text, UserId, at_most_one, exactly_one, mode_rules, projected_path_error
from trainshed.api.selectors import LabelSelector
from trainshed.api.types import Bool, Int32, Int64, Str

_SOURCES: Final = (
    "cluster_trust_bundle",
    "config_map",
    "downward_api",
    "pod_certificate",
    "secret",
    "service_account_token",
)


class DownwardAPIVolumeFile(Model):
    """A field or resource of the pod, as a file."""

    field_ref: ObjectFieldSelector | None = None
    mode: Int32 | None = None
    path: FilePath
    resource_field_ref: ResourceFieldSelector | None = None
    user: UserId | None = None

    def rules(self) -> Iterator[Broken]:
        """validateDownwardAPIVolumeFile."""
        yield from exactly_one(self, ("field_ref", "resource_field_ref"), "source")
        yield from mode_rules("mode", self.mode)
        if self.field_ref:
            yield from self.field_ref.rules_among(FIELDS_IN_FILES, "fieldRef.fieldPath")
        if self.resource_field_ref and not self.resource_field_ref.container_name:
            yield Broken("resourceFieldRef.containerName", "is missing", "add the name of the container")


class DownwardAPIVolumeSource(Model):
    """Fields and resources of the pod, as files."""

    default_mode: Int32 | None = None
    default_user: UserId | None = None
    items: list[DownwardAPIVolumeFile] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateDownwardAPIVolumeSource."""
        yield from mode_rules("defaultMode", self.default_mode)


class DownwardAPIProjection(Model):
    """Fields and resources of the pod, as files in a projected volume."""

    items: list[DownwardAPIVolumeFile] | None = None


class ConfigMapProjection(Model):
    """Keys of a ConfigMap, as files in a projected volume."""

    items: list[KeyToPath] | None = None
    name: Str | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectionSources."""
        if not self.name:
            yield Broken("name", "is missing", "add the name of the ConfigMap")


class SecretProjection(Model):
    """Keys of a Secret, as files in a projected volume."""

    items: list[KeyToPath] | None = None
    name: Str | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectionSources."""
        if not self.name:
            yield Broken("name", "is missing", "add the name of the Secret")


class ServiceAccountTokenProjection(Model):
    """A token of the pod's service account, as a file. It is valid for an hour by default, at least ten minutes."""

    audience: Str | None = None
    expiration_seconds: Annotated[Int64, Field(ge=600, le=2**32)] | None = None
    path: FilePath
    user: UserId | None = None


class ClusterTrustBundleProjection(Model):
    """Certificates to trust: of one bundle by name, or of a signer's bundles by label."""

    label_selector: LabelSelector | None = None
    name: Str | None = None
    optional: Bool | None = None
    path: FilePath
    signer_name: Str | None = None
    user: UserId | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectionSources."""
        yield from exactly_one(self, ("name", "signer_name"), "source")
        if self.name is not None and self.label_selector is not None:
            yield Broken("labelSelector", "stands beside a name", "remove it, or use signerName")


class PodCertificateProjection(Model):
    """A private key and a certificate for the pod, from a signer."""

    certificate_chain_path: Str | None = None
    credential_bundle_path: Str | None = None
    key_path: Str | None = None
    key_type: Literal["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"]
    max_expiration_seconds: Annotated[Int32, Field(ge=3600, le=7862400)] | None = None
    signer_name: Text
    user: UserId | None = None
    user_annotations: dict[str, Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectionSources: one file, or two."""
        names = ("credential_bundle_path", "key_path", "certificate_chain_path")
        if not any(getattr(self, name) for name in names):
            yield Broken("", "names no file", "add credentialBundlePath")
        for name in names:
            path = getattr(self, name)
            if path and (error := projected_path_error(path)):
                yield Broken(type(self).model_fields[name].alias or name, error)


class VolumeProjection(Model):
    """One source of a projected volume."""

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: Annotated[DownwardAPIProjection | None, Field(alias="downwardAPI")] = None
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectionSources."""
        yield from at_most_one(self, _SOURCES, "source")

    def paths(self) -> list[str]:
        """The files that this source is known to make."""
        one = self.config_map or self.secret or self.downward_api
        paths = [item.path for item in (one.items if one else None) or []]
        return [*paths, *(made.path for made in (self.cluster_trust_bundle, self.service_account_token) if made)]


class ProjectedVolumeSource(Model):
    """Several sources in one folder."""

    default_mode: Int32 | None = None
    default_user: UserId | None = None
    sources: list[VolumeProjection] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateProjectedVolumeSource: permissions, and no file from two sources."""
        yield from mode_rules("defaultMode", self.default_mode)
        seen: set[str] = set()
        for index, source in enumerate(self.sources or []):
            for path in source.paths():
                if path in seen:
                    yield Broken(f"sources[{index}]", f'"{path}" is made by another source as well', "rename one")
                seen.add(path)
