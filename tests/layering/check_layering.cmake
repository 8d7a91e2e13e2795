# Fails when a file includes against the dependency direction of ARCHITECTURE.md, and names each such line.
# Run: cmake -DROOT=<source dir> -P check_layering.cmake
#
# A row: which files (a pattern over their path), and a pattern over what they may not include, `<...>` or `"..."`.
# A room is judged by every row that its path matches.
set(rows
    "^(cluster|engine)/"                "^[<\"](Q[A-Z]|Qt|qt[A-Z])"
    "^cluster/"                         "^[<\"](engine|models|ui|app)/"
    "^cluster/base/"                    "^[<\"](cluster/[^b]|curl/|boost/|nlohmann/|yaml)"
    "^cluster/net/"                     "^[<\"](cluster/(openai|modelstore|observe)/)"
    "^cluster/openai/"                  "^[<\"](cluster/(modelstore|observe)/|curl/)"
    "^cluster/modelstore/"              "^[<\"](cluster/(openai|observe)/|curl/)"
    "^cluster/observe/"                 "^[<\"](cluster/(openai|modelstore)/|curl/)"
    "^cluster/local/files/"             "^[<\"](cluster/([^bl]|local/[^f])|curl/|boost/|nlohmann/)"
    "^cluster/local/controlplane/"      "^[<\"](cluster/(openai|modelstore|observe|httpd)/|cluster/local/(gcp|nodes|nodeagent|kubelet|network|clusters)/|curl/|boost/)"
    "^cluster/local/network/"           "^[<\"](cluster/(openai|modelstore|observe|net)/|cluster/local/(gcp|nodes|nodeagent|kubelet|controlplane|clusters|daemon)/|curl/|spdlog)"
    "^cluster/local/kubelet/"           "^[<\"](cluster/(openai|modelstore|observe|net)/|cluster/local/(gcp|nodes|controlplane|clusters|daemon)/|cluster/local/nodeagent/[^p]|curl/)"
    "^cluster/local/tpuwebhook/"        "^[<\"](cluster/(openai|modelstore|observe|net)/|cluster/local/(gcp|nodes/[^j]|nodeagent|kubelet|network|controlplane|clusters|daemon|metrics|storage)|curl/|yaml)"
    "^cluster/local/admission/"         "^[<\"](cluster/(openai|modelstore|observe|net|httpd|kube)/|cluster/local/([b-mo-z]|nodes/[^j]|nodeagent)|curl/|boost/|yaml)"
    "^cluster/local/lws/"               "^[<\"](cluster/(openai|modelstore|observe)/|cluster/local/(gcp|nodes/[^j]|nodeagent|kubelet|network|tpuwebhook|clusters|daemon|metrics|storage)|cluster/local/controlplane/[^c]|curl/|yaml|spdlog)"
    "^cluster/local/lws/(typed|utc|restart|group_(pod|tpu|state)|lws_(keys|spec|defaults|validation|revision|objects|rollout|status|admission))"
                                        "^[<\"](cluster/(kube|net|httpd)/|boost/)"
    "^cluster/local/metricsapi/"        "^[<\"](cluster/(openai|modelstore|observe)/|cluster/local/(gcp|nodes|nodeagent|network|controlplane|clusters|daemon|metrics|storage|metadataserver)/|cluster/local/kubelet/[^l]|curl/|yaml)"
    "^cluster/local/metadataserver/"    "^[<\"](cluster/(openai|modelstore|observe|net)/|cluster/local/(nodes|kubelet|controlplane|clusters|daemon|metrics|metricsapi|storage)/|cluster/local/gcp/([^p]|p[^o])|cluster/local/nodeagent/[^p]|curl/|yaml)"
    "^cluster/local/runtimes/"          "^[<\"](cluster/(net|openai|modelstore|observe|kube|catalog)/|cluster/local/(gcp|nodes|nodeagent|kubelet|network|clusters|daemon|metrics|storage|tpuwebhook)/|cluster/local/controlplane/([^c]|c[^h])|curl/|yaml|spdlog)"
    "^cluster/local/runtimes/ray/head_codec" "^[<\"]cluster/local/runtimes/ray/worker_codec"
    "^cluster/local/runtimes/ray/worker_codec" "^[<\"]cluster/local/runtimes/ray/head_codec"
    "^cluster/local/([^r]|r[^u])"       "^[<\"]cluster/local/runtimes/"
    "^cluster/kube/"                    "^[<\"](cluster/(openai|modelstore|observe|httpd|local)/|curl/|boost/)"
    "^cluster/local/nodeagent/"         "^[<\"](cluster/(openai|modelstore|observe|httpd|net)/|cluster/local/(gcp|nodes|kubelet|network|controlplane|clusters)/)"
    "^cluster/local/nodeagent/init/"    "^[<\"](cluster/(base|kube|net)/|cluster/local/nodeagent/[a-z_]+\\.h|nlohmann|spdlog|boost|yaml)"
    "^cluster/local/storage/"           "^[<\"](cluster/(openai|modelstore|observe|httpd|net)/|cluster/local/(gcp|nodes|kubelet|network|controlplane|clusters|daemon)/|curl/|boost/)"
    "^cluster/local/gcp/"               "^[<\"]cluster/local/storage/([^b]|bucket_[^o])"
    "^cluster/local/nodeagent/"         "^[<\"]cluster/local/storage/"
    "^cluster/httpd/"                   "^[<\"](cluster/[^bh]|curl/|nlohmann/|yaml|sqlite)"
    "^cluster/httpd/[a-z_]*(message|exchange|byte_stream|http_listener)\\.h$" "^[<\"](boost/|openssl/)"
    "^cluster/catalog/"                 "^[<\"](cluster/[^bc]|curl/|boost/)"
    "^cluster/local/gcp/"               "^[<\"](cluster/(openai|modelstore|observe|kube|gcp)/|cluster/local/(nodeagent|kubelet|network|controlplane|clusters|daemon|metrics)/|curl/)"
    "^cluster/local/gcp/"               "^[<\"]cluster/local/nodes/([^p]|pod)"
    "^cluster/local/metrics/"           "^[<\"](cluster/(openai|modelstore|observe|httpd)/|cluster/local/(nodes|nodeagent|kubelet|network|clusters|daemon)/|cluster/local/gcp/([^m]|m[^e])|curl/|boost/)"
    "^cluster/local/nodes/"             "^[<\"](cluster/(openai|modelstore|observe|httpd)/|cluster/local/(gcp|nodeagent|kubelet|controlplane|clusters)/|curl/|boost/)"
    "^engine/"                          "^[<\"](models|ui|app)/|^[<\"]cluster/[^b]"
    "^engine/(protocol|gguf|metrics|serving|supervisor|group|scheduler|runner)/"
                                        "^[<\"](llama|ggml|gguf\\.h|common\\.h|chat\\.h|sampling\\.h|json-schema)"
    "^engine/(protocol|gguf)/"          "^[<\"]engine/(runtime|scheduler|runner|supervisor|group|metrics|serving)/"
    "^engine/scheduler/"                "^[<\"]engine/(runner|supervisor|group|metrics|serving)/"
    "^engine/runtime/.*\\.h$"           "^[<\"](llama\\.h|ggml|chat\\.h|common\\.h)"
    "^engine/runtime/"                  "^[<\"]engine/(runner|supervisor|group|metrics|serving)/"
    "^engine/metrics/"                  "^[<\"]engine/(runtime|scheduler|runner|supervisor|group|serving)/"
    "^engine/serving/"                  "^[<\"]engine/(runtime|scheduler|runner|supervisor|group)/"
    "^engine/(supervisor|group)/"       "^[<\"]engine/(scheduler|serving|metrics)/"
    "^models/"                          "^[<\"](QtWidgets|QtCharts|QWidget|QDialog|QApplication|QAction|QMenu|QChart|ui/|app/)"
    "^models/"                          "^[<\"]engine/(runtime|scheduler|runner|supervisor|group|serving)/"
    "^ui/"                              "^[<\"](app/|cluster/|engine/|curl/|llama|boost/|nlohmann/)"
    "^ui/(theme|widgets|charts)/"       "^[<\"]ui/(pages|shell)/"
    "^ui/pages/chat/"                   "^[<\"]ui/pages/[^c]"
    "^ui/pages/metrics/"                "^[<\"]ui/pages/[^m]"
    "^ui/shell/"                        "^[<\"]ui/pages/"
)

file(GLOB_RECURSE files RELATIVE "${ROOT}"
     "${ROOT}/cluster/*.h" "${ROOT}/cluster/*.cpp" "${ROOT}/engine/*.h" "${ROOT}/engine/*.cpp"
     "${ROOT}/models/*.h" "${ROOT}/models/*.cpp" "${ROOT}/ui/*.h" "${ROOT}/ui/*.cpp")
list(LENGTH files count)
if(count EQUAL 0)
    message(FATAL_ERROR "no sources below '${ROOT}': a check of nothing is no check")
endif()
list(LENGTH rows row_words)
math(EXPR last "${row_words} - 1")
set(violations "")
foreach(file IN LISTS files)
    file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*" "" target "${line}")
        foreach(i RANGE 0 ${last} 2)
            list(GET rows ${i} where)
            math(EXPR j "${i} + 1")
            list(GET rows ${j} forbidden)
            if(file MATCHES "${where}" AND target MATCHES "${forbidden}")
                string(APPEND violations "\n  ${file} includes ${target}")
            endif()
        endforeach()
    endforeach()
endforeach()
if(violations)
    message(FATAL_ERROR "includes against the dependency direction:${violations}")
endif()
message(STATUS "${count} files include in the right direction")
