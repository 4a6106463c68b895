"""Tenants from YAML: one tenant a file, the same model as the Python `Tenant`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from trainshed.api.base import Model
from trainshed.api.explain import faults_of
from trainshed.api.types import DnsLabel, Str, shaped, unique
from trainshed.faults import Fault, Faults, nearest, shown_path
from trainshed.gitops.allowances import Allowance, code_error
from trainshed.gitops.cluster import Cluster
from trainshed.gitops.values import calling_place, written_in
from trainshed.inputs.tenant_folder import entries
from trainshed.inputs.yaml_file import YamlFile, read_yaml
from trainshed.tenancy.admission import AdmissionCheck
from trainshed.tenancy.external import External
from trainshed.tenancy.kueue import Cohort
from trainshed.tenancy.pool import NodePool
from trainshed.tenancy.shares import Share
from trainshed.tenancy.spec import TenantSpec
from trainshed.tenancy.tenant import Tenant

Code = Annotated[Str, shaped(code_error)]


class Allowed(Model):
    """Findings of `trainshed check` that pass on one object of the tenant."""

    codes: Annotated[list[Code], Field(min_length=1, description="Codes of the findings."), unique]
    kind: Annotated[
        Str, Field(description="Kind of the object, such as LocalQueue. Default: the ClusterQueue.", min_length=1)
    ] = "ClusterQueue"
    namespace: Annotated[DnsLabel | None, Field(description="Namespace of the object. Default: each of that kind.")] = (
        None
    )


class TenantFile(TenantSpec):
    """A tenant of a shared GPU training cluster, as one file of `stacks/<cluster>/tenants/`."""

    name: Annotated[DnsLabel, Field(description="The tenant's name; the file is called after it.")]
    allow: Annotated[
        list[Allowed],
        Field(description="Findings of `trainshed check` to let pass (annotation trainshed.dev/allow)."),
    ] = []


class Tenants(dict[str, Tenant]):
    """Tenants by name. Asking for one whose file has faults raises these; for one without a file, a Fault that says so.

    So a stack that goes on with a tenant adds no second message to what is told about its file.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.faulty: dict[str, Faults] = {}
        self.no_folder: Faults | None = None

    def __missing__(self, name: str) -> Tenant:
        if told := self.no_folder or self.faulty.get(name):
            raise told
        known = sorted((*self, *self.faulty))
        fix = nearest(name, known) or (f"it has {', '.join(known)}" if known else f"write {name}.yaml there")
        raise Faults([Fault(f'{shown_path(str(self.folder))} has no tenant "{name}"', fix=fix, place=calling_place())])


def load_tenants(cluster: Cluster, folder: str | Path) -> Tenants:
    """Makes a Tenant for each `*.yaml` in `folder`, in the order of their names; returns them by name.

    Node pools and cohorts are those of `cluster`, so make them before. Every fault of every file is reported to the
    cluster with its line and column; a file with faults makes no tenant. What only seems to be a tenant's file is told
    as well (`tenant_folder`), since a tenant that is not read is one that Argo CD prunes.
    """
    tenants = Tenants(Path(folder))
    if not tenants.folder.is_dir():
        told = f"{shown_path(str(folder))} is no folder"
        place = calling_place()
        fix = "make it, with a file for each tenant, or leave load_tenants(…) out if there are none any more"
        if not tenants.folder.is_absolute() and (Path(place.file).parent / folder).is_dir():
            fix = f'write Path(__file__).parent / "{folder}": a relative path starts where the command runs'
        tenants.no_folder = Faults([Fault(told, fix=fix, place=place)])
        cluster.faults.extend(tenants.no_folder.faults)
        return tenants
    for path, name, fault, warning, names in entries(tenants.folder):
        if fault is not None:
            if warning:
                cluster.warnings.append(fault)
            else:
                tenants.faulty.update(dict.fromkeys(names or (name,), Faults([fault])))
                cluster.faults.append(fault)
            continue
        try:
            read = read_yaml(path)
            name = str(read.data.get("name", name)) if isinstance(read.data, dict) else name
            tenants[name] = _load(cluster, path, read, name)
        except Faults as found:
            tenants.faulty.update({path.stem: found, name: found})
            cluster.faults.extend(found.faults)
    return tenants


def _load(cluster: Cluster, path: Path, read: YamlFile, name: str) -> Tenant:
    if not isinstance(read.data, dict):
        raise Faults([Fault("holds no tenant", fix='write for example "name: research"', place=read.place(()))])
    title = f'Tenant "{name}"'
    faults = list(_reference_faults(cluster, read, title))
    try:
        spec = TenantFile.model_validate(read.data)
    except ValidationError as error:
        raise Faults([*faults_of(error, object=title, model=TenantFile, places=read.place), *faults]) from None
    if spec.name != path.stem:
        message = f'is "{spec.name}", but the file is called {path.name}'
        faults.append(Fault(message, title, "name", f"call the file {spec.name}.yaml", read.place(("name",))))
    cluster.faults.extend(faults)  # the tenant is made all the same, so that the rest of it is judged too
    if faults and not any(pool.name in spec.guarantee for pool in _pools(cluster)):
        raise Faults(faults)
    with written_in(read.place):
        tenant = Tenant(cluster, spec.name, **_arguments(cluster, spec))
    tenant.allowances = [
        Allowance(one.codes, one.kind, one.namespace or "", read.place(("allow", index)))
        for index, one in enumerate(spec.allow)
    ]
    return tenant


def _arguments(cluster: Cluster, spec: TenantFile) -> dict[str, Any]:
    pools = {pool.name: pool for pool in _pools(cluster)}
    cohorts = {cohort.name: cohort for cohort in _cohorts(cluster)}
    checks = {check.name: check for check in _checks(cluster)}

    def by_pool(shares: dict[str, Any]) -> dict[NodePool, Share | Literal["unlimited"]]:
        return {pools[name]: share for name, share in shares.items() if name in pools}

    plain = {name: getattr(spec, name) for name in TenantSpec.model_fields}
    return {
        **plain,
        "cohort": cohorts.get(spec.cohort, External(spec.cohort)) if spec.cohort else None,
        "guarantee": by_pool(spec.guarantee),
        "borrow": by_pool(spec.borrow),
        "lend": spec.lend if isinstance(spec.lend, str) else by_pool(spec.lend),
        "admission_checks": [checks[name] for name in spec.admission_checks if name in checks],
    }


def _reference_faults(cluster: Cluster, read: YamlFile, title: str) -> Iterator[Fault]:
    """Pools, cohorts and admission checks that the cluster does not have."""
    pools = [pool.name for pool in _pools(cluster)]
    for field in ("guarantee", "borrow", "lend"):
        shares = read.data.get(field)
        for name in shares if isinstance(shares, dict) else ():
            if name not in pools:
                yield _unknown("node pool", str(name), pools, cluster, title, f"{field}.{name}", read, (field, name))
    cohorts = [cohort.name for cohort in _cohorts(cluster)]
    cohort = read.data.get("cohort")
    if isinstance(cohort, str) and cohort not in cohorts:
        yield _unknown("cohort", cohort, cohorts, cluster, title, "cohort", read, ("cohort",))
    checks, listed = [check.name for check in _checks(cluster)], read.data.get("admissionChecks")
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(name, str) and name not in checks:
            field, path = f"admissionChecks[{index}]", ("admissionChecks", index)
            yield _unknown("admission check", name, checks, cluster, title, field, read, path)


def _unknown(
    what: str,
    name: str,
    known: list[str],
    cluster: Cluster,
    title: str,
    field: str,
    read: YamlFile,
    path: tuple[int | str, ...],
) -> Fault:
    fix = nearest(name, known) or (f"it has {', '.join(known)}" if known else f"declare one in cluster {cluster.id}")
    return Fault(f'cluster "{cluster.id}" has no {what} "{name}"', title, field, fix, read.place(path))


def _pools(cluster: Cluster) -> Sequence[NodePool]:
    return cluster.declared(NodePool)


def _cohorts(cluster: Cluster) -> Sequence[Cohort]:
    return cluster.declared(Cohort)


def _checks(cluster: Cluster) -> Sequence[AdmissionCheck]:
    return cluster.declared(AdmissionCheck)
