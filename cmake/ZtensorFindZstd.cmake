# SPDX-License-Identifier: MIT
#
# Defines the imported target ztensor::zstd, or leaves it undefined where zstd is not found. Used in-tree and by the
# installed package. Targets in zstd's own namespace are looked for and never made: their names differ between
# versions and packagers, and many systems ship none at all.
if(TARGET ztensor::zstd)
    return()
endif()
if(ZTENSOR_ZSTD_TARGET AND NOT TARGET "${ZTENSOR_ZSTD_TARGET}")
    message(FATAL_ERROR "ZTENSOR_ZSTD_TARGET is ${ZTENSOR_ZSTD_TARGET}, which is no target here: make it before ztensor is "
                        "added or found.")
endif()

# What the user names goes before all. The second name is that of zstd 1.5.6 and later, the last two are those of zstd built in the same tree.
set(ztensor_zstd_target_names ${ZTENSOR_ZSTD_TARGET} zstd::libzstd zstd::libzstd_shared zstd::libzstd_static zstd::zstd libzstd_shared
                              libzstd_static)

function(ztensor_wrap_zstd_target)
    foreach(name IN LISTS ztensor_zstd_target_names)
        if(TARGET ${name})
            get_target_property(aliased ${name} ALIASED_TARGET)
            if(aliased)
                set(name ${aliased})
            endif()
            add_library(ztensor::zstd INTERFACE IMPORTED)
            set_target_properties(ztensor::zstd PROPERTIES INTERFACE_LINK_LIBRARIES ${name})
            return()
        endif()
    endforeach()
endfunction()

function(ztensor_wrap_zstd_files)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(ztensor_zstd_pc QUIET libzstd)
    endif()
    find_path(ZTENSOR_ZSTD_INCLUDE_DIR NAMES zstd.h HINTS ${ztensor_zstd_pc_INCLUDE_DIRS})
    find_library(ZTENSOR_ZSTD_LIBRARY NAMES zstd zstd_static libzstd libzstd_static
                 HINTS ${ztensor_zstd_pc_LIBRARY_DIRS})
    mark_as_advanced(ZTENSOR_ZSTD_INCLUDE_DIR ZTENSOR_ZSTD_LIBRARY)
    if(ZTENSOR_ZSTD_INCLUDE_DIR AND ZTENSOR_ZSTD_LIBRARY)
        add_library(ztensor::zstd INTERFACE IMPORTED)
        set_target_properties(ztensor::zstd PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ZTENSOR_ZSTD_INCLUDE_DIR}"
                                                       INTERFACE_LINK_LIBRARIES "${ZTENSOR_ZSTD_LIBRARY}")
    endif()
endfunction()

ztensor_wrap_zstd_target()
if(NOT TARGET ztensor::zstd)
    find_package(zstd CONFIG QUIET)
    ztensor_wrap_zstd_target()
endif()
if(NOT TARGET ztensor::zstd)
    ztensor_wrap_zstd_files()
endif()
