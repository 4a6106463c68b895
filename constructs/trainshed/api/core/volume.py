"""Volumes of a pod: a name, and one source.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidateVolumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core import volume_legacy as legacy
from trainshed.api.core import volume_sources as sources
from trainshed.api.core.projected import DownwardAPIVolumeSource, ProjectedVolumeSource
from trainshed.api.core.shapes import at_most_one, written
from trainshed.api.types import DnsLabel


class Volume(Model):
    """One volume with at most one source.

    Without any source the API server makes it a plain emptyDir on disk (SetDefaults_Volume in
    `pkg/apis/core/v1/defaults.go`). That is legal, deprecated and seldom meant: see `source`.
    """

    aws_elastic_block_store: legacy.AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: legacy.AzureDiskVolumeSource | None = None
    azure_file: legacy.AzureFileVolumeSource | None = None
    cephfs: legacy.CephFSVolumeSource | None = None
    cinder: legacy.CinderVolumeSource | None = None
    config_map: sources.ConfigMapVolumeSource | None = None
    csi: sources.CSIVolumeSource | None = None
    downward_api: Annotated[DownwardAPIVolumeSource | None, Field(alias="downwardAPI")] = None
    empty_dir: sources.EmptyDirVolumeSource | None = None
    ephemeral: sources.EphemeralVolumeSource | None = None
    fc: sources.FCVolumeSource | None = None
    flex_volume: legacy.FlexVolumeSource | None = None
    flocker: legacy.FlockerVolumeSource | None = None
    gce_persistent_disk: legacy.GCEPersistentDiskVolumeSource | None = None
    git_repo: legacy.GitRepoVolumeSource | None = None
    glusterfs: legacy.GlusterfsVolumeSource | None = None
    host_path: sources.HostPathVolumeSource | None = None
    image: sources.ImageVolumeSource | None = None
    iscsi: sources.ISCSIVolumeSource | None = None
    name: DnsLabel
    nfs: sources.NFSVolumeSource | None = None
    persistent_volume_claim: sources.PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: legacy.PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: legacy.PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: legacy.QuobyteVolumeSource | None = None
    rbd: legacy.RBDVolumeSource | None = None
    scale_io: Annotated[legacy.ScaleIOVolumeSource | None, Field(alias="scaleIO")] = None
    secret: sources.SecretVolumeSource | None = None
    storageos: legacy.StorageOSVolumeSource | None = None
    vsphere_volume: legacy.VsphereVirtualDiskVolumeSource | None = None

    def rules(self) -> Iterator[Broken]:
        """validateVolumeSource."""
        yield from at_most_one(self, _SOURCES, "source")

    @property
    def source(self) -> str | None:
        """The field of its source in Kubernetes' spelling (`emptyDir`), or None where there is none."""
        return next(iter(written(self, _SOURCES)), None)


_SOURCES = tuple(name for name in Volume.model_fields if name != "name")
