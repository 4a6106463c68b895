"""Volumes of a pod: a name, and one source.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidateVolumes.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.projected import DownwardAPIVolumeSource, ProjectedVolumeSource
from trainshed.api.core.shapes import at_most_one, written
from trainshed.api.core.volume_legacy import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from trainshed.api.core.volume_sources import (
    ConfigMapVolumeSource,
    CSIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    FCVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PersistentVolumeClaimVolumeSource,
    SecretVolumeSource,
)
from trainshed.api.types import DnsLabel

__all__ = [
    "CSIVolumeSource",
    "ConfigMapVolumeSource",
    "DownwardAPIVolumeSource",
    "EmptyDirVolumeSource",
    "EphemeralVolumeSource",
    "FCVolumeSource",
    "HostPathVolumeSource",
    "ISCSIVolumeSource",
    "ImageVolumeSource",
    "NFSVolumeSource",
    "PersistentVolumeClaimVolumeSource",
    "ProjectedVolumeSource",
    "SecretVolumeSource",
    "Volume",
]


class Volume(Model):
    """One volume with at most one source.

    Without any source the API server makes it a plain emptyDir on disk (SetDefaults_Volume in
    `pkg/apis/core/v1/defaults.go`). That is legal, deprecated and seldom meant: see `source`.
    """

    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: Annotated[DownwardAPIVolumeSource | None, Field(alias="downwardAPI")] = None
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    name: DnsLabel
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: Annotated[ScaleIOVolumeSource | None, Field(alias="scaleIO")] = None
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None

    def rules(self) -> Iterator[Broken]:
        """validateVolumeSource."""
        yield from at_most_one(self, _SOURCES, "source")

    @property
    def source(self) -> str | None:
        """The field of its source in Kubernetes' spelling (`emptyDir`), or None where there is none."""
        return next(iter(written(self, _SOURCES)), None)


_SOURCES = tuple(name for name in Volume.model_fields if name != "name")
