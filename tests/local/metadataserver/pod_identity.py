#!/usr/bin/env python3
"""Workload Identity hop by hop, in both of its styles: what a pod's metadata server tells, the token that it gives or
refuses, what Cloud Storage says to that token, and a bucket that is mounted by GCS FUSE only for whom may read it.
pod_identity.py BIN_DIR      Exit status 77: skipped, with the reason."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from local_target import LocalTarget, need_programs, run_or_skip

ZONE = "us-east5-b"
ASK = 'curl -s -w "\\n%{http_code}" -H "Metadata-Flavor: Google" "http://$GCE_METADATA_HOST/computeMetadata/v1/'
ACCOUNT = "instance/service-accounts/default/"
REFUSED = ("Unable to generate access token; IAM returned 403 Forbidden: Permission 'iam.serviceAccounts.getAccessToken' "
           "denied on resource (or it may not exist).\nThis error could be caused by a missing IAM policy binding on the "
           "target IAM service account.\n")


class Stand:
    def __init__(self, target):
        self.target = target
        self.project = target.environment["CLOUDSDK_CORE_PROJECT"]
        self.number = target.gcloud("projects", "describe", self.project, "--format",
                                    "value(projectNumber)").stdout.strip()
        self.bucket = "weights-" + self.number
        self.gsa = f"reader@{self.project}.iam.gserviceaccount.com"

    def principal(self, account):
        return (f"principal://iam.googleapis.com/projects/{self.number}/locations/global/workloadIdentityPools/"
                f"{self.project}.svc.id.goog/subject/ns/ai/sa/{account}")

    def run_pod(self, name, account, **spec):
        container = {"name": "main", "image": "busybox", "command": ["sleep", "3600"],
                     "resources": {"requests": {"cpu": "10m"}}}
        self.target.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ai"},
            "spec": dict({"serviceAccountName": account, "terminationGracePeriodSeconds": 0, "containers": [container]},
                         **spec)}))
        self.target.kubectl("wait", "-n", "ai", "--for=condition=Ready", "--timeout=90s", "pod/" + name)

    def execute(self, pod, script):
        return self.target.kubectl("exec", "-n", "ai", pod, "--", "sh", "-c", script)

    def ask(self, pod, path):
        """Status and body of a page of the metadata server."""
        return answer_of(self.execute(pod, ASK + path + '"'))

    def storage(self, pod, path, more=""):
        """Cloud Storage with the pod's own token."""
        script = ('token=$(curl -s -H "Metadata-Flavor: Google" "http://$GCE_METADATA_HOST/computeMetadata/v1/' + ACCOUNT
                  + 'token" | sed -e "s/.*access_token\\":\\"//" -e "s/\\".*//"); '
                  'curl -s -w "\\n%{http_code}" --cacert "$SLIPWAY_GOOGLE_CA_FILE" ' + more
                  + ' -H "Authorization: Bearer $token" "$SLIPWAY_GOOGLE_URL/' + path + '"')
        return answer_of(self.execute(pod, script))

    def bucket_binding(self, verb, role, member):
        self.target.gcloud("storage", "buckets", verb + "-iam-policy-binding", "gs://" + self.bucket, "--role", role,
                           "--member", member)

    def objects(self):
        return f"storage/storage/v1/b/{self.bucket}/o"


def answer_of(done):
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def refusal(answer):
    status, body = answer
    assert status == 403, answer
    return json.loads(body)["error"]["message"]


def prepare(stand):
    target = stand.target
    target.gcloud("storage", "buckets", "create", "gs://" + stand.bucket, "--location", "us-east5",
                  "--uniform-bucket-level-access")
    source = os.path.join(target.root, "weights.txt")
    with open(source, "w") as file:
        file.write("weights")
    target.gcloud("storage", "cp", source, f"gs://{stand.bucket}/weights.txt")
    target.gcloud("iam", "service-accounts", "create", "reader")
    target.kubectl("create", "namespace", "ai")
    for account in ("with-gsa", "direct"):
        target.kubectl("create", "serviceaccount", "-n", "ai", account)
    target.kubectl("annotate", "serviceaccount", "-n", "ai", "with-gsa", "iam.gke.io/gcp-service-account=" + stand.gsa)


def pages_tell_where_a_pod_is(stand):
    stand.run_pod("gsa", "with-gsa")
    for path, wanted in (("project/project-id", stand.project), ("project/numeric-project-id", stand.number),
                         ("instance/zone", f"projects/{stand.number}/zones/{ZONE}"),
                         ("instance/attributes/cluster-name", "c1"), ("instance/attributes/cluster-location", ZONE),
                         (ACCOUNT + "email", stand.gsa)):
        assert stand.ask("gsa", path) == (200, wanted), (path, stand.ask("gsa", path))
    bare = stand.execute("gsa", 'curl -s "http://$GCE_METADATA_HOST/computeMetadata/v1/project/project-id"').stdout
    assert bare == 'Missing required header "Metadata-Flavor": "Google"\n', bare
    # Where pods have no files of their own, names come from this machine.
    hosts = stand.execute("gsa", 'test -n "$SLIPWAY_ROOT" || cat /etc/hosts').stdout
    assert not hosts or "metadata.google.internal" in hosts, hosts


def without_the_binding_there_is_no_token(stand):
    status, body = stand.ask("gsa", ACCOUNT + "token")
    assert status == 403 and body.startswith(REFUSED), (status, body)
    stand.target.gcloud("iam", "service-accounts", "add-iam-policy-binding", stand.gsa,
                        "--role=roles/iam.workloadIdentityUser",
                        f"--member=serviceAccount:{stand.project}.svc.id.goog[ai/with-gsa]")
    status, body = stand.ask("gsa", ACCOUNT + "token")
    token = json.loads(body)
    assert status == 200 and token["token_type"] == "Bearer" and token["expires_in"] > 3000, (status, token)
    status, body = stand.ask("gsa", ACCOUNT + "identity?audience=https://a.example")
    claims = json.loads(base64.urlsafe_b64decode(body.split(".")[1] + "=="))
    assert status == 200 and claims["email"] == stand.gsa and claims["aud"] == "https://a.example", claims


def the_account_needs_the_bucket(stand):
    words = refusal(stand.storage("gsa", stand.objects()))
    assert words == (f"{stand.gsa} does not have storage.objects.list access to the Google Cloud Storage bucket. Permission "
                     "'storage.objects.list' denied on resource (or it may not exist)."), words
    stand.bucket_binding("add", "roles/storage.objectViewer", "serviceAccount:" + stand.gsa)
    status, body = stand.storage("gsa", stand.objects())
    assert status == 200 and json.loads(body)["items"][0]["name"] == "weights.txt", (status, body)
    assert stand.storage("gsa", stand.objects() + "/weights.txt?alt=media") == (200, "weights")
    upload = stand.storage("gsa", f"upload/storage/v1/b/{stand.bucket}/o?uploadType=media&name=x", "-X POST -d y")
    assert "does not have storage.objects.create access" in refusal(upload), upload
    other = stand.storage("gsa", f"container/v1/projects/{stand.project}/locations/-/clusters")
    assert other[0] == 403, other


def the_direct_style(stand):
    stand.run_pod("direct", "direct")
    assert stand.ask("direct", ACCOUNT + "email") == (200, stand.project + ".svc.id.goog")
    words = refusal(stand.storage("direct", stand.objects()))
    assert words.startswith("Caller does not have storage.objects.list access to the Google Cloud Storage bucket."), words
    # The id where the number belongs: no error, and nobody is bound.
    stand.bucket_binding("add", "roles/storage.objectUser",
                         stand.principal("direct").replace(f"projects/{stand.number}", f"projects/{stand.project}"))
    assert stand.storage("direct", stand.objects())[0] == 403
    stand.bucket_binding("add", "roles/storage.objectUser", stand.principal("direct"))
    assert stand.storage("direct", stand.objects())[0] == 200
    status, body = stand.storage("direct", f"upload/storage/v1/b/{stand.bucket}/o?uploadType=media&name=x", "-X POST -d y")
    assert status == 200, (status, body)


def the_hosts_network_is_the_node(stand):
    stand.run_pod("host", "with-gsa", hostNetwork=True)
    account = stand.number + "-compute@developer.gserviceaccount.com"
    assert stand.ask("host", ACCOUNT + "email") == (200, account)
    assert refusal(stand.storage("host", stand.objects())).startswith(account + " does not have")


def a_pool_without_gke_metadata(stand):
    stand.target.gcloud("container", "node-pools", "create", "plain", "--cluster", "c1", "--location", ZONE, "--num-nodes",
                        "1", "--machine-type", "e2-standard-4", "--workload-metadata", "GCE_METADATA")
    node = {"cloud.google.com/gke-nodepool": "plain"}
    labels = json.loads(stand.target.kubectl("get", "nodes", "-l", "cloud.google.com/gke-nodepool=plain", "-o",
                                             "json").stdout)["items"][0]["metadata"]["labels"]
    assert "iam.gke.io/gke-metadata-server-enabled" not in labels, labels
    stand.run_pod("plain", "with-gsa", nodeSelector=node)
    assert stand.ask("plain", ACCOUNT + "email") == (200, stand.number + "-compute@developer.gserviceaccount.com")
    words = mount_words(stand, "mount-plain", "with-gsa", nodeSelector=node)
    assert "Workload Identity Federation is not enabled on node." in words, words


def mount_words(stand, name, account, **more):
    """What the pod's FailedMount event says."""
    apply_mount(stand, name, account, **more)
    said = []

    def has_failed():
        events = json.loads(stand.target.kubectl("get", "events", "-n", "ai", "--field-selector",
                                                 f"involvedObject.name={name},reason=FailedMount", "-o", "json").stdout)
        said[:] = [event["message"] for event in events["items"]]
        return said
    stand.target.await_true("the mount fails", has_failed, 60)
    return said[-1]


def apply_mount(stand, name, account, **more):
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", "cat /weights/weights.txt && echo && sleep 3600"],
                 "volumeMounts": [{"name": "weights", "mountPath": "/weights"}], "resources": {"requests": {"cpu": "10m"}}}
    volume = {"name": "weights", "csi": {"driver": "gcsfuse.csi.storage.gke.io",
                                         "volumeAttributes": {"bucketName": stand.bucket}}}
    stand.target.kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ai", "annotations": {"gke-gcsfuse/volumes": "true"}},
        "spec": dict({"nodeSelector": {"cloud.google.com/gke-nodepool": "default-pool"}, "serviceAccountName": account,
                      "terminationGracePeriodSeconds": 0, "containers": [container], "volumes": [volume]}, **more)}))


def mounts_go_by_the_pods_identity(stand):
    stand.target.kubectl("create", "serviceaccount", "-n", "ai", "nobody")
    words = mount_words(stand, "mount-nobody", "nobody")
    assert (f'MountVolume.SetUp failed for volume "weights" : rpc error: code = PermissionDenied desc = failed to get GCS '
            f'bucket "{stand.bucket}": googleapi: Error 403: Caller does not have storage.objects.list access to the Google '
            "Cloud Storage bucket. Permission 'storage.objects.list' denied on resource (or it may not exist)., "
            "forbidden") == words, words
    stand.target.kubectl("annotate", "serviceaccount", "-n", "ai", "nobody", "iam.gke.io/gcp-service-account=" + stand.gsa)
    words = mount_words(stand, "mount-unbound", "nobody")
    assert words.endswith("rpc error: code = Unauthenticated desc = failed to prepare storage service: storage service "
                          "manager failed to setup service: timed out waiting for the condition"), words
    stand.target.gcloud("iam", "service-accounts", "add-iam-policy-binding", stand.gsa,
                        "--role=roles/iam.workloadIdentityUser",
                        f"--member=serviceAccount:{stand.project}.svc.id.goog[ai/nobody]")
    # The kubelet tries again, and now it works.
    stand.target.kubectl("wait", "-n", "ai", "--for=condition=Ready", "--timeout=120s", "pod/mount-unbound")
    stand.target.await_true("the pod has read it", lambda: stand.target.kubectl("logs", "-n", "ai", "mount-unbound").stdout
                            == "weights\n", 30)


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin", "curl")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        project = target.environment["CLOUDSDK_CORE_PROJECT"]
        target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                      "e2-standard-4", "--workload-pool", project + ".svc.id.goog", "--addons", "GcsFuseCsiDriver")
        stand = Stand(target)
        prepare(stand)
        for step in (pages_tell_where_a_pod_is, without_the_binding_there_is_no_token, the_account_needs_the_bucket,
                     the_direct_style, the_hosts_network_is_the_node, a_pool_without_gke_metadata,
                     mounts_go_by_the_pods_identity):
            step(stand)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)
