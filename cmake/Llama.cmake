# The pinned llama.cpp of packaging/setup/llama.sh as the imported target `llama` (headers llama.h, ggml*.h, and
# llama.cpp's own "common" for templates and grammars). Only engine/runtime links it.
if(NOT SLIPWAY_LLAMA_ROOT OR NOT EXISTS ${SLIPWAY_LLAMA_ROOT}/.libraries)
    message(FATAL_ERROR "SLIPWAY_LLAMA_ROOT ('${SLIPWAY_LLAMA_ROOT}') is not a finished llama.cpp build. "
                        "Use ./dev, or pass what packaging/setup/llama.sh prints.")
endif()
find_package(OpenMP REQUIRED COMPONENTS CXX)
set(llama_libraries "")
foreach(lib IN ITEMS common/libllama-common.a common/libllama-common-base.a src/libllama.a ggml/src/libggml.a
                     ggml/src/libggml-cpu.a ggml/src/ggml-rpc/libggml-rpc.a ggml/src/libggml-base.a
                     vendor/cpp-httplib/libcpp-httplib.a)
    if(EXISTS ${SLIPWAY_LLAMA_ROOT}/build/${lib})
        list(APPEND llama_libraries ${SLIPWAY_LLAMA_ROOT}/build/${lib})
    endif()
endforeach()
add_library(llama INTERFACE)
target_include_directories(llama SYSTEM INTERFACE ${SLIPWAY_LLAMA_ROOT}/src/include ${SLIPWAY_LLAMA_ROOT}/src/ggml/include
                                                  ${SLIPWAY_LLAMA_ROOT}/src/common ${SLIPWAY_LLAMA_ROOT}/src/vendor)
target_link_libraries(llama INTERFACE -Wl,--start-group ${llama_libraries} -Wl,--end-group
                                      OpenMP::OpenMP_CXX Threads::Threads ${CMAKE_DL_LIBS})
