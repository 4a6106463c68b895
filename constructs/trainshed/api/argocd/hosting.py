"""Git hosting services that an ApplicationSet asks for repositories and pull requests.

Schema: Argo CD v3.5.1, `applicationset-crd.yaml`, `scmProvider` and `pullRequest`.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Bool, Str

_SERVICES = ("github", "gitlab", "gitea", "bitbucketServer", "bitbucket", "azureDevOps", "azuredevops", "awsCodeCommit")


class SecretRef(Model):
    """A key of a Secret in Argo CD's namespace."""

    secret_name: Str
    key: Str


class ConfigMapKeyRef(Model):
    """A key of a ConfigMap in Argo CD's namespace."""

    config_map_name: Str
    key: Str


class BearerToken(Model):
    """A Bitbucket access token."""

    token_ref: SecretRef


class BasicAuth(Model):
    """A user and a password."""

    username: Str
    password_ref: SecretRef


class ScmGithub(Model):
    """The repositories of a GitHub organisation."""

    organization: Str
    api: Str | None = None
    token_ref: SecretRef | None = None
    app_secret_name: Str | None = None
    all_branches: Bool | None = None
    exclude_archived_repos: Bool | None = None


class ScmGitlab(Model):
    """The projects of a GitLab group."""

    group: Str
    include_subgroups: Bool | None = None
    api: Str | None = None
    token_ref: SecretRef | None = None
    all_branches: Bool | None = None
    insecure: Bool | None = None
    include_shared_projects: Bool | None = None
    topic: Str | None = None
    ca_ref: ConfigMapKeyRef | None = None
    include_archived_repos: Bool | None = None


class ScmBitbucket(Model):
    """The repositories of a Bitbucket Cloud workspace."""

    owner: Str
    user: Str
    app_password_ref: SecretRef
    all_branches: Bool | None = None


class ScmBitbucketServer(Model):
    """The repositories of a Bitbucket Server project."""

    project: Str
    api: Str
    basic_auth: BasicAuth | None = None
    all_branches: Bool | None = None
    bearer_token: BearerToken | None = None
    insecure: Bool | None = None
    ca_ref: ConfigMapKeyRef | None = None


class ScmGitea(Model):
    """The repositories of a Gitea organisation."""

    owner: Str
    api: Str
    token_ref: SecretRef | None = None
    all_branches: Bool | None = None
    insecure: Bool | None = None
    exclude_archived_repos: Bool | None = None


class ScmAzureDevOps(Model):
    """The repositories of an Azure DevOps project."""

    organization: Str
    api: Str | None = None
    team_project: Str
    access_token_ref: SecretRef
    all_branches: Bool | None = None


class TagFilter(Model):
    """A tag that repositories carry."""

    key: Str
    value: Str | None = None


class ScmCodeCommit(Model):
    """The repositories of AWS CodeCommit."""

    tag_filters: list[TagFilter] | None = None
    role: Str | None = None
    region: Str | None = None
    all_branches: Bool | None = None


class ScmFilter(Model):
    """Repositories that count; all that is written must match."""

    repository_match: Str | None = None
    paths_exist: list[Str] | None = None
    paths_do_not_exist: list[Str] | None = None
    label_match: Str | None = None
    branch_match: Str | None = None


class ScmProviders(Model):
    """The services of `scmProvider`."""

    github: ScmGithub | None = None
    gitlab: ScmGitlab | None = None
    bitbucket: ScmBitbucket | None = None
    bitbucket_server: ScmBitbucketServer | None = None
    gitea: ScmGitea | None = None
    azure_dev_ops: ScmAzureDevOps | None = None

    aws_code_commit: ScmCodeCommit | None = None

    def rules(self) -> Iterator[Broken]:
        """Exactly one service: Argo CD v3.5.1, `applicationset/generators/scm_provider.go`."""
        yield from _one_service(self)


class PrGithub(Model):
    """The pull requests of a GitHub repository."""

    owner: Str
    repo: Str
    api: Str | None = None
    token_ref: SecretRef | None = None
    app_secret_name: Str | None = None
    labels: list[Str] | None = None


class PrGitlab(Model):
    """The merge requests of a GitLab project."""

    project: Str
    api: Str | None = None
    token_ref: SecretRef | None = None
    labels: list[Str] | None = None
    pull_request_state: Str | None = None
    insecure: Bool | None = None
    ca_ref: ConfigMapKeyRef | None = None


class PrGitea(Model):
    """The pull requests of a Gitea repository."""

    owner: Str
    repo: Str
    api: Str
    token_ref: SecretRef | None = None
    insecure: Bool | None = None
    labels: list[Str] | None = None


class PrBitbucketServer(Model):
    """The pull requests of a Bitbucket Server repository."""

    project: Str
    repo: Str
    api: Str
    basic_auth: BasicAuth | None = None
    bearer_token: BearerToken | None = None
    insecure: Bool | None = None
    ca_ref: ConfigMapKeyRef | None = None


class PrBitbucket(Model):
    """The pull requests of a Bitbucket Cloud repository."""

    owner: Str
    repo: Str
    api: Str | None = None
    basic_auth: BasicAuth | None = None
    bearer_token: BearerToken | None = None


class PrAzureDevOps(Model):
    """The pull requests of an Azure DevOps repository."""

    organization: Str
    project: Str
    repo: Str
    api: Str | None = None
    token_ref: SecretRef | None = None
    labels: list[Str] | None = None


class PrFilter(Model):
    """Pull requests that count; all that is written must match."""

    branch_match: Str | None = None
    target_branch_match: Str | None = None
    title_match: Str | None = None


class PullRequestProviders(Model):
    """The services of `pullRequest`."""

    github: PrGithub | None = None
    gitlab: PrGitlab | None = None
    gitea: PrGitea | None = None
    bitbucket_server: PrBitbucketServer | None = None
    bitbucket: PrBitbucket | None = None
    azure_devops: Annotated[PrAzureDevOps | None, Field(alias="azuredevops")] = None

    def rules(self) -> Iterator[Broken]:
        """Exactly one service: Argo CD v3.5.1, `applicationset/generators/pull_request.go`."""
        yield from _one_service(self)


def _one_service(model: Model) -> Iterator[Broken]:
    named = {str(field.alias): name for name, field in type(model).model_fields.items()}
    used = [alias for alias in _SERVICES if alias in named and getattr(model, named[alias]) is not None]
    if not used:
        yield Broken("", "it names no service", f"add one of {', '.join(a for a in _SERVICES if a in named)}")
    elif len(used) > 1:
        yield Broken(used[1], f"{used[0]} is written as well, and only one is asked", "keep one of them")
