"""Time and memory of synth, beside the same objects from plain cdk8s in Python and in TypeScript.

A tenant is 11 objects: a ClusterQueue, and in each of two namespaces the Namespace itself, a LocalQueue, a LimitRange,
a Role and a RoleBinding. All tenants share a ResourceFlavor, a Cohort and a WorkloadPriorityClass.

Each side is what a person would write by hand in that library: a function that makes one tenant, called N times, and
that library's own writer with one file per object. All three build their objects natively, from nothing but N. (Reading
finished manifests from a JSON file would have been simpler here, but makes the others pay for a parser, and would have
spared them the building that Trainshed is timed with.) In the others' favour:

- TypeScript runs as JavaScript: no compiler is counted. Node is the one that jsii uses on the other sides too.
- They get the output mode of cdk8s that is fastest for one file per object, a folder per chart.
  (`FILE_PER_RESOURCE` goes through the whole app again for each chart.) A chart is a namespace: fewer charts would lose
  objects, since cdk8s names files by kind and name alone (cdk8s#2821).
- They check nothing: no bounds, no capacity of the pool, no duplicates. They compare no files and remove no stale ones.
  What Trainshed does besides, judging the whole with every rule of `trainshed check` before it is written, has a row of
  its own ("trainshed, checked", which is what `app.synth()` does); the bars are for the row that does what others do.
- Sync waves and options are literals on their sides.

A run is a fresh process, timed from start to exit with start-up included. Runs of the sides take turns, and the best
one counts. Each writes to a new folder, and nothing is deleted before the end: ext4 makes files several times slower
for minutes after many have been deleted. Memory is taken in a run of its own, so that watching does not slow a timed
one. The objects of all sides are read back and compared before anything is printed.
"""
