"""Where secrets get in. Each takes the target, Google's APIs, kubectl and the list to write them down in."""
import base64
import json
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request

from session import has, same


def google_answers(google, method, path, body=b"", headers=None, status=None):
    """A request as it is given, without the target's own token unless `headers` has it; its status and text."""
    request = urllib.request.Request(google.url + path, method=method, data=body or None, headers=headers or {})
    try:
        with google.opener.open(request, timeout=60) as answer:
            seen, text = answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        seen, text = error.code, error.read().decode(errors="replace")
    if status is not None:
        same(seen, status, f"{method} {path}\n{text}")
    return text


def bearer(google, **more):
    return {"Authorization": "Bearer " + google.token, "Content-Type": "application/json", **more}


def raw(google, data):
    """Bytes that no HTTP library would send; what comes back, to its end."""
    host, port = urllib.parse.urlsplit(google.url).netloc.split(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((host, int(port)), 60) as plain, context.wrap_socket(plain) as stream:
        try:
            stream.sendall(data)
            return b"".join(iter(lambda: stream.recv(65536), b""))
        except OSError:
            return b""


def authorization(target, google, k, planted):
    word = planted.new("a wrong bearer token of Google's APIs")
    google_answers(google, "GET", "/crm/v1/projects", headers={"Authorization": "Bearer " + word}, status=401)
    word = planted.new("basic authorization")
    basic = base64.b64encode(f"admin:{word}".encode()).decode()
    google_answers(google, "GET", "/crm/v1/projects", headers={"Authorization": "Basic " + basic}, status=401)
    word = planted.new("an access token in a query")
    google_answers(google, "GET", "/crm/v1/projects?access_token=" + word, status=401)
    word = planted.new("an API key in a query")
    google_answers(google, "GET", "/crm/v1/projects?key=" + word, status=401)
    has(k.refused("get", "pods", "--token", planted.new("a kubeconfig's token")), "must be logged in")
    done = target.run("slipwayctl", "local", "status", check=False)
    same(done.returncode, 0)


def malformed(target, google, k, planted):
    word = planted.new("a header of a malformed request").encode()
    has(raw(google, b"GET /crm HTTP/9.9\r\nAuthorization: Bearer " + word + b"\r\n\r\n").decode(), "400")
    raw(google, b"NONSENSE " + planted.new("a line that is no request").encode() + b"\r\n\r\n")
    word = planted.new("a header that is too long").encode()
    has(raw(google, b"GET / HTTP/1.1\r\nAuthorization: Bearer " + word * 5000 + b"\r\n\r\n").decode(), "431")
    raw(google, planted.new("bytes without an end").encode() * 10000)
    word = planted.new("a path that leads out")
    google_answers(google, "GET", f"/storage/../{word}", status=400)


def bodies(target, google, k, planted):
    word = planted.new("a body that is no JSON")
    google_answers(google, "POST", "/iam/v1/projects/slipway-local/serviceAccounts", b'{"accountId": "x" ' + word.encode(),
                   bearer(google), 400)
    word = planted.new("a patch that is refused")
    google_answers(google, "PATCH", "/storage/storage/v1/b/none", json.dumps({"labels": {"key": word}}).encode(),
                   bearer(google), 404)
    k.text("create", "configmap", "patched")
    word = planted.new("a patch of Kubernetes that is refused")
    has(k.refused("patch", "configmap", "patched", "--type=merge", "-p", json.dumps({"data": {"a": [word]}})), "invalid")
    word = planted.new("a cluster's description that is refused")
    google_answers(google, "POST", "/container/v1/projects/slipway-local/locations/us-east5-b/clusters",
                   json.dumps({"cluster": {"name": "Bad_Name", "masterAuth": {"password": word}}}).encode(),
                   bearer(google), 400)


def storage(target, google, k, planted):
    google_answers(google, "POST", "/storage/storage/v1/b?project=slipway-local", b'{"name": "planted-bucket"}',
                   bearer(google), 200)
    word = planted.new("an object's content")
    upload = "/storage/upload/storage/v1/b/planted-bucket/o?uploadType=media&name=a"
    google_answers(google, "POST", upload, word.encode(), bearer(google), 200)
    google_answers(google, "POST", upload + "&ifGenerationMatch=0", word.encode(), bearer(google), 412)
    word = planted.new("a broken multipart upload")
    google_answers(google, "POST", "/storage/upload/storage/v1/b/planted-bucket/o?uploadType=multipart",
                   b"--x\r\n\r\n" + word.encode(), bearer(google, **{"Content-Type": "multipart/related; boundary=x"}), 400)
    word = planted.new("a signature in a URL")
    google_answers(google, "GET", f"/storage/storage/v1/b/planted-bucket/o/none?alt=media&X-Goog-Signature={word}",
                   headers=bearer(google), status=404)
    word = planted.new("an upload's id")
    google_answers(google, "PUT", f"/storage/upload/storage/v1/b/planted-bucket/o?uploadType=resumable&upload_id={word}",
                   b"x", bearer(google))
    word = planted.new("a customer's encryption key")
    google_answers(google, "GET", "/storage/storage/v1/b/planted-bucket/o/none", headers=bearer(
        google, **{"X-Goog-Encryption-Key": base64.b64encode(word.encode()).decode()}))


def service_account_keys(target, google, k, planted):
    accounts = "/iam/v1/projects/slipway-local/serviceAccounts"
    made = google_answers(google, "POST", accounts, b'{"accountId": "keeper"}', bearer(google), 200)
    email = json.loads(made)["email"]
    key = json.loads(google_answers(google, "POST", f"{accounts}/{email}/keys", b"{}", bearer(google)))
    if "privateKeyData" in key:
        private = json.loads(base64.b64decode(key["privateKeyData"]))["private_key"].split("\n")
        planted.known("a service account's key", private[len(private) // 2])
    word = planted.new("a service account's key that is refused")
    google_answers(google, "POST", f"{accounts}/{email}/keys:upload", json.dumps({"publicKeyData": word}).encode(),
                   bearer(google))


def faults(target, google, k, planted):
    word = planted.new("a fault's message")
    target.run("slipwayctl", "local", "fault", "add", "failed-operation", f"message={word}", "times=1", check=False)
    word = planted.new("a fault that is refused")
    done = target.run("slipwayctl", "local", "fault", "add", "nonsense", f"message={word}", check=False)
    assert done.returncode != 0
    target.run("slipwayctl", "local", "fault", "clear", check=False)


def kubernetes_secrets(target, google, k, planted):
    word = planted.new("a Secret")
    k.text("create", "secret", "generic", "plain", "--from-literal=word=" + word)
    k.text("create", "secret", "generic", "plain-2", "--from-file=/dev/stdin", stdin=planted.new("a Secret's file"))
    word = planted.new("a Secret that is no base64")
    has(k.refused("create", "--validate=false", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bad"}, "data": {"a": "%" + word}})), "illegal base64")
    word = planted.new("a Secret of a wrong kind")
    k.refused("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bad"}, "type": "kubernetes.io/tls",
         "stringData": {"tls.key": word}}))
    word = planted.new("an image pull secret")
    k.text("create", "secret", "docker-registry", "pull", "--docker-server=registry.test", "--docker-username=u",
           "--docker-password=" + word)
    word = planted.new("a webhook's certificate")
    bundle = base64.b64encode(f"-----BEGIN CERTIFICATE-----\n{word}\n-----END CERTIFICATE-----\n".encode()).decode()
    k.text("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
         "metadata": {"name": "hook"}, "webhooks": [
             {"name": "a.b.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
              "clientConfig": {"url": "https://127.0.0.1:1/x", "caBundle": bundle},
              "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]}]}))
    # Called in vain, so that the server has something to say of it.
    k.refused("create", "configmap", "hooked")
    k.text("delete", "validatingwebhookconfiguration", "hook")


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "holder"}, "spec": {
    "terminationGracePeriodSeconds": 1, "imagePullSecrets": [{"name": "pull"}],
    "containers": [{"name": "main", "image": "busybox", "command": ["sleep", "10000"], "env": [
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "plain", "key": "word"}}}]}]}}


def pods(target, google, k, planted):
    literal = planted.new("a literal in a pod's environment")
    pod = json.loads(json.dumps(POD))
    pod["spec"]["containers"][0]["env"].append({"name": "HF_TOKEN", "value": literal})
    k.apply(json.dumps(pod))
    k.text("wait", "pod/holder", "--for=condition=Ready", "--timeout=120s")
    token = k.text("exec", "holder", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
    planted.known("a projected token", token.strip().split(".")[2])
    same(k.text("exec", "holder", "--", "echo", planted.new("an argument of exec"))[:2], "Zq")
    k.run("exec", "holder", "--", "/no/such", planted.new("an argument of exec that fails"), check=False)
    k.run("exec", "holder", "-i", "--", "cat", stdin=planted.new("the input of exec"))
    pod["metadata"]["name"] = "crashes"
    pod["spec"]["containers"][0]["command"] = ["sh", "-c", "exit 9"]
    k.apply(json.dumps(pod))
    k.await_value("pod/crashes", ".status.containerStatuses[0].state.waiting.reason", "CrashLoopBackOff")
    pod["metadata"]["name"] = "lacks"
    pod["spec"]["containers"][0]["env"] = [
        {"name": "OTHER", "value": planted.new("the environment of a pod that can't start")},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "plain", "key": "absent"}}}]
    k.apply(json.dumps(pod))
    k.await_value("pod/lacks", ".status.containerStatuses[0].state.waiting.reason", "CreateContainerConfigError")
    word = planted.new("a value that a pod can't have")
    k.refused("create", "--validate=false", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {"containers": [
            {"name": "main", "image": "busybox", "env": [{"name": "A", "value": {"a": word}}]}]}}))


def model_server(target, google, k, planted):
    key = planted.new("the engine's API key")
    hub = planted.new("the engine's token of a hub")
    k.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "engine"}, "spec": {
        "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "main", "image": "slipway/engine", "args": ["serve", "m", "--api-key", key],
            "env": [{"name": "HF_TOKEN", "value": hub}],
            "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1}}]}}))
    k.text("wait", "pod/engine", "--for=condition=Ready", "--timeout=180s")
    path = f"/api/v1/namespaces/{k.namespace}/pods/engine:8000/proxy/v1/models"
    has(k.refused("get", "--raw", path), "must be logged in")
    # The key is the engine's own all the same.
    ask = ("import os, urllib.request as r; print(r.urlopen(r.Request('http://%s:8000/v1/models' % os.environ['POD_IP'],"
           f" headers={{'Authorization': 'Bearer {key}'}})).status)")
    same(k.text("exec", "engine", "-i", "--", "python3", "-", stdin=ask), "200\n")


ALL = [authorization, malformed, bodies, storage, service_account_keys, faults, kubernetes_secrets, pods, model_server]
