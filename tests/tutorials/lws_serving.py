"""What the two models of the multi-host GPU tutorial have in common: a cluster with two H100 machines, LeaderWorkerSet,
vLLM over both, a request, and everything deleted again."""
import json
import time

LOG = [r"Application startup complete", r"http://[\d.]+:8080 \(Press CTRL\+C to quit\)"]
MANAGER = r"^lws-controller-manager-\S+\s+1/1\s+Running\s+0\s+"
PODS = [r"^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE$", MANAGER, MANAGER]

VALUES = {"PROJECT_ID": "slipway-local", "CLUSTER_NAME": "lws", "REGION": "us-central1", "ZONE": "us-central1-a",
          "HUGGING_FACE_TOKEN": "hf_of_the_reader", "CLUSTER_VERSION": "1.34", "PROJECT_NUMBER": "$(gcloud projects "
          "describe slipway-local --format='value(projectNumber)')"}


def prepare(reader):
    reader.do("gcloud config set project PROJECT_ID\n"
              "gcloud config set billing/quota_project PROJECT_ID\n"
              "export PROJECT_ID=$(gcloud config get project)\n"
              "export CLUSTER_NAME=CLUSTER_NAME\n"
              "export REGION=REGION\n"
              "export ZONE=ZONE\n"
              "export HF_TOKEN=HUGGING_FACE_TOKEN\n"
              "export CLUSTER_VERSION=CLUSTER_VERSION")


def standard_cluster(reader):
    reader.do("gcloud container clusters create CLUSTER_NAME \\\n"
              "    --project=PROJECT_ID \\\n"
              "    --num-nodes=2 \\\n"
              "    --location=REGION \\\n"
              "    --machine-type=e2-standard-16",
              says=r"^lws\s+us-central1\s+.*RUNNING")
    reader.do("gcloud container node-pools create gpu-nodepool \\\n"
              "    --node-locations=ZONE \\\n"
              "    --num-nodes=2 \\\n"
              "    --machine-type=a3-highgpu-8g \\\n"
              "    --accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=LATEST \\\n"
              "    --placement-type=COMPACT \\\n"
              "    --cluster=CLUSTER_NAME \\\n"
              "    --location=${REGION}",
              says=r"^gpu-nodepool\s+a3-highgpu-8g",
              in_place_of="the same without the backslash after --cluster=CLUSTER_NAME",
              because="the text ends the command there, and its last line would be one of its own")


def autopilot_cluster(reader):
    reader.do("gcloud container clusters create-auto ${CLUSTER_NAME} \\\n"
              "    --project=${PROJECT_ID} \\\n"
              "    --location=${REGION} \\\n"
              "    --cluster-version=${CLUSTER_VERSION}", says=r"^lws\s+us-central1\s+.*RUNNING")


def install_lws(reader):
    reader.do("gcloud container clusters get-credentials CLUSTER_NAME --location=REGION")
    reader.do("kubectl create secret generic hf-secret \\\n"
              "  --from-literal=hf_api_token=${HF_TOKEN} \\\n"
              "  --dry-run=client -o yaml | kubectl apply -f -", says="secret/hf-secret created")
    reader.file("manifests.yaml", of=["../lws/manifests.yaml", "../lws/crd.json"])
    reader.do("kubectl apply --server-side -f manifests.yaml",
              says=["deployment.apps/lws-controller-manager serverside-applied",
                    "leaderworkersets.leaderworkerset.x-k8s.io serverside-applied"],
              in_place_of="the same of the release's manifests.yaml at its address on the internet",
              because="the tests have no network; the file has the same objects")
    reader.again("kubectl get pod -n lws-system", says=PODS)
    # A reader is slower than this: the API server needs a moment until it serves a new kind.
    reader.again("kubectl get leaderworkersets", says=r"\A")


def serve(reader, manifest):
    reader.file(manifest)
    reader.do("kubectl apply -f " + manifest,
              says=["leaderworkerset.leaderworkerset.x-k8s.io/vllm created", "service/vllm-leader created"])
    reader.again("kubectl get pods", says=[r"^vllm-0\s+1/1\s+Running\s+0\s", r"^vllm-0-1\s+1/1\s+Running\s+0\s"],
                 limit=300)
    reader.do("kubectl logs vllm-0 -c vllm-leader", says=LOG)
    return reader.start("kubectl port-forward svc/vllm-leader 8080:8080", says=r"Forwarding from 127\.0\.0\.1:8080")


def complete(reader, model, prompt, tokens):
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}, indent=4)
    answer = json.loads(reader.do("curl http://localhost:8080/v1/completions \\\n"
                                  "-H \"Content-Type: application/json\" \\\n"
                                  f"-d '{body}'"))
    assert answer["object"] == "text_completion" and answer["model"] == model, answer
    assert answer["id"].startswith("cmpl-") and answer["created"] <= time.time() + 1, answer
    choice, usage = answer["choices"][0], answer["usage"]
    assert choice["index"] == 0 and choice["text"] and choice["logprobs"] is None, choice
    assert choice["finish_reason"] in ("stop", "length") and "stop_reason" in choice, choice
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] <= 4096, usage
    assert 0 < usage["completion_tokens"] <= tokens, usage
    return answer


def both_hosts_compute(reader):
    """That the group is one engine over both pods is not in the text; here it is looked at."""
    reader.do("kubectl logs vllm-0 -c vllm-leader", says=r"2 stages, 1 of them on workers")
    reader.do("kubectl logs vllm-0-1 -c vllm-worker", says=r"listens on")


def take_away(reader):
    reader.do("gcloud container clusters delete CLUSTER_NAME \\\n  --location=REGION --quiet",
              in_place_of="the same with --location=ZONE, and without --quiet",
              because="the cluster is of a region, so the text's ZONE does not find it; nobody is there to be asked")
    reader.nothing_is_left()
