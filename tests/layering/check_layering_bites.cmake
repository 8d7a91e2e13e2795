# The check above must fail for each kind of forbidden include, and pass without it: a rule without teeth is no rule.
# Run: cmake -DCHECK=<check_layering.cmake> -DWORK=<scratch folder> -P check_layering_bites.cmake
set(cases
    cluster/kube/a.h     "\"cluster/local/nodes/node_pools.h\""
    cluster/local/nodeagent/a.cpp "\"cluster/local/kubelet/kubelet_server.h\""
    cluster/local/nodeagent/init/a.cpp "\"cluster/local/nodeagent/pod_spec.h\""
    cluster/local/nodeagent/a.cpp "\"cluster/local/storage/bucket_folders.h\""
    cluster/local/storage/a.cpp "\"cluster/local/gcp/bucket_files.h\""
    cluster/local/gcp/a.cpp "\"cluster/local/storage/bucket_mirror.h\""
    cluster/local/lws/lws_status.cpp "\"cluster/kube/kube_client.h\""
    cluster/local/lws/a.cpp "\"cluster/local/controlplane/api_access.h\""
    cluster/local/admission/a.cpp "\"cluster/local/tpuwebhook/pod_mutation.h\""
    cluster/local/nodes/a.cpp "\"cluster/local/gcp/cluster_host.h\""
    cluster/local/metricsapi/a.cpp "\"cluster/local/gcp/gcp_server.h\""
    cluster/local/metadataserver/a.cpp "\"cluster/local/gcp/iam_policy.h\""
    cluster/local/runtimes/ray/a.cpp "\"cluster/local/nodeagent/pod_spec.h\""
    cluster/local/runtimes/ray/head_codec.cpp "\"cluster/local/runtimes/ray/worker_codec.h\""
    cluster/local/nodeagent/a.cpp "\"cluster/local/runtimes/ray/ray_head.h\""
    cluster/net/a.h      "<QString>"
    cluster/net/a.h      "\"engine/protocol/messages.h\""
    cluster/base/a.h     "\"cluster/net/http_client.h\""
    engine/serving/a.cpp "\"llama.h\""
    engine/serving/a.cpp "\"engine/runtime/language_model.h\""
    engine/scheduler/a.h "\"cluster/net/http_client.h\""
    models/chat/a.h      "<QWidget>"
    models/chat/a.h      "\"ui/theme/theme.h\""
    ui/pages/chat/a.h    "\"cluster/openai/client.h\""
    ui/pages/chat/a.h    "\"ui/pages/metrics/metrics_page.h\""
    ui/widgets/a.h       "\"ui/shell/page.h\""
    ui/shell/a.h         "\"ui/pages/chat/chat_page.h\""
)
function(run_check result)
    execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CHECK} RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    set(${result} ${code} PARENT_SCOPE)
endfunction()
list(LENGTH cases words)
math(EXPR last "${words} - 1")
foreach(i RANGE 0 ${last} 2)
    list(GET cases ${i} file)
    math(EXPR j "${i} + 1")
    list(GET cases ${j} include)
    file(REMOVE_RECURSE ${WORK})
    file(WRITE ${WORK}/${file} "#include <string>\n")
    run_check(clean)
    file(WRITE ${WORK}/${file} "#include <string>\n#include ${include}\n")
    run_check(dirty)
    if(NOT clean EQUAL 0 OR dirty EQUAL 0)
        message(FATAL_ERROR "${file} with ${include}: the check answered ${clean} without it and ${dirty} with it")
    endif()
endforeach()
