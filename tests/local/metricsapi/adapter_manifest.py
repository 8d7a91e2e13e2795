"""What the tutorials' `kubectl apply -f …/adapter_new_resource_model.yaml` creates, object by object."""

SPACE = "custom-metrics"
ADAPTER = "custom-metrics-stackdriver-adapter"
IMAGE = f"gcr.io/gke-release/{ADAPTER}:v0.16.9-gke.0"
LABELS = {"run": ADAPTER, "k8s-app": ADAPTER}
ACCOUNT = {"kind": "ServiceAccount", "name": ADAPTER, "namespace": SPACE}


def thing(api, kind, name, namespace=None, **more):
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return dict({"apiVersion": api, "kind": kind, "metadata": metadata}, **more)


def binding(kind, name, role_kind, role, subject, namespace=None):
    return thing("rbac.authorization.k8s.io/v1", kind, name, namespace, subjects=[subject],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role})


def api_service(version, group, priority):
    return thing("apiregistration.k8s.io/v1", "APIService", f"{version}.{group}", spec={
        "insecureSkipTLSVerify": True, "group": group, "groupPriorityMinimum": 100, "versionPriority": priority,
        "service": {"name": ADAPTER, "namespace": SPACE}, "version": version})


def deployment():
    probe = {"httpGet": {"path": "/healthz", "port": 443, "scheme": "HTTPS"}, "initialDelaySeconds": 40,
             "periodSeconds": 10, "timeoutSeconds": 5}
    amounts = {"cpu": "250m", "memory": "200Mi"}
    container = {"image": IMAGE, "imagePullPolicy": "Always", "name": "pod-" + ADAPTER, "readinessProbe": probe,
                 "command": ["/adapter", "--use-new-resource-model=true", "--fallback-for-container-metrics=true"],
                 "resources": {"limits": amounts, "requests": amounts}}
    template = {"metadata": {"labels": LABELS}, "spec": {"serviceAccountName": ADAPTER, "containers": [container]}}
    return thing("apps/v1", "Deployment", ADAPTER, SPACE,
                 spec={"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template})


def manifest():
    reader = thing("rbac.authorization.k8s.io/v1", "ClusterRole", "custom-metrics-resource-reader", rules=[
        {"apiGroups": [""], "resources": ["pods", "nodes", "nodes/stats"], "verbs": ["get", "list", "watch"]}])
    external = thing("rbac.authorization.k8s.io/v1", "ClusterRole", "external-metrics-reader", rules=[
        {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["list", "get", "watch"]}])
    autoscaler = {"kind": "ServiceAccount", "name": "horizontal-pod-autoscaler", "namespace": "kube-system"}
    service = thing("v1", "Service", ADAPTER, SPACE, spec={
        "ports": [{"port": 443, "protocol": "TCP", "targetPort": 443}], "selector": LABELS, "type": "ClusterIP"})
    items = [thing("v1", "Namespace", SPACE), thing("v1", "ServiceAccount", ADAPTER, SPACE),
             binding("ClusterRoleBinding", "custom-metrics:system:auth-delegator", "ClusterRole",
                     "system:auth-delegator", ACCOUNT),
             binding("RoleBinding", "custom-metrics-auth-reader", "Role", "extension-apiserver-authentication-reader",
                     ACCOUNT, "kube-system"),
             reader, binding("ClusterRoleBinding", "custom-metrics-resource-reader", "ClusterRole",
                             "custom-metrics-resource-reader", ACCOUNT),
             deployment(), service, api_service("v1beta1", "custom.metrics.k8s.io", 100),
             api_service("v1beta2", "custom.metrics.k8s.io", 200), api_service("v1beta1", "external.metrics.k8s.io", 100),
             external, binding("ClusterRoleBinding", "external-metrics-reader", "ClusterRole",
                               "external-metrics-reader", autoscaler)]
    return {"apiVersion": "v1", "kind": "List", "items": items}
