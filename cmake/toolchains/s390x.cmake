# SPDX-License-Identifier: MIT
#
# Big-endian s390x by Debian's cross compiler, for tests/cross.sh. Linked statically, so that it runs under qemu without
# an s390x system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_CXX_COMPILER s390x-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-s390x-static)
