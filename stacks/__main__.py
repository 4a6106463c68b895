"""`python -m stacks`: the app that `cdk8s synth` and `trainshed synth` run."""

from trainshed.gitops import faults_reported

with faults_reported():
    from stacks.batch import Batch
    from stacks.lab import Lab
    from stacks.playground import Playground
    from trainshed.gitops import App, Repository

    app = App(repository=Repository(url="https://git.example.com/platform/trainshed.git"))
    app.build(Playground, Lab, Batch)
    app.synth()
