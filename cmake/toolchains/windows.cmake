# SPDX-License-Identifier: MIT
#
# 64-bit Windows by Debian's MinGW-w64, for tests/cross.sh. Linked statically, so that Wine needs no further libraries.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
