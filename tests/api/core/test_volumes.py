"""Volumes and claims: the API server's rules, each with a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.faulted import faulted
from trainshed.api.core.claim import PersistentVolumeClaimSpec
from trainshed.api.core.volume import Volume

Data = dict[str, Any]
CLAIM: Data = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}}


def volume(**fields: Any) -> Data:
    return {"name": "data", **fields}


def projected(*sources: Data, **fields: Any) -> Data:
    return volume(projected={"sources": list(sources), **fields})


def claim(**fields: Any) -> Data:
    return {key: value for key, value in (CLAIM | fields).items() if value is not None}


GOOD = {
    "shared memory": volume(emptyDir={"medium": "Memory", "sizeLimit": "64Gi"}),
    "scratch": volume(emptyDir={}),
    "default medium": volume(emptyDir={"medium": ""}),
    "huge pages": volume(emptyDir={"medium": "HugePages-2Mi", "mode": 0o1777}),
    "no source": volume(),
    "null source": volume(emptyDir=None),
    "claim": volume(persistentVolumeClaim={"claimName": "data", "readOnly": True}),
    "host": volume(hostPath={"path": "/dev/infiniband", "type": "Directory"}),
    "host unchecked": volume(hostPath={"path": "/a", "type": ""}),
    "image": volume(image={"reference": "registry/models:1", "pullPolicy": "IfNotPresent"}),
    "image later": volume(image={}),
    "keys": volume(configMap={"name": "c", "defaultMode": 420, "items": [{"key": "a", "path": "b/..c", "mode": 256}]}),
    "secret": volume(secret={"secretName": "s", "optional": True}),
    "own claim": volume(ephemeral={"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM}}),
    "csi": volume(csi={"driver": "secrets-store.csi.k8s.io", "volumeAttributes": {"a": "b"}}),
    "pod's fields": volume(
        downwardAPI={
            "items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "a", "resource": "limits.cpu"}},
            ]
        }
    ),
    "projected": projected(
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 600, "audience": "a"}},
        {"configMap": {"name": "c", "items": [{"key": "a", "path": "ca"}]}},
        {"clusterTrustBundle": {"signerName": "a.b/c", "labelSelector": {}, "path": "bundle"}},
        {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "credentialBundlePath": "bundle.pem"}},
    ),
    "nfs": volume(nfs={"server": "a", "path": "/b"}),
    "fc": volume(fc={"targetWWNs": ["50060e801049cfd1"], "lun": 0}),
    "iscsi": volume(iscsi={"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0}),
    "deprecated": volume(awsElasticBlockStore={"volumeID": "vol-1", "fsType": "ext4"}),
    "scaleIO": volume(scaleIO={"gateway": "a", "system": "b", "secretRef": {"name": "s"}, "volumeName": "v"}),
}
# fmt: off
BROKEN = [
    (volume(emptyDir={}, hostPath={"path": "/a"}),
     "has 2 sources (emptyDir, hostPath), and only one is allowed; keep one of them"),
    (volume(emptydir={}), 'emptydir: is not a field of Volume; did you mean "emptyDir"?'),
    ({"emptyDir": {}}, "name: is missing; add it"),
    (volume(emptyDir={"medium": "memory"}),
     'emptyDir.medium: "memory" is not a medium; write Memory or HugePages, or remove it'),
    (volume(emptyDir={"sizeLimit": "-1Gi"}), "emptyDir.sizeLimit: -1Gi is negative; write a size such as 64Gi"),
    (volume(emptyDir={"mode": 0o2000}),
     "emptyDir.mode: 1024 is decimal and beyond 01777 (1023); did you mean octal 01024? Write 532"),
    (volume(secret={"secretName": "s", "defaultMode": 644}),
     "secret.defaultMode: 644 is decimal and beyond 0777 (511); did you mean octal 0644? Write 420"),
    (volume(secret={"secretName": "s", "defaultMode": 888}),
     "secret.defaultMode: 888 is decimal and beyond 0777 (511); write a mode between 0 and 0777"),
    (volume(secret={"name": "s"}), 'secret.name: is not a field of SecretVolumeSource; did you mean "secretName"?'),
    (volume(secret={}), "secret.secretName: is missing; add the name of the Secret"),
    (volume(configMap={}), "configMap.name: is missing; add the name of the ConfigMap"),
    (volume(configMap={"name": "c", "items": [{"key": "a", "path": "/b"}]}),
     'configMap.items[0].path: "/b" starts with "/", but must be relative'),
    (volume(configMap={"name": "c", "items": [{"key": "a", "path": "..b"}]}),
     'configMap.items[0].path: "..b" starts with ".."'),
    (volume(configMap={"name": "c", "items": [{"key": "a", "path": "b", "mode": 600}]}),
     "configMap.items[0].mode: 600 is decimal and beyond 0777 (511); did you mean octal 0600? Write 384"),
    (volume(hostPath={"path": "/a/../b"}), 'hostPath.path: "/a/../b" contains ".."'),
    (volume(hostPath={"path": "/a", "type": "Dir"}),
     'hostPath.type: is "Dir", must be one of DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice, '
     "BlockDevice"),
    (volume(persistentVolumeClaim={}), "persistentVolumeClaim.claimName: is missing; add it"),
    (volume(persistentVolumeClaim={"claimName": ""}), "persistentVolumeClaim.claimName: is empty"),
    (volume(ephemeral={}), "ephemeral.volumeClaimTemplate: is missing; add volumeClaimTemplate with a spec"),
    (volume(nfs={"server": "a", "path": "b"}), 'nfs.path: "b" is not absolute; write a path that starts with "/"'),
    (volume(fc={"lun": 1}), "fc: needs either targetWWNs or wwids; write one of them"),
    (volume(fc={"targetWWNs": ["a"]}), "fc.lun: is missing, and targetWWNs need it; add lun"),
    (volume(iscsi={"targetPortal": "a", "iqn": "b", "lun": 1}), 'iscsi.iqn: "b" starts with none of iqn, eui, naa'),
    (volume(iscsi={"targetPortal": "a", "iqn": "iqn", "lun": 1, "chapAuthSession": True}),
     "iscsi.secretRef: is missing, and CHAP needs it; add secretRef"),
    (volume(flocker={}), "flocker: has no dataset; add one of datasetName, datasetUUID"),
    (volume(scaleIO={"gateway": "a", "system": "b", "secretRef": {}}),
     "scaleIO.volumeName: is missing; add volumeName"),
    (volume(rbd={"image": "a", "monitors": []}), "rbd.monitors: is empty; add at least 1 item"),
    (volume(gitRepo={"repository": "a", "directory": "/b"}),
     'gitRepo.directory: "/b" starts with "/", but must be relative'),
    # Made of several sources.
    (volume(downwardAPI={"items": [{"path": "a"}]}),
     "downwardAPI.items[0]: has no source; add one of fieldRef, resourceFieldRef"),
    (volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}),
     'downwardAPI.items[0].fieldRef.fieldPath: "spec.nodeName" is not a field that pods offer here; '
     "use metadata.annotations, metadata.labels, metadata.name, metadata.namespace, metadata.uid"),
    (volume(downwardAPI={"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}),
     "downwardAPI.items[0].resourceFieldRef.containerName: is missing; add the name of the container"),
    (projected({"secret": {"name": "s"}, "configMap": {"name": "c"}}),
     "projected.sources[0]: has 2 sources (configMap, secret), and only one is allowed; keep one of them"),
    (projected({"secret": {}}), "projected.sources[0].secret.name: is missing; add the name of the Secret"),
    (projected({"configMap": {}}), "projected.sources[0].configMap.name: is missing; add the name of the ConfigMap"),
    (projected({"serviceAccountToken": {"path": "token", "expirationSeconds": 60}}),
     "projected.sources[0].serviceAccountToken.expirationSeconds: 60 is less than 600; write 600 or more"),
    (projected({"serviceAccountToken": {"path": "a"}},
               {"configMap": {"name": "c", "items": [{"key": "b", "path": "a"}]}}),
     'projected.sources[1]: "a" is made by another source as well; rename one'),
    (projected({"clusterTrustBundle": {"path": "a"}}),
     "projected.sources[0].clusterTrustBundle: has no source; add one of name, signerName"),
    (projected({"clusterTrustBundle": {"path": "a", "name": "b", "labelSelector": {}}}),
     "projected.sources[0].clusterTrustBundle.labelSelector: stands beside a name; remove it, or use signerName"),
    (projected({"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519"}}),
     "projected.sources[0].podCertificate: names no file; add credentialBundlePath"),
    (projected({"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "keyPath": "/a"}}),
     'projected.sources[0].podCertificate.keyPath: "/a" starts with "/", but must be relative'),
    (projected(defaultMode=1000),
     "projected.defaultMode: 1000 is decimal and beyond 0777 (511); write a mode between 0 and 0777"),
]
GOOD_CLAIMS = [
    CLAIM,
    claim(storageClassName=""),
    claim(accessModes=["ReadWriteOncePod"], volumeMode="Block", storageClassName="fast.nvme"),
    claim(accessModes=["ReadWriteOnce", "ReadOnlyMany"], selector={"matchLabels": {"a": "b"}}),
    claim(dataSource={"kind": "PersistentVolumeClaim", "name": "a"},
          dataSourceRef={"kind": "PersistentVolumeClaim", "name": "a"}),
    claim(dataSourceRef={"apiGroup": "a.b", "kind": "Dataset", "name": "a", "namespace": "other"}),
]
BROKEN_CLAIMS = [
    (claim(accessModes=None), "accessModes: is missing; add accessModes: [ReadWriteOnce] or [ReadWriteMany]"),
    (claim(accessModes=["ReadWriteMulti"]),
     'accessModes[0]: is "ReadWriteMulti", must be one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, '
     'ReadWriteOncePod; did you mean "ReadWriteMany"?'),
    (claim(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]),
     "accessModes: ReadWriteOncePod stands beside other modes; keep ReadWriteOncePod alone"),
    (claim(resources=None),
     "resources.requests[storage]: is missing; add the size of the volume, such as 100Gi"),
    (claim(resources={"requests": {"storage": 0}}),
     "resources.requests[storage]: 0 is not more than 0; write a size such as 100Gi"),
    (claim(storageClassName="Fast"),
     'storageClassName: "Fast" is not a DNS-1123 subdomain: lower-case letters, digits, "-" and ".", '
     "alphanumeric at both ends"),
    (claim(dataSource={"kind": "A", "name": "a"}, dataSourceRef={"kind": "A", "name": "b"}),
     "dataSource: differs from dataSourceRef; remove dataSource"),
    (claim(dataSource={"kind": "A", "name": "a"}, dataSourceRef={"kind": "A", "name": "a", "namespace": "c"}),
     "dataSource: stands beside a dataSourceRef with a namespace; remove dataSource"),
]
# fmt: on


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD.keys())
def test_a_good_volume_passes_and_reads_back(data: Data) -> None:
    """What goes in comes out."""
    assert faulted(Volume, data) == []

    read = Volume.model_validate(data)

    written = read.model_dump(by_alias=True, exclude_none=True)
    assert written == {key: value for key, value in data.items() if value is not None}
    assert read.source == next((key for key in written if key != "name"), None)


@pytest.mark.parametrize(("data", "told"), BROKEN)
def test_a_broken_volume_is_told(data: Data, told: str) -> None:
    """Each rule says where it is broken, and what would be right."""
    assert faulted(Volume, data) == [told]


@pytest.mark.parametrize("data", GOOD_CLAIMS)
def test_a_good_claim_passes(data: Data) -> None:
    """Claims of their own and in templates share one spec."""
    assert faulted(PersistentVolumeClaimSpec, data) == []


@pytest.mark.parametrize(("data", "told"), BROKEN_CLAIMS)
def test_a_broken_claim_is_told(data: Data, told: str) -> None:
    """Each rule says where it is broken, and what would be right."""
    assert faulted(PersistentVolumeClaimSpec, data) == [told]
