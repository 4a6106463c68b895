"""Volume sources that Kubernetes has deprecated or turned over to CSI drivers. New manifests should not use them.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, validateVolumeSource and its callees.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.core.shapes import Text, descending_path_error, exactly_one
from trainshed.api.types import Bool, Int32, Str, shaped

Partition = Annotated[Int32, Field(ge=0, le=255)]
Monitors = Annotated[list[Str], Field(min_length=1)]


class AWSElasticBlockStoreVolumeSource(Model):
    """A disk of AWS."""

    fs_type: Str | None = None
    partition: Partition | None = None
    read_only: Bool | None = None
    volume_id: Annotated[Text, Field(alias="volumeID")]


class AzureDiskVolumeSource(Model):
    """A disk of Azure."""

    caching_mode: Literal["None", "ReadOnly", "ReadWrite"] | None = None
    disk_name: Text
    disk_uri: Annotated[Text, Field(alias="diskURI")]
    fs_type: Str | None = None
    kind: Literal["Shared", "Dedicated", "Managed"] | None = None
    read_only: Bool | None = None


class AzureFileVolumeSource(Model):
    """A file share of Azure."""

    read_only: Bool | None = None
    secret_name: Text
    share_name: Text


class CephFSVolumeSource(Model):
    """A Ceph file system."""

    monitors: Monitors
    path: Str | None = None
    read_only: Bool | None = None
    secret_file: Str | None = None
    secret_ref: LocalObjectReference | None = None
    user: Str | None = None


class CinderVolumeSource(Model):
    """A disk of OpenStack."""

    fs_type: Str | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_id: Annotated[Text, Field(alias="volumeID")]


class FlexVolumeSource(Model):
    """A volume of a driver from before CSI."""

    driver: Text
    fs_type: Str | None = None
    options: dict[str, Str] | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(Model):
    """A Flocker dataset."""

    dataset_name: Str | None = None
    dataset_uuid: Annotated[Str | None, Field(alias="datasetUUID")] = None

    def rules(self) -> Iterator[Broken]:
        """validateFlockerVolumeSource."""
        yield from exactly_one(self, ("dataset_name", "dataset_uuid"), "dataset")


class GCEPersistentDiskVolumeSource(Model):
    """A disk of Google Compute Engine."""

    fs_type: Str | None = None
    partition: Partition | None = None
    pd_name: Text
    read_only: Bool | None = None


class GitRepoVolumeSource(Model):
    """A clone of a Git repository. Kubernetes 1.36 no longer mounts it by default."""

    directory: Annotated[Str, shaped(descending_path_error)] | None = None
    repository: Text
    revision: Str | None = None


class GlusterfsVolumeSource(Model):
    """A Gluster file system."""

    endpoints: Text
    path: Text
    read_only: Bool | None = None


class PhotonPersistentDiskVolumeSource(Model):
    """A disk of Photon."""

    fs_type: Str | None = None
    pd_id: Annotated[Text, Field(alias="pdID")]


class PortworxVolumeSource(Model):
    """A Portworx volume."""

    fs_type: Str | None = None
    read_only: Bool | None = None
    volume_id: Annotated[Text, Field(alias="volumeID")]


class QuobyteVolumeSource(Model):
    """A Quobyte volume."""

    group: Str | None = None
    read_only: Bool | None = None
    registry: Text
    tenant: Str | None = None
    user: Str | None = None
    volume: Text


class RBDVolumeSource(Model):
    """A block device of Ceph."""

    fs_type: Str | None = None
    image: Text
    keyring: Str | None = None
    monitors: Monitors
    pool: Str | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: Str | None = None


class ScaleIOVolumeSource(Model):
    """A ScaleIO volume."""

    fs_type: Str | None = None
    gateway: Text
    protection_domain: Str | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference
    ssl_enabled: Bool | None = None
    storage_mode: Str | None = None
    storage_pool: Str | None = None
    system: Text
    volume_name: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """validateScaleIOVolumeSource."""
        if not self.volume_name:
            yield Broken("volumeName", "is missing", "add volumeName")


class StorageOSVolumeSource(Model):
    """A StorageOS volume."""

    fs_type: Str | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: Str | None = None
    volume_namespace: Str | None = None


class VsphereVirtualDiskVolumeSource(Model):
    """A disk of vSphere."""

    fs_type: Str | None = None
    storage_policy_id: Annotated[Str | None, Field(alias="storagePolicyID")] = None
    storage_policy_name: Str | None = None
    volume_path: Text
