# Compiler settings shared by every target. Warnings are errors; floating point is what the source
# says (no fast-math, no contraction), because bit identity is an invariant.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(SMOE_PRECOMPILE "Parse the common headers once (a cold build then takes a fifth of the time)" ON)

add_library(smoe_flags INTERFACE)
target_compile_options(smoe_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror -ffp-contract=off
  # At -O3 gcc 12 sees impossible reads and copies in ordinary std::string concatenation (its bugs 105329 and
  # 105651). The sanitizers look for the real ones.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  # In a unity build a source is an included file: its anonymous namespace looks like a header's.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)

if(SMOE_SANITIZE)
  add_compile_options(-fsanitize=${SMOE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SMOE_SANITIZE})
  if(SMOE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(SMOE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
