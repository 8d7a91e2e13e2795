"""Google's side of the local target as a process of its own, and the real gcloud pointed at it.

Skipped = 77 where gcloud is absent.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

TOKEN = "slipway-test-token"
PROJECT = "my-project"


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


class Target:
    """Runs gcp_test_server in a folder of its own. Use with `with`."""

    def __init__(self, bin_dir, time_factor=1e9, needs_gcloud=True):
        if needs_gcloud and not shutil.which("gcloud"):
            skip("there is no gcloud on this machine")
        self.server = os.path.join(bin_dir, "gcp_test_server")
        if not os.path.exists(self.server):
            skip("gcp_test_server is not built")
        self.time_factor = time_factor
        self.home = tempfile.mkdtemp(prefix="slipway-gcloud-")
        self.process = None
        self.port = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self, same_port=False):
        argv = [self.server, self.home, TOKEN, str(self.time_factor)]
        if same_port:
            argv.append(str(self.port))
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("gcp_test_server did not start")
        self.port = int(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def environment(self, more=None):
        """For programs that talk to it. `more` is added; None takes a variable away."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("CLOUDSDK_") and name not in ("KUBECONFIG", "http_proxy", "https_proxy")}
        env.update({
            "HOME": self.home,
            "KUBECONFIG": os.path.join(self.home, "kubeconfig"),
            "USE_GKE_GCLOUD_AUTH_PLUGIN": "True",
            "CLOUDSDK_CONFIG": os.path.join(self.home, "gcloud"),
            "CLOUDSDK_CORE_PROJECT": PROJECT,
            "CLOUDSDK_AUTH_ACCESS_TOKEN": TOKEN,
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
            "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
            "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
            "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
        })
        for name, path in (("CONTAINER", "container/"), ("SERVICEUSAGE", "serviceusage/"),
                           ("CLOUDRESOURCEMANAGER", "crm/"), ("IAM", "iam/"),
                           ("ARTIFACTREGISTRY", "artifactregistry/"), ("STORAGE", "storage/storage/v1/"),
                           ("COMPUTE", "compute/compute/v1/")):
            env["CLOUDSDK_API_ENDPOINT_OVERRIDES_" + name] = self.url("/" + path)
        env.update(more or {})
        return {name: value for name, value in env.items() if value is not None}

    def run(self, argv, env=None, timeout=240):
        """Exit code, stdout, stderr of a real program."""
        done = subprocess.run(argv, env=self.environment(env), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout)
        return done.returncode, done.stdout, done.stderr

    def ask(self, method, path, body=None):
        """Status and JSON of a request of our own."""
        request = urllib.request.Request(self.url(path), method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer " + TOKEN,
                                                  "Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def last_operation(self):
        _, answer = self.ask("GET", "/container/v1/projects/%s/locations/-/operations" % PROJECT)
        return answer["operations"][0]
