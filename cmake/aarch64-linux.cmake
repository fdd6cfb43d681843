# Toolchain: Debian's cross compiler for 64-bit ARM. The libraries come from a folder that
# scripts/test.sh --arm64 unpacks; the programs run under qemu's user emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(SMOE_ARM64_ROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root" ABSOLUTE)
set(CMAKE_SYSROOT "${SMOE_ARM64_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-cpu;max;-L;${SMOE_ARM64_ROOT}")
