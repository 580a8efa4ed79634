# SPDX-License-Identifier: MIT
#
# 32-bit x86 by Debian's cross compiler, for tests/cross.sh. Linked statically, so that it runs without a 32-bit system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
