# SPDX-License-Identifier: MIT
#
# Defines the imported target ztensor::xxhash: the place of xxHash's header, which is all that the library uses of it.
# Without it the target is empty, and files of version 2 are refused. Used in-tree and by the installed package.
if(TARGET ztensor::xxhash)
    return()
endif()

add_library(ztensor::xxhash INTERFACE IMPORTED)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(ztensor_xxhash_pc QUIET libxxhash)
endif()
find_path(ZTENSOR_XXHASH_INCLUDE_DIR NAMES xxhash.h HINTS ${ztensor_xxhash_pc_INCLUDE_DIRS})
mark_as_advanced(ZTENSOR_XXHASH_INCLUDE_DIR)
if(ZTENSOR_XXHASH_INCLUDE_DIR)
    set_target_properties(ztensor::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ZTENSOR_XXHASH_INCLUDE_DIR}")
else()
    message(STATUS "xxhash.h was not found (Debian and Ubuntu: libxxhash-dev, vcpkg: xxhash, conan: xxhash): "
                   "files of version 2 can't be read or written")
endif()
