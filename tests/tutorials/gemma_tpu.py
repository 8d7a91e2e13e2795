#!/usr/bin/env python3
"""Gemma 4 31B by Ray Serve LLM on a v6e 4x4 slice of four hosts, on a Standard cluster with DRANET.
gemma_tpu.py BIN_DIR"""
import json
import sys

from tutorial import run

VALUES = {"REGION": "us-east5", "ZONE": "us-east5-b", "BUCKET_NAME": "gemma-weights", "PROJECT_ID": "slipway-local",
          "REPOSITORY": "ray-repo", "YOUR_HUGGING_FACE_TOKEN": "hf_of_the_reader"}
PROGRAMS = ("gcloud", "kubectl", "gke-gcloud-auth-plugin", "curl", "envsubst")


def prepare(reader):
    reader.do("export PROJECT_ID=$(gcloud config get project)\n"
              "export CLUSTER_NAME=ray-llm-cluster\n"
              "export REGION=REGION\n"
              "export ZONE=ZONE\n"
              "export NAMESPACE=default\n"
              "export KSA_NAME=ray-ksa\n"
              "export GSA_NAME=tpu-reader-sa\n"
              "export NETWORK_NAME=${CLUSTER_NAME}-net\n"
              "export GS_BUCKET=BUCKET_NAME\n"
              "export REPO_NAME=ray-repo\n"
              "export CUSTOM_IMAGE_URI=REGION-docker.pkg.dev/PROJECT_ID/REPOSITORY/vllm-tpu-ray:vllm-tpu")


def cluster_and_slice(reader):
    reader.do("gcloud container clusters create ${CLUSTER_NAME} \\\n"
              "    --project=${PROJECT_ID} \\\n"
              "    --addons=RayOperator,GcsFuseCsiDriver \\\n"
              "    --machine-type=n2-standard-8 \\\n"
              "    --enable-dataplane-v2 \\\n"
              "    --workload-pool=${PROJECT_ID}.svc.id.goog \\\n"
              "    --location=${ZONE}", says=r"^ray-llm-cluster\s+us-east5-b\s.*RUNNING")
    pool = {"nodePool": {
        "name": "v6e-16", "initialNodeCount": 4, "placementPolicy": {"tpuTopology": "4x4", "type": "COMPACT"},
        "networkConfig": {"acceleratorNetworkProfile": "auto"},
        "config": {"machineType": "ct6e-standard-4t", "gvnic": {"enabled": True},
                   "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
                   "labels": {"cloud.google.com/gke-networking-dra-driver": "true"}}}}
    reader.do("curl -sS --fail-with-body --cacert $CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE \\\n"
              "  -H \"Authorization: Bearer $CLOUDSDK_AUTH_ACCESS_TOKEN\" -H 'Content-Type: application/json' \\\n"
              "  ${CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER}v1/projects/${PROJECT_ID}/locations/${ZONE}/clusters/"
              "${CLUSTER_NAME}/nodePools \\\n"
              f"  -d '{json.dumps(pool)}'",
              says='"operationType": *"CREATE_NODE_POOL"',
              in_place_of="gcloud container node-pools create v6e-16 ... --accelerator-network-profile=auto",
              because="gcloud 528 does not know that flag, in no release track; this is what it stands for")
    reader.again("gcloud container node-pools list --cluster=${CLUSTER_NAME} --location=${ZONE} "
                 "--format='value(name,status)'", says=r"^v6e-16\s+RUNNING$")


def storage_and_identity(reader):
    reader.do("gcloud storage buckets create gs://${GS_BUCKET} --project=${PROJECT_ID} "
              "--default-storage-class=STANDARD --location=${REGION}")
    reader.do("gcloud storage buckets anywhere-caches create gs://${GS_BUCKET} ${ZONE} \\\n"
              "    --ttl=1d \\\n"
              "    --admission-policy=ADMIT_ON_FIRST_MISS")
    reader.do("gcloud iam service-accounts create ${GSA_NAME}")
    reader.do("gcloud storage buckets add-iam-policy-binding gs://${GS_BUCKET} \\\n"
              "    --member=\"serviceAccount:${GSA_NAME}@${PROJECT_ID}.iam.gserviceaccount.com\" \\\n"
              "    --role=\"roles/storage.objectAdmin\"")
    reader.do("gcloud iam service-accounts add-iam-policy-binding "
              "${GSA_NAME}@${PROJECT_ID}.iam.gserviceaccount.com \\\n"
              "    --role=\"roles/iam.workloadIdentityUser\" \\\n"
              "    --member=\"serviceAccount:${PROJECT_ID}.svc.id.goog[${NAMESPACE}/${KSA_NAME}]\"")
    reader.do("gcloud container clusters get-credentials ${CLUSTER_NAME} \\\n    --location=${ZONE}",
              in_place_of="nothing: the text has this step on Autopilot only",
              because="kubectl knows no cluster without it")
    reader.do("kubectl create serviceaccount ${KSA_NAME} --namespace ${NAMESPACE}\n"
              "kubectl annotate serviceaccount ${KSA_NAME} --namespace ${NAMESPACE} "
              "iam.gke.io/gcp-service-account=${GSA_NAME}@${PROJECT_ID}.iam.gserviceaccount.com",
              says=["serviceaccount/ray-ksa created", "serviceaccount/ray-ksa annotated"])
    reader.do("export HF_TOKEN=YOUR_HUGGING_FACE_TOKEN")
    reader.do("kubectl create secret generic hf-secret \\\n  --from-literal=hf_api_token=${HF_TOKEN}",
              says="secret/hf-secret created")


def image(reader):
    reader.do("gcloud artifacts repositories create ${REPO_NAME} \\\n"
              "    --repository-format=docker \\\n"
              "    --location=${REGION}")
    reader.do("gcloud auth configure-docker ${REGION}-docker.pkg.dev --quiet",
              in_place_of="the same without --quiet", because="nobody is there to be asked")
    reader.do("gcloud artifacts repositories describe ${REPO_NAME} --location=${REGION}",
              in_place_of="docker build -t ${CUSTOM_IMAGE_URI} . and docker push ${CUSTOM_IMAGE_URI}",
              because="images are not built here: what runs in the image's place goes by its name")


def claims(reader):
    reader.file("all-netdev-template.yaml")
    reader.do("kubectl apply -f all-netdev-template.yaml", says="resourceclaimtemplate.resource.k8s.io/all-netdev created")


def serve(reader):
    reader.file("ray-service.tpu-v6e-multihost.yaml")
    reader.do("envsubst < ray-service.tpu-v6e-multihost.yaml | kubectl apply -f -",
              says="rayservice.ray.io/vllm-tpu-multihost created")
    reader.do("kubectl wait --for=condition=Ready --timeout=1800s rayservice/vllm-tpu-multihost", says="condition met")
    reader.start("kubectl port-forward svc/vllm-tpu-multihost-head-svc 8000:8000", says="Forwarding from 127.0.0.1:8000")
    body = json.dumps({"model": "google/gemma-4-31B-it", "max_tokens": 256, "messages": [
        {"role": "user", "content": "Why is GKE managed DRANET preferred for multi-host TPU networking?"}]}, indent=4)
    answer = json.loads(reader.do("curl -X POST http://127.0.0.1:8000/v1/chat/completions \\\n"
                                  "    -H \"Content-Type: application/json\" \\\n"
                                  f"    -d '{body}'"))
    assert answer["object"] == "chat.completion" and answer["model"] == "google/gemma-4-31B-it", answer
    choice = answer["choices"][0]
    assert choice["message"]["role"] == "assistant" and choice["message"]["content"], choice
    assert choice["finish_reason"] in ("stop", "length"), choice


def take_away(reader):
    reader.do("kubectl delete rayservice vllm-tpu-multihost", says='rayservice.ray.io "vllm-tpu-multihost" deleted')
    reader.do("gcloud container clusters delete ${CLUSTER_NAME} --zone=${ZONE} --quiet",
              in_place_of="the same without --quiet", because="nobody is there to be asked")
    reader.do("gcloud storage rm --recursive gs://${GS_BUCKET}\n"
              "gcloud artifacts repositories delete ${REPO_NAME} --location=${REGION} --quiet\n"
              "gcloud iam service-accounts delete ${GSA_NAME}@${PROJECT_ID}.iam.gserviceaccount.com --quiet",
              in_place_of="nothing: the text leaves its bucket, repository and service account",
              because="they would go on to bill")
    reader.nothing_is_left()


def play(reader):
    for part in (prepare, cluster_and_slice, storage_and_identity, image, claims, serve, take_away):
        part(reader)


if __name__ == "__main__":
    sys.exit(run("gemma-tpu", VALUES, play, PROGRAMS))
