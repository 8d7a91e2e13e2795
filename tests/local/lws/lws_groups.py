#!/usr/bin/env python3
"""LeaderWorkerSet on the local target: installed as its release is, over the real control plane. Groups are made, scaled,
updated and made anew when a pod is lost; what the real manager refuses is refused with its words.
lws_groups.py BIN_DIR DATA_DIR      Exit status 77: skipped, with the reason."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from local_target import LocalTarget, need_programs, run_or_skip

ZONE = "us-east5-b"
KEY = "leaderworkerset.sigs.k8s.io/"
SELECTOR = "app.kubernetes.io/name=lws,control-plane=controller-manager"
POLICY = "exclusive-topology"


def container(name, image, limits):
    return {"name": name, "image": image, "resources": {"limits": limits}, "env": [{"name": "MINE", "value": "$(LWS_GROUP_SIZE)"}]}


def group_set(name, replicas=1, size=2, image="registry.k8s.io/pause:3.10", limits=None, annotations=None, selector=None,
              **spec):
    limits = limits or {"cpu": "10m"}
    template = {"size": size}
    for part in ("restartPolicy", "subGroupPolicy"):
        if part in spec:
            template[part] = spec.pop(part)
    for role in ("leader", "worker"):
        pod = {"containers": [container(role, image, limits)], "terminationGracePeriodSeconds": 1}
        if selector:
            pod["nodeSelector"] = selector
        template[role + "Template"] = {"metadata": {"labels": {"role": role}}, "spec": pod}
    return json.dumps({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
                       "metadata": {"name": name, "annotations": annotations or {}},
                       "spec": dict({"replicas": replicas, "leaderWorkerTemplate": template}, **spec)})


class Groups:
    def __init__(self, target):
        self.target = target

    def apply(self, *words, **spec):
        self.target.kubectl("apply", "-f", "-", stdin=group_set(*words, **spec))

    def get(self, *words):
        return json.loads(self.target.kubectl("get", *words, "-o", "json").stdout)

    def names(self, kind, name, more=""):
        found = self.target.kubectl("get", kind, "-l", f"{KEY}name={name}{more}", "-o", "name").stdout.split()
        return sorted(one.split("/")[1] for one in found)

    def status(self, name):
        return self.get("lws", name).get("status", {})

    def conditions(self, name):
        return {one["type"]: one["status"] for one in self.status(name).get("conditions", [])}

    def await_available(self, name, ready, updated=None):
        def there():
            status = self.status(name)
            lws = self.get("lws", name)
            return (self.conditions(name).get("Available") == "True" and status.get("readyReplicas", 0) == ready
                    and status.get("replicas", 0) == ready and status["observedGeneration"] == lws["metadata"]["generation"]
                    and status.get("updatedReplicas", 0) == (ready if updated is None else updated))
        self.target.await_true(f"{name} has {ready} groups: {self.status(name)}", there)

    def notes(self, name):
        """Of the set's events, in the order in which they were made."""
        items = self.get("events.events.k8s.io")["items"]
        own = [one for one in items if one["regarding"]["kind"] == "LeaderWorkerSet" and one["regarding"]["name"] == name]
        assert all(one["reportingController"] == "leaderworkerset" for one in own), own
        return [one["note"] for one in sorted(own, key=lambda one: one["eventTime"])]

    def revisions(self, name):
        """Keys of the set's own; StatefulSets have theirs, with the same labels, and keep old ones."""
        found = self.get("controllerrevisions", "-l", f"{KEY}name={name}")["items"]
        return sorted(one["metadata"]["labels"][KEY + "template-revision-hash"] for one in found
                      if one["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet")

    def uid(self, pod):
        return self.get("pod", pod)["metadata"]["uid"]


def environment(pod):
    return {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}


def install(target, data):
    crd = open(os.path.join(data, "crd.json")).read()
    manifest = open(os.path.join(data, "manifests.yaml")).read() + "---\n" + crd
    target.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    # A schema of this size keeps the API server busy for a while before the kind is served.
    target.await_true("the kind is served", lambda: target.kubectl("get", "lws", "-A", check=False).returncode == 0)


def the_manager_runs(target, groups):
    target.kubectl("wait", "--for=condition=Available", "deployment/lws-controller-manager", "-n", "lws-system",
                   "--timeout=120s")
    pods = groups.get("pods", "-n", "lws-system", "-l", SELECTOR)["items"]
    assert len(pods) == 2, pods
    for pod in pods:
        stand_in = pod["metadata"]["annotations"]["slipway.dev/stand-in"]
        assert stand_in == "slipway-lws, in place of the LeaderWorkerSet manager", stand_in
    lease = groups.get("lease", "b8b2488c.x-k8s.io", "-n", "lws-system")["spec"]["holderIdentity"]
    assert any(lease.startswith(pod["metadata"]["name"] + "_") for pod in pods), lease
    secret = groups.get("secret", "lws-webhook-server-cert", "-n", "lws-system")["data"]
    assert sorted(secret) == ["ca.crt", "ca.key", "tls.crt", "tls.key"], sorted(secret)
    for kind in ("mutatingwebhookconfiguration/lws-mutating", "validatingwebhookconfiguration/lws-validating"):
        def trusted(kind=kind):
            hooks = groups.get(kind + "-webhook-configuration")["webhooks"]
            return all(one["clientConfig"].get("caBundle") == secret["ca.crt"] for one in hooks)
        target.await_true(f"{kind} trusts it", trusted)


def a_group_is_made(target, groups):
    groups.apply("vllm")
    groups.await_available("vllm", 1)
    assert groups.names("pods", "vllm") == ["vllm-0", "vllm-0-1"]
    assert groups.names("statefulsets", "vllm") == ["vllm", "vllm-0"]
    assert groups.names("services", "vllm") == ["vllm"]
    revisions = groups.names("controllerrevisions", "vllm")
    assert len(revisions) == 3, revisions
    leader, worker = groups.get("pod", "vllm-0"), groups.get("pod", "vllm-0-1")
    for index, pod in enumerate((leader, worker)):
        labels = pod["metadata"]["labels"]
        assert labels[KEY + "group-index"] == "0" and labels[KEY + "worker-index"] == str(index), labels
        variables = environment(pod)
        assert list(variables)[:3] == ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"], variables
        assert variables["LWS_LEADER_ADDRESS"] == "vllm-0.vllm.default" and variables["LWS_GROUP_SIZE"] == "2"
        assert pod["spec"]["subdomain"] == "vllm"
    workers = groups.get("statefulset", "vllm-0")
    assert workers["spec"]["ordinals"] == {"start": 1} and workers["spec"]["replicas"] == 1, workers["spec"]
    assert workers["metadata"]["ownerReferences"][0]["uid"] == leader["metadata"]["uid"]
    row = target.kubectl("get", "lws", "vllm").stdout.split("\n")
    assert row[0].split() == ["NAME", "READY", "DESIRED", "UP-TO-DATE", "AGE"], row
    assert row[1].split()[:4] == ["vllm", "1", "1", "1"], row
    key = leader["metadata"]["labels"][KEY + "template-revision-hash"]
    notes = groups.notes("vllm")
    assert notes[:4] == [f"Creating revision with key {key} for a newly created LeaderWorkerSet",
                         "Created leader statefulset vllm",
                         "Replicas are progressing, with 0 groups ready of total 1 groups",
                         "Created worker statefulset for leader pod vllm-0"], notes
    assert notes[-1] == "All replicas are ready, with 1 groups ready of total 1 groups", notes


def groups_are_scaled(target, groups):
    target.kubectl("scale", "lws/vllm", "--replicas=2")
    groups.await_available("vllm", 2)
    assert groups.names("pods", "vllm") == ["vllm-0", "vllm-0-1", "vllm-1", "vllm-1-1"]
    target.kubectl("scale", "lws/vllm", "--replicas=1")
    groups.await_available("vllm", 1)
    target.await_true("the second group is gone", lambda: groups.names("pods", "vllm") == ["vllm-0", "vllm-0-1"])
    notes = groups.notes("vllm")
    assert notes.count("deleting surge replica vllm-1") == 1, notes
    assert "All replicas are ready, with 2 groups ready of total 1 groups" in notes, notes
    scale = json.loads(target.kubectl("get", "--raw", "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/"
                                      "leaderworkersets/vllm/scale").stdout)
    assert scale["status"]["selector"] == f"{KEY}name=vllm,{KEY}worker-index=0", scale


def a_lost_worker_takes_its_group_along(target, groups):
    leader, worker = groups.uid("vllm-0"), groups.uid("vllm-0-1")
    workers = groups.get("statefulset", "vllm-0")["metadata"]["uid"]
    target.kubectl("delete", "pod", "vllm-0-1", "--wait=false")
    target.await_true("the leader is another one", lambda: groups.uid("vllm-0") != leader)
    groups.await_available("vllm", 1)
    assert groups.uid("vllm-0-1") != worker and groups.get("statefulset", "vllm-0")["metadata"]["uid"] != workers
    notes = groups.notes("vllm")
    recreations = [note for note in notes if "to recreate group" in note]
    assert recreations == ["Worker pod vllm-0-1 failed, deleted leader pod vllm-0 to recreate group 0"], notes


def a_restarted_or_failed_worker_takes_its_group_along(target, groups):
    """The fates of containers are only told here: what plays the worker has no process that could end."""
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    restarted = {"containerStatuses": [{"name": "worker", "restartCount": 1, "ready": True, "image": "x", "imageID": "",
                                        "state": running}]}
    for status in (restarted, {"phase": "Failed"}):
        leader = groups.uid("vllm-0")
        target.kubectl("patch", "pod", "vllm-0-1", "--subresource=status", "-p", json.dumps({"status": status}))
        target.await_true(f"the leader is another one after {status}", lambda leader=leader: groups.uid("vllm-0") != leader)
        groups.await_available("vllm", 1)
    recreations = [note for note in groups.notes("vllm") if "to recreate group" in note]
    assert len(recreations) == 3 and len(set(recreations)) == 1, recreations


def a_lost_leader_is_no_recreation(target, groups):
    worker = groups.uid("vllm-0-1")
    target.kubectl("delete", "pod", "vllm-0", "--wait=false")
    target.await_true("the worker is another one", lambda: groups.uid("vllm-0-1") != worker)
    groups.await_available("vllm", 1)
    assert len([note for note in groups.notes("vllm") if "to recreate group" in note]) == 3, groups.notes("vllm")


def templates_are_rolled_out(target, groups):
    target.kubectl("scale", "lws/vllm", "--replicas=3")
    groups.await_available("vllm", 3)
    before = groups.get("pod", "vllm-0")["metadata"]["labels"][KEY + "template-revision-hash"]
    groups.apply("vllm", 3, image="registry.k8s.io/pause:3.9")
    groups.await_available("vllm", 3)
    after = groups.get("pod", "vllm-0-1")["metadata"]["labels"][KEY + "template-revision-hash"]
    assert after != before
    assert groups.get("pod", "vllm-2-1")["spec"]["containers"][0]["image"] == "registry.k8s.io/pause:3.9"
    notes = groups.notes("vllm")
    steps = [note for note in notes if note.startswith("Updating replica")]
    assert steps == ["Updating replica 2", "Updating replica 1", "Updating replica 0"], notes
    assert f"Creating revision with key {after} for updated LWS" in notes, notes
    target.await_true("the old revision is gone", lambda: groups.revisions("vllm") == [after])
    assert groups.conditions("vllm") == {"Progressing": "False", "Available": "True", "UpdateInProgress": "False"}


def an_update_stops_at_its_partition(target, groups):
    def rollout(partition):
        return {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": partition, "maxUnavailable": 1}}
    groups.apply("p", 3, rolloutStrategy=rollout(2))
    groups.await_available("p", 3)
    groups.apply("p", 3, image="registry.k8s.io/pause:3.9", rolloutStrategy=rollout(2))
    groups.await_available("p", 3, updated=1)
    assert len(groups.revisions("p")) == 2, "the groups below the partition are still of the old one"
    groups.apply("p", 3, image="registry.k8s.io/pause:3.9", rolloutStrategy=rollout(0))
    groups.await_available("p", 3)
    target.kubectl("delete", "lws", "p")


def a_surge_is_given_back(target, groups):
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 1}}
    groups.apply("s", 2, rolloutStrategy=rollout)
    groups.await_available("s", 2)
    groups.apply("s", 2, image="registry.k8s.io/pause:3.9", rolloutStrategy=rollout)
    groups.await_available("s", 2)
    notes = groups.notes("s")
    assert "Created worker statefulset for leader pod s-2" in notes and "deleting surge replica s-2" in notes, notes
    target.kubectl("delete", "lws", "s")


def workers_wait_for_a_leader_that_is_to_be_ready(target, groups):
    groups.apply("lr", startupPolicy="LeaderReady", networkConfig={"subdomainPolicy": "UniquePerReplica"})
    groups.await_available("lr", 1)
    assert groups.names("services", "lr") == ["lr-0"]
    leader, worker = groups.get("pod", "lr-0"), groups.get("pod", "lr-0-1")
    assert leader["spec"]["subdomain"] == worker["spec"]["subdomain"] == "lr-0"
    assert environment(worker)["LWS_LEADER_ADDRESS"] == "lr-0.lr-0.default"
    ready = [one["lastTransitionTime"] for one in leader["status"]["conditions"] if one["type"] == "Ready"]
    assert groups.get("statefulset", "lr-0")["metadata"]["creationTimestamp"] >= ready[0]
    target.kubectl("delete", "lws", "lr")


def without_a_policy_only_the_pod_comes_back(target, groups):
    groups.apply("none", restartPolicy="None")
    groups.await_available("none", 1)
    leader, worker = groups.uid("none-0"), groups.uid("none-0-1")
    target.kubectl("delete", "pod", "none-0-1", "--wait=false")
    target.await_true("the worker is another one", lambda: groups.uid("none-0-1") != worker)
    groups.await_available("none", 1)
    assert groups.uid("none-0") == leader
    target.kubectl("delete", "lws", "none")


def a_group_has_a_slice_of_its_own(target, groups):
    groups.apply("tl", size=4, limits={"google.com/tpu": "4"}, annotations={KEY + POLICY: "cloud.google.com/gke-nodepool"},
                 selector={"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
                           "cloud.google.com/gke-tpu-topology": "4x4"})
    groups.await_available("tl", 1)
    leader = groups.get("pod", "tl-0")
    assert len(leader["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]) == 1
    for index in range(1, 4):
        worker = groups.get("pod", f"tl-0-{index}")
        assert worker["spec"]["nodeSelector"]["cloud.google.com/gke-nodepool"] == "slice", worker["spec"]
        assert "affinity" not in worker["spec"]
        variables = environment(worker)
        assert variables["TPU_WORKER_ID"] == str(index), variables
        assert variables["TPU_WORKER_HOSTNAMES"] == "tl-0.tl,tl-0-1.tl,tl-0-2.tl,tl-0-3.tl", variables
    target.kubectl("delete", "lws", "tl")


def what_makes_no_sense_is_refused(target, groups):
    denied = 'admission webhook "vleaderworkerset.kb.io" denied the request: '
    path = "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable: Invalid value: 0: "
    nothing = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": 0}}
    cases = [(dict(size=0), denied + "spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1"),
             (dict(rolloutStrategy=nothing), denied + path + "must not be 0 when `maxSurge` is 0"),
             (dict(replicas=-1), "spec.replicas in body should be greater than or equal to 0")]
    for spec, words in cases:
        refused = target.kubectl("apply", "-f", "-", stdin=group_set("bad", **spec), check=False)
        assert refused.returncode == 1 and words in refused.stderr, refused


def another_replica_takes_over(target, groups):
    holder = groups.get("lease", "b8b2488c.x-k8s.io", "-n", "lws-system")["spec"]["holderIdentity"]
    target.kubectl("delete", "pod", holder.split("_")[0], "-n", "lws-system")
    target.kubectl("scale", "lws/vllm", "--replicas=1")
    groups.await_available("vllm", 1)
    now = groups.get("lease", "b8b2488c.x-k8s.io", "-n", "lws-system")["spec"]["holderIdentity"]
    assert now and now != holder, (now, holder)
    target.kubectl("delete", "lws", "vllm")
    target.await_true("nothing of it is left", lambda: not groups.names("pods,statefulsets,services,controllerrevisions", "vllm"))


STEPS = (the_manager_runs, a_group_is_made, groups_are_scaled, a_lost_worker_takes_its_group_along,
         a_restarted_or_failed_worker_takes_its_group_along, a_lost_leader_is_no_recreation,
         templates_are_rolled_out, an_update_stops_at_its_partition, a_surge_is_given_back,
         workers_wait_for_a_leader_that_is_to_be_ready, without_a_policy_only_the_pod_comes_back,
         a_group_has_a_slice_of_its_own, what_makes_no_sense_is_refused, another_replica_takes_over)


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start()
        target.need_control_plane()
        target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "2", "--machine-type",
                      "e2-standard-4")
        target.gcloud("container", "node-pools", "create", "slice", "--cluster", "c1", "--location", ZONE,
                      "--machine-type", "ct6e-standard-4t", "--tpu-topology", "4x4", "--num-nodes", "4")
        install(target, sys.argv[2])
        groups = Groups(target)
        for step in STEPS:
            step(target, groups)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)
