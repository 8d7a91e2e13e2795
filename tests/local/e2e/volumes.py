#!/usr/bin/env python3
"""Buckets and disks as volumes, with the real gcloud and kubectl: what gcloud puts into a bucket a pod reads, what the
pod writes gcloud finds, a claim's disk outlives its pod and goes with the claim; and kubectl debugs one of those pods.
volumes.py BINDIR"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from local_target import LocalTarget, need_programs, run_or_skip

BUCKET = "slipway-volumes-test"

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  annotations: {{{annotations}}}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: busybox:1.36
    command: [sh, -c, '{script}']
    volumeMounts: [{{name: v, mountPath: /mnt/v}}]
  volumes:
  - name: v
    {volume}
"""

BUCKET_VOLUME = """csi:
      driver: gcsfuse.csi.storage.gke.io
      volumeAttributes: {bucketName: %s, mountOptions: implicit-dirs}""" % BUCKET

CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec:
  accessModes: [%s]
  %s
  resources: {requests: {storage: %s}}
"""

STATIC = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: bucket-pv}
spec:
  accessModes: [ReadWriteMany]
  capacity: {storage: 5Gi}
  storageClassName: none
  mountOptions: [implicit-dirs, only-dir=models]
  claimRef: {namespace: default, name: bucket-claim}
  csi: {driver: gcsfuse.csi.storage.gke.io, volumeHandle: %s}
""" % BUCKET


class Volumes:
    def __init__(self, target):
        self.target = target

    def apply(self, manifest):
        self.target.kubectl("apply", "-f", "-", stdin=manifest)

    def pod(self, name, script, volume, annotations='gke-gcsfuse/volumes: "true"'):
        self.apply(POD.format(name=name, script=script, volume=volume, annotations=annotations))

    def field(self, what, path):
        return self.target.kubectl("get", *what.split(), "-o", "jsonpath=" + path).stdout

    def await_field(self, what, path, value, limit=120):
        self.target.await_true(f"{what} {path} is {value}", lambda: self.field(what, path) == value, limit)

    def cat(self, name):
        return self.target.gcloud("storage", "cat", f"gs://{BUCKET}/{name}").stdout

    def put(self, name, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            self.target.gcloud("storage", "cp", file.name, f"gs://{BUCKET}/{name}")

    def buckets_are_folders(self):
        self.target.gcloud("storage", "buckets", "create", f"gs://{BUCKET}", "--location", "us-east5")
        project = self.target.environment["CLOUDSDK_CORE_PROJECT"]
        number = self.target.gcloud("projects", "describe", project, "--format", "value(projectNumber)").stdout.strip()
        self.target.gcloud(
            "storage", "buckets", "add-iam-policy-binding", f"gs://{BUCKET}", "--role", "roles/storage.objectUser",
            f"--member=principal://iam.googleapis.com/projects/{number}/locations/global/workloadIdentityPools/"
            f"{project}.svc.id.goog/subject/ns/default/sa/default")
        self.put("models/llama/config.json", "weights of llama\n")
        self.pod("stager", "cat /mnt/v/models/llama/config.json; mkdir /mnt/v/out; echo staged > /mnt/v/out/done",
                 BUCKET_VOLUME)
        self.await_field("pod stager", "{.status.phase}", "Succeeded")
        assert self.target.kubectl("logs", "stager").stdout == "weights of llama\n"
        assert self.cat("out/done") == "staged\n"  # at the latest when the pod has ended

        self.pod("server", "while ! [ -e /mnt/v/models/later ]; do sleep 0.1; done; cat /mnt/v/models/later; "
                 "echo seen > /mnt/v/seen; sleep 1000", BUCKET_VOLUME)
        self.await_field("pod server", "{.status.phase}", "Running")
        self.put("models/later", "came later\n")
        self.target.await_true("the pod sees the object",
                               lambda: self.target.kubectl("logs", "server").stdout == "came later\n")
        self.target.await_true("its file is an object", lambda: self.cat("seen") == "seen\n")

    def claims_name_buckets(self):
        self.apply(STATIC)
        self.apply(CLAIM % ("bucket-claim", "ReadWriteMany", "storageClassName: none\n  volumeName: bucket-pv", "5Gi"))
        self.pod("by-claim", "cat /mnt/v/later; echo ro > /mnt/v/refused",
                 "persistentVolumeClaim: {claimName: bucket-claim, readOnly: true}")
        self.target.await_true("it has ended", lambda: self.field("pod by-claim", "{.status.phase}")
                               in ("Succeeded", "Failed"))
        assert self.target.kubectl("logs", "by-claim").stdout.startswith("came later\n")
        names = self.target.gcloud("storage", "ls", "--recursive", f"gs://{BUCKET}").stdout
        assert "refused" not in names, names

    def refusals_are_worded_as_gke_words_them(self):
        self.pod("unmarked", "true", BUCKET_VOLUME, annotations="")
        self.pod("nowhere", "true", BUCKET_VOLUME.replace(BUCKET, "no-such-bucket-anywhere"))
        for pod, text in (("unmarked", "code = FailedPrecondition desc = failed to find the sidecar container"),
                          ("nowhere", "code = NotFound desc = failed to get GCS bucket")):
            self.target.await_true(f"{pod} says why", lambda p=pod, t=text: t in self.target.kubectl(
                "get", "events", "--field-selector", f"involvedObject.name={p},reason=FailedMount",
                "-o", "jsonpath={.items[*].message}").stdout)

    def disks_outlive_their_pods(self):
        assert self.field("storageclass standard-rwo", "{.provisioner}") == "pd.csi.storage.gke.io"
        self.apply(CLAIM % ("data", "ReadWriteOnce", "", "10Gi"))  # of the default class, which waits for a pod
        volume = "persistentVolumeClaim: {claimName: data}"
        self.pod("writer", "echo kept > /mnt/v/file", volume, annotations="")
        self.await_field("pod writer", "{.status.phase}", "Succeeded")
        self.await_field("pvc data", "{.status.phase}", "Bound")
        name = self.field("pvc data", "{.spec.volumeName}")
        assert self.field(f"pv {name}", "{.spec.csi.volumeHandle}").endswith("/disks/" + name)
        self.target.kubectl("delete", "pod", "writer")
        self.pod("reader", "cat /mnt/v/file", volume, annotations="")
        self.await_field("pod reader", "{.status.phase}", "Succeeded")
        assert self.target.kubectl("logs", "reader").stdout == "kept\n"
        folders = self.folders_of(name)
        assert len(folders) == 1, folders
        self.target.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}')
        self.await_field("pvc data", "{.status.capacity.storage}", "20Gi")
        self.target.kubectl("delete", "pod", "reader")
        self.target.kubectl("delete", "pvc", "data")
        self.target.await_true("the disk goes with its claim", lambda: not self.folders_of(name)
                               and name not in self.target.kubectl("get", "pv", "-o", "name").stdout)

        self.apply(CLAIM % ("shared", "ReadWriteMany", "storageClassName: standard", "1Gi"))
        self.target.await_true("what no disk can is refused", lambda: "specified multi writer with mount access type"
                               in self.target.kubectl("describe", "pvc", "shared").stdout)

    def debuggers_join_running_pods(self):
        said = self.target.kubectl("debug", "server", "--image=busybox:1.36", "--target=main", "-c", "looker", "-i", "-q",
                                   "--", "sh", "-c", "read line; echo got $line; cat /mnt/v/models/later",
                                   stdin="a line\n", timeout=120).stdout
        assert "got a line" in said and "came later" in said, said
        self.await_field("pod server", "{.status.ephemeralContainerStatuses[0].state.terminated.reason}", "Completed")
        assert "got a line" in self.target.kubectl("logs", "server", "-c", "looker").stdout
        assert self.field("pod server", "{.status.phase}") == "Running"

    def folders_of(self, name):
        return [os.path.join(root, name) for root, folders, _ in os.walk(self.target.root) if name in folders]


def main(bin_dir):
    need_programs("gcloud", "kubectl")
    with LocalTarget(bin_dir) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        target.gcloud("container", "clusters", "create", "c1", "--location", "us-east5-b", "--num-nodes", "1",
                      "--machine-type", "e2-standard-4", "--addons", "GcsFuseCsiDriver",
                      "--workload-pool", target.environment["CLOUDSDK_CORE_PROJECT"] + ".svc.id.goog")
        volumes = Volumes(target)
        volumes.buckets_are_folders()
        volumes.debuggers_join_running_pods()
        volumes.claims_name_buckets()
        volumes.refusals_are_worded_as_gke_words_them()
        volumes.disks_outlive_their_pods()


if __name__ == "__main__":
    run_or_skip(main, os.path.abspath(sys.argv[1]))
