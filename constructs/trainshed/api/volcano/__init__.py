"""Volcano's kinds for gangs and their queues, as in Volcano v1.15.1 (its CRDs and webhooks)."""

from trainshed.api.volcano.cronjob import CronJob, CronJobSpec
from trainshed.api.volcano.job import Job, JobSpec, VolumeSpec
from trainshed.api.volcano.plugins import KNOWN_PLUGINS, SERVICE_PLUGINS
from trainshed.api.volcano.podgroup import PodGroup, PodGroupSpec, SubGroupPolicySpec
from trainshed.api.volcano.policy import USER_ACTIONS, USER_EVENTS, LifecyclePolicy
from trainshed.api.volcano.queue import (
    Affinity,
    Cluster,
    Guarantee,
    NodeGroupAffinity,
    NodeGroupAntiAffinity,
    Queue,
    QueueSpec,
)
from trainshed.api.volcano.task import DependsOn, PartitionPolicySpec, TaskSpec
from trainshed.api.volcano.topology import NetworkTopologySpec

__all__ = [
    "KNOWN_PLUGINS",
    "SERVICE_PLUGINS",
    "USER_ACTIONS",
    "USER_EVENTS",
    "Affinity",
    "Cluster",
    "CronJob",
    "CronJobSpec",
    "DependsOn",
    "Guarantee",
    "Job",
    "JobSpec",
    "LifecyclePolicy",
    "NetworkTopologySpec",
    "NodeGroupAffinity",
    "NodeGroupAntiAffinity",
    "PartitionPolicySpec",
    "PodGroup",
    "PodGroupSpec",
    "Queue",
    "QueueSpec",
    "SubGroupPolicySpec",
    "TaskSpec",
    "VolumeSpec",
]
