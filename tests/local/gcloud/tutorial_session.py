"""The machine types of the three tutorials with the real gcloud: create, get-credentials, pool, resize, delete; with
a stockout, a quota and a 503 in between. Argument: folder of the programs."""
import json
import re
import sys

from gcloud_target import Target

FAILED = []


def expect(what, is_so, more=""):
    print("%s %s" % ("ok" if is_so else "not ok", what))
    if not is_so:
        FAILED.append(what)
        print("    " + more.replace("\n", "\n    "))
    sys.stdout.flush()


class Session:
    def __init__(self, target):
        self.target = target

    def gcloud(self, line, exit_code=0, says=""):
        code, out, err = self.target.run(["gcloud", "container"] + line.split())
        text = out + err
        expect(line, code == exit_code and re.search(says, text) is not None,
               "exit code %d, wanted %d and '%s'\n%s" % (code, exit_code, says, text))
        return out

    def order(self, **fault):
        status, answer = self.target.ask("POST", "/slipway/v1/faults", fault)
        expect("order " + json.dumps(fault), status == 200, str(answer))

    def pool(self, cluster, location, name):
        path = "/container/v1/projects/my-project/locations/%s/clusters/%s/nodePools/%s" % (location, cluster, name)
        return self.target.ask("GET", path)


def ray_on_v6e(session):
    """Tutorial 1: a slice of 16 chips on four VMs."""
    at = "--location=us-east5-b"
    pool = ("node-pools create v6e-16 --cluster=ray " + at + " --node-locations=us-east5-b "
            "--machine-type=ct6e-standard-4t --tpu-topology=4x4 --num-nodes=")
    session.gcloud("clusters create ray --addons=RayOperator,GcsFuseCsiDriver --machine-type=n1-standard-16 "
                   "--num-nodes=1 " + at, says=r"ray\s+us-east5-b\s+.*RUNNING")
    session.gcloud(pool + "3", 1, 'Initial node count 3 is not a valid size of TPU pod slice with topology "4x4"')
    session.order(kind="stockout", machineType="ct6e-standard-4t", location="us-east5-b", times=1)
    session.gcloud(pool + "4", 1, r"finished with error: .*Atomic resize failed with \[GCE_STOCKOUT\]")
    status, state = session.pool("ray", "us-east5-b", "v6e-16")
    expect("the pool is in ERROR", status == 200 and state["status"] == "ERROR", str(state))
    session.gcloud("node-pools delete v6e-16 --cluster=ray --quiet " + at, says="Deleted")
    session.gcloud(pool + "4", says=r"v6e-16\s+ct6e-standard-4t\s+100")
    session.gcloud("clusters resize ray --node-pool=v6e-16 --num-nodes=8 --quiet " + at, 1,
                   "Node count 8 is not a valid size of TPU pod slice")
    session.gcloud("clusters get-credentials ray " + at, says="kubeconfig entry generated for ray")
    with open(session.target.home + "/kubeconfig", encoding="utf-8") as file:
        config = file.read()
    expect("the kubeconfig has the endpoint and the plug-in",
           "https://127.0.0.1:6443" in config and "gke-gcloud-auth-plugin" in config, config)
    session.gcloud("clusters delete ray --quiet " + at, says="Deleted")


def vllm_on_h100(session):
    """Tutorial 2: eight GPUs a node in a regional cluster."""
    at = "--location=us-central1"
    pool = ("node-pools create gpu --cluster=llm " + at + " --node-locations=us-central1-a --num-nodes=2 "
            "--machine-type=a3-highgpu-8g --accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=LATEST")
    session.gcloud("clusters create llm --machine-type=e2-standard-16 --num-nodes=1 " + at, says="RUNNING")
    session.order(kind="quota", machineType="a3-highgpu-8g", location="us-central1", limit=8)
    session.gcloud(pool, 1, r"request requires '16\.0' and is short '8\.0'")
    session.target.ask("DELETE", "/slipway/v1/faults")
    session.gcloud(pool, says=r"gpu\s+a3-highgpu-8g")
    session.gcloud("clusters resize llm --node-pool=gpu --num-nodes=3 --quiet " + at, says="Updated")
    status, state = session.pool("llm", "us-central1", "gpu")
    expect("three nodes", state.get("initialNodeCount") == 3, str(state))
    session.order(kind="unavailable", service="container", times=1)
    session.gcloud("clusters list", 1, "code=503")
    session.gcloud("clusters delete llm --quiet " + at, says="Deleted")


def diffusion_on_v4(session):
    """Tutorial 3: one VM with four chips."""
    at = "--location=us-central2-b"
    session.gcloud("clusters create tpu --machine-type=n1-standard-8 --num-nodes=1 --cluster-version=1.30.1 " + at,
                   says=r"1\.30\.1-gke")
    pool = "node-pools create v4 --cluster=tpu --machine-type=ct4p-hightpu-4t --num-nodes=1 " + at
    session.gcloud(pool + " --tpu-topology=2x2x1", 1, "TPU topology can't be specified with single-host")
    session.gcloud(pool, says=r"v4\s+ct4p-hightpu-4t")
    session.gcloud("clusters delete tpu --quiet " + at, says="Deleted")


def main():
    with Target(sys.argv[1]) as target:
        session = Session(target)
        for part in (ray_on_v6e, vllm_on_h100, diffusion_on_v4):
            print("# " + part.__doc__.splitlines()[0])
            part(session)
    print("%d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
