"""`batch.volcano.sh/v1alpha1` CronJob: Volcano Jobs by the clock (v1.15.1, its CRD and webhook)."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api import cron
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.meta import TemplateMeta
from trainshed.api.types import Bool, Int32, Int64, Str
from trainshed.api.volcano.job import JobSpec


class JobTemplateSpec(Model):
    """What the Jobs are made from."""

    metadata: TemplateMeta | None = None
    spec: JobSpec | None = None


class CronJobSpec(Model):
    """`schedule` is in cron's five fields; without `time_zone`, in that of the controller."""

    schedule: Str
    time_zone: Str | None = None
    starting_deadline_seconds: Annotated[Int64, Field(ge=0)] | None = None
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] | None = None
    suspend: Bool | None = None
    job_template: JobTemplateSpec
    successful_jobs_history_limit: Annotated[Int32, Field(ge=0)] | None = None
    failed_jobs_history_limit: Annotated[Int32, Field(ge=0)] | None = None

    def rules(self) -> Iterator[Broken]:
        """The shapes of schedule and time zone."""
        if error := cron.schedule_error(self.schedule):
            yield Broken("schedule", error)
        if self.time_zone is not None and (error := cron.time_zone_error(self.time_zone)):
            yield Broken("timeZone", error)


class CronJob(KubernetesObject):
    """A Volcano Job again and again."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["batch.volcano.sh/v1alpha1"] = "batch.volcano.sh/v1alpha1"
    kind: Literal["CronJob"] = "CronJob"
    spec: CronJobSpec
