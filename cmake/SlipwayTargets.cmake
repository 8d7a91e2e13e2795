# One readable call for each library, program and test, so that all get the same warnings and include root.

add_library(slipway_options INTERFACE)
target_compile_features(slipway_options INTERFACE cxx_std_20)
target_compile_options(slipway_options INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns of overlapping copies inside its own std::string when optimising (GCC bug 105651).
    target_compile_options(slipway_options INTERFACE -Wno-restrict)
endif()
target_include_directories(slipway_options INTERFACE ${CMAKE_SOURCE_DIR})
if(SLIPWAY_SANITIZER)
    add_compile_options(-fsanitize=${SLIPWAY_SANITIZER} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${SLIPWAY_SANITIZER})
    if(SLIPWAY_SANITIZER STREQUAL "thread")
        # Asio's fences, which TSan can't see and GCC warns of; each of our io_contexts has one thread only.
        add_compile_options(-Wno-tsan)
        add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
    endif()
endif()

# slipway_library(engine_scheduler SOURCES a.cpp a.h PUBLIC cluster_base PRIVATE engine_runtime)
function(slipway_library name)
    cmake_parse_arguments(ARG "QT" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC slipway_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    if(ARG_QT)
        set_target_properties(${name} PROPERTIES AUTOMOC ON)
        target_compile_definitions(${name} PRIVATE QT_NO_CAST_TO_ASCII QT_NO_FOREACH QT_USE_QSTRINGBUILDER)
    else()
        target_compile_options(${name} PRIVATE -Wconversion)
    endif()
endfunction()

# slipway_program(slipwayctl SOURCES main.cpp DEPENDS ...)
function(slipway_program name)
    cmake_parse_arguments(ARG "QT" "" "SOURCES;DEPENDS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE slipway_options ${ARG_DEPENDS})
    target_compile_definitions(${name} PRIVATE SLIPWAY_VERSION="${PROJECT_VERSION}")
    if(ARG_QT)
        set_target_properties(${name} PROPERTIES AUTOMOC ON)
    endif()
    install(TARGETS ${name} RUNTIME DESTINATION bin)
    if(NOT TARGET programs)
        add_custom_target(programs) # what a package needs: no tests
    endif()
    add_dependencies(programs ${name})
endfunction()

# slipway_test(engine.scheduler SOURCES tst_scheduler.cpp DEPENDS engine_scheduler [LABELS slow] [TIMEOUT 60])
# The program is named after the test (tst_engine_scheduler). Tests run offscreen in a temporary home, without a network.
function(slipway_test name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;ENVIRONMENT" ${ARGN})
    string(REPLACE "." "_" program "tst_${name}")
    add_executable(${program} ${ARG_SOURCES})
    set_target_properties(${program} PROPERTIES AUTOMOC ON)
    target_compile_definitions(${program} PRIVATE SLIPWAY_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
                                                  SLIPWAY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
                                                  SLIPWAY_MODELS_DIR="${SLIPWAY_MODELS_DIR}")
    target_link_libraries(${program} PRIVATE slipway_options ${ARG_DEPENDS} Qt6::Test)
    add_test(NAME ${name} COMMAND ${program})
    slipway_test_properties(${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()

# The surroundings of every test, also of those that are scripts (add_test).
function(slipway_test_properties name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
    set(home ${CMAKE_BINARY_DIR}/test-home/${name})
    file(MAKE_DIRECTORY ${home})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${ARG_LABELS}"
        ENVIRONMENT "QT_QPA_PLATFORM=offscreen;HOME=${home};XDG_CONFIG_HOME=${home}/.config;XDG_DATA_HOME=${home}/.local/share;XDG_CACHE_HOME=${home}/.cache;XDG_STATE_HOME=${home}/.local/state;LC_ALL=C.UTF-8;OMP_WAIT_POLICY=passive;GGML_NO_BACKTRACE=1;SLIPWAY_CONTROLPLANE_DIR=${SLIPWAY_CONTROLPLANE_DIR};PATH=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}:$ENV{PATH};${ARG_ENVIRONMENT}")
endfunction()
