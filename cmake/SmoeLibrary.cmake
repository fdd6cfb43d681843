# The headers that most files include, parsed once for all rooms (tests: with GoogleTest). Sources still
# include what they use: `scripts/test.sh --long` builds once without precompiled headers.
if(SMOE_PRECOMPILE)
  find_package(simdjson REQUIRED)
  find_package(spdlog REQUIRED)
  add_library(smoe_precompiled STATIC ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
  set(precompiled_headers <algorithm> <atomic> <filesystem> <fmt/format.h> <functional> <memory>
      <optional> <span> <string> <string_view> <thread> <tl/expected.hpp> <vector>)
  target_precompile_headers(smoe_precompiled PRIVATE ${precompiled_headers})
  target_link_libraries(smoe_precompiled PRIVATE fmt::fmt Threads::Threads spdlog::spdlog
                        simdjson::simdjson smoe_flags)
  if(SMOE_TESTS)
    find_package(GTest REQUIRED)
    add_library(smoe_precompiled_tests STATIC ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
    target_precompile_headers(smoe_precompiled_tests PRIVATE ${precompiled_headers} <gmock/gmock.h>
                              <gtest/gtest.h>)
    target_link_libraries(smoe_precompiled_tests PRIVATE fmt::fmt Threads::Threads spdlog::spdlog
                          simdjson::simdjson GTest::gtest GTest::gmock smoe_flags)
  endif()
endif()

# smoe_library(room SOURCES a.cpp b.cpp DEPENDS base formats [LINK fmt::fmt])
# One static library a room. `src/` is the include root; DEPENDS names the rooms it may include.
function(smoe_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  string(REPLACE "/" "_" target "smoe_${room}")
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND smoe_ OUTPUT_VARIABLE depends)
  list(TRANSFORM depends REPLACE "/" "_")
  target_link_libraries(${target} PUBLIC ${depends} ${ARG_LINK} PRIVATE smoe_flags)
  if(SMOE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM smoe_precompiled)
  endif()
endfunction()

# smoe_test(room SOURCES a_test.cpp DEPENDS stream) makes one GoogleTest program, <room>_test.
function(smoe_test room)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  string(REPLACE "/" "_" name "${room}_test")
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPENDS PREPEND smoe_ OUTPUT_VARIABLE depends)
  list(TRANSFORM depends REPLACE "/" "_")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    SMOE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" SMOE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${depends} ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main smoe_flags)
  # Tests spend their time in the rooms, not in themselves.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(SMOE_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM smoe_precompiled_tests)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  # The long ones first, so that none is left running alone at the end.
  if(name MATCHES "^(engine|cli|text)_test$")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()
