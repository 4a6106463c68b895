"""Argo CD objects of a cluster: projects, and an ApplicationSet over the folders of `dist/`.

A project per application, fixed in the generator of its folder: a project taken from a folder's name would let whoever
can add a folder choose their rights. The platform heals itself; runs do not, since a healed run runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from trainshed.api import argocd as api
from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.faults import Fault
from trainshed.gitops.layout import identity
from trainshed.gitops.names import ARGOCD, RUNS, WORKLOAD_KINDS

if TYPE_CHECKING:
    from trainshed.gitops.app import Repository
    from trainshed.gitops.application import Application, Rendered
    from trainshed.gitops.cluster import Cluster

_NAMESPACE: Final = "argocd"
_KUEUE: Final = "kueue.x-k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"

_CLUSTER_KINDS: Final = (
    ("", "Namespace"),
    (_KUEUE, "AdmissionCheck"),
    (_KUEUE, "ClusterQueue"),
    (_KUEUE, "Cohort"),
    (_KUEUE, "MultiKueueCluster"),
    (_KUEUE, "MultiKueueConfig"),
    (_KUEUE, "ProvisioningRequestConfig"),
    (_KUEUE, "ResourceFlavor"),
    (_KUEUE, "Topology"),
    (_KUEUE, "WorkloadPriorityClass"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("scheduling.volcano.sh", "Queue"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
)
_TENANCY_KINDS: Final = (
    ("", "ConfigMap"),
    ("", "LimitRange"),
    ("", "PersistentVolumeClaim"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    (_KUEUE, "LocalQueue"),
    ("networking.k8s.io", "NetworkPolicy"),
    (_RBAC, "Role"),
    (_RBAC, "RoleBinding"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
)
#: What only the platform may write in a tenant's namespace; listed so that a wider whitelist does not open it again.
_DENIED_TO_TENANTS: Final = (("", "LimitRange"), ("", "ResourceQuota"), (_KUEUE, "LocalQueue"), (_RBAC, "RoleBinding"))
#: Kinds whose scheduling fields Kueue writes on admission, through its own field manager.
_ADMITTED_KINDS: Final = (("batch", "Job"), ("jobset.x-k8s.io", "JobSet"), ("trainer.kubeflow.org", "TrainJob"))
_SYNC_OPTIONS: Final = (
    "ApplyOutOfSyncOnly=true",
    "FailOnSharedResource=true",
    "RespectIgnoreDifferences=true",
    "ServerSideApply=true",
)
_ANNOTATIONS: Final = {
    "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
    "argocd.argoproj.io/manifest-generate-paths": ".",
}


def argocd_objects(
    cluster: Cluster, made: Mapping[str, Sequence[Rendered]], repository: Repository
) -> Iterable[KubernetesObject]:
    """An AppProject for each application that has objects, an ApplicationSet over them, and an Application that syncs
    these objects themselves."""
    names = [name for name, items in made.items() if items and name != ARGOCD]
    for name in names:
        yield _project(cluster, cluster.applications[name], made[name], repository)
    yield _application_set(cluster, names, repository)
    yield _bootstrap(cluster, repository)


def project_name(cluster: str, application: str) -> str:
    """The AppProject of an application."""
    return f"{cluster}-{application}"


def _project(
    cluster: Cluster, application: Application, items: Sequence[Rendered], repository: Repository
) -> api.AppProject:
    access = application.access
    identities = [identity(item.manifest) for item in items]
    kinds = set(_TENANCY_KINDS if access.platform else access.kinds or WORKLOAD_KINDS)
    cluster_kinds = set(_CLUSTER_KINDS if access.platform else ())
    if access.kinds is None:
        kinds.update((group, kind) for group, kind, namespace, _ in identities if namespace)
    if access.platform:
        cluster_kinds.update((group, kind) for group, kind, namespace, _ in identities if not namespace)
    described = "Cluster-scoped and tenancy objects" if access.platform else _runs_of(application.id)
    used = {namespace for _, _, namespace, _ in identities if namespace}
    namespaces = ["*"] if access.platform else sorted(access.namespaces or used)
    return api.AppProject(
        metadata=ObjectMeta(name=project_name(cluster.id, application.id), namespace=_NAMESPACE),
        spec=api.AppProjectSpec(
            description=f"{described} in cluster {cluster.id}",
            source_repos=[repository.url],
            destinations=[api.ProjectDestination(server=cluster.server, namespace=name) for name in namespaces],
            cluster_resource_whitelist=[
                api.ClusterResource(group=group, kind=kind) for group, kind in sorted(cluster_kinds)
            ],
            namespace_resource_whitelist=[api.GroupKind(group=group, kind=kind) for group, kind in sorted(kinds)],
            namespace_resource_blacklist=None
            if access.platform
            else [api.GroupKind(group=group, kind=kind) for group, kind in _DENIED_TO_TENANTS],
        ),
    )


def _runs_of(application: str) -> str:
    """The application `runs` takes those of queues that are no tenant's."""
    return "Runs" if application == RUNS else f"Runs of {application}"


def access_faults(application: Application, items: Sequence[Rendered]) -> Iterator[Fault]:
    """What Argo CD would refuse to sync, since the application's project does not allow it."""
    access = application.access
    if access.platform:
        return
    for item in items:
        group, kind, namespace, name = identity(item.manifest)
        title = f'{kind} "{name}"'
        if (group, kind) in _DENIED_TO_TENANTS or not namespace:
            told = f'may not stand in application "{application.id}": it is for the platform to decide on'
            yield Fault(
                told, title, fix="make it directly in the cluster, or in the application platform", place=item.place
            )
        elif access.namespaces and namespace not in access.namespaces:
            told = f'application "{application.id}" may not write namespace "{namespace}"'
            yield Fault(told, title, fix=f"it may write {', '.join(access.namespaces)}", place=item.place)
        elif access.kinds is not None and (group, kind) not in access.kinds:
            told = f'application "{application.id}" may not write this kind'
            allowed = ", ".join(sorted({kind for _, kind in access.kinds}))
            yield Fault(told, title, fix=f"it may write {allowed}", place=item.place)


def _application_set(cluster: Cluster, names: Sequence[str], repository: Repository) -> api.ApplicationSet:
    return api.ApplicationSet(
        metadata=ObjectMeta(name=cluster.id, namespace=_NAMESPACE),
        spec=api.ApplicationSetSpec(
            go_template=True,
            go_template_options=["missingkey=error"],
            generators=[_generator(cluster, cluster.applications[name], repository) for name in names],
            # Automated sync stands in each generator: merging could not switch selfHeal off again.
            template=api.ApplicationSetTemplate(
                metadata=api.TemplateMetadata(
                    name=cluster.id + "-{{ .path.basename }}", annotations=dict(_ANNOTATIONS)
                ),
                spec=api.ApplicationSpec(
                    project=project_name(cluster.id, names[0]) if names else "default",
                    source=api.ApplicationSource(
                        repo_url=repository.url, target_revision=repository.revision, path="{{ .path.path }}"
                    ),
                    destination=api.ApplicationDestination(server=cluster.server),
                    sync_policy=api.SyncPolicy(
                        sync_options=list(_SYNC_OPTIONS),
                        retry=api.RetryStrategy(
                            limit=5, backoff=api.Backoff(duration="10s", factor=2, max_duration="5m")
                        ),
                    ),
                ),
            ),
            sync_policy=api.ApplicationSetSyncPolicy(preserve_resources_on_deletion=True),
        ),
    )


def _generator(cluster: Cluster, application: Application, repository: Repository) -> api.Generator:
    platform = application.access.platform
    ignored = [
        api.ResourceIgnoreDifferences(group=group, kind=kind, managed_fields_managers=["kueue"])
        for group, kind in _ADMITTED_KINDS
    ]
    return api.Generator(
        git=api.GitGenerator(
            repo_url=repository.url,
            revision=repository.revision,
            directories=[api.GitDirectory(path=f"{repository.path}/{cluster.id}/{application.id}")],
            template=api.ApplicationSetTemplate(
                metadata=api.TemplateMetadata(),
                spec=api.ApplicationSpec(
                    project=project_name(cluster.id, application.id),
                    destination=api.ApplicationDestination(),
                    sync_policy=api.SyncPolicy(automated=api.Automated(prune=True, self_heal=platform)),
                    ignore_differences=None if platform else ignored,
                ),
            ),
        )
    )


def _bootstrap(cluster: Cluster, repository: Repository) -> api.Application:
    """Applied once by hand (or by an existing app of apps); from then on it keeps this folder in sync."""
    return api.Application(
        metadata=ObjectMeta(name=f"{cluster.id}-{ARGOCD}", namespace=_NAMESPACE, annotations=dict(_ANNOTATIONS)),
        spec=api.ApplicationSpec(
            project="default",
            source=api.ApplicationSource(
                repo_url=repository.url,
                target_revision=repository.revision,
                path=f"{repository.path}/{cluster.id}/{ARGOCD}",
            ),
            destination=api.ApplicationDestination(server="https://kubernetes.default.svc", namespace=_NAMESPACE),
            sync_policy=api.SyncPolicy(
                automated=api.Automated(prune=True, self_heal=True), sync_options=list(_SYNC_OPTIONS)
            ),
        ),
    )
