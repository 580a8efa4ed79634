# SPDX-License-Identifier: MIT
#
# 64-bit ARM by Debian's cross compiler, for tests/cross.sh. Linked statically, so that it runs under qemu without an ARM
# system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
