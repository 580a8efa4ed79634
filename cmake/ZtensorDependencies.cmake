# SPDX-License-Identifier: MIT
#
# Finds zstd, Threads and, unless nothing needs it, nlohmann/json, or downloads what is missing; and zlib and xxHash,
# which the library can do without. They are wrapped in imported targets of our own, ztensor::zstd, ztensor::json,
# ztensor::zlib and ztensor::xxhash, so that a parent may export targets that link to ztensor, wherever these come from.

# What a find in this directory made is visible here and below only; the parent links to it, so it must see it too.
function(ztensor_make_global)
    foreach(name IN LISTS ARGN)
        if(TARGET ${name})
            get_target_property(imported ${name} IMPORTED)
            get_target_property(aliased ${name} ALIASED_TARGET)
            if(imported AND NOT aliased)
                set_target_properties(${name} PROPERTIES IMPORTED_GLOBAL TRUE)
            endif()
        endif()
    endforeach()
endfunction()

# The names of ARGN that are not targets yet, in `result`: those that exist already belong to the parent.
function(ztensor_list_missing_targets result)
    set(missing "")
    foreach(name IN LISTS ARGN)
        if(NOT TARGET ${name})
            list(APPEND missing ${name})
        endif()
    endforeach()
    set(${result} ${missing} PARENT_SCOPE)
endfunction()

# Says what to install, and stops there unless downloading is allowed.
function(ztensor_announce_download name debian vcpkg conan)
    set(hint "${name} was not found. Install it (Debian and Ubuntu: ${debian}, vcpkg: ${vcpkg}, conan: ${conan}) or "
             "name its place in CMAKE_PREFIX_PATH.")
    string(CONCAT hint ${hint})
    if(NOT ZTENSOR_FETCH_DEPENDENCIES)
        message(FATAL_ERROR "${hint} With ZTENSOR_FETCH_DEPENDENCIES=ON it is downloaded instead.")
    elseif(CMAKE_VERSION VERSION_LESS 3.18)
        message(FATAL_ERROR "${hint} Downloading it takes CMake 3.18.")
    endif()
    message(STATUS "${hint} Downloading it now; ZTENSOR_FETCH_DEPENDENCIES=OFF forbids that.")
endfunction()

# Downloads and adds a project. What follows the hash goes to FetchContent_Declare; the project's options are normal
# variables of the caller.
function(ztensor_fetch name url sha256)
    include(FetchContent)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # its option() calls heed those variables
    if(POLICY CMP0135)
        cmake_policy(SET CMP0135 NEW)
    endif()
    FetchContent_Declare(${name} URL "${url}" URL_HASH SHA256=${sha256} ${ARGN})
    FetchContent_MakeAvailable(${name})
endfunction()

function(ztensor_fetch_zstd)
    ztensor_announce_download(zstd libzstd-dev zstd zstd/1.5.7)
    set(ZSTD_BUILD_PROGRAMS OFF)
    set(ZSTD_BUILD_TESTS OFF)
    set(ZSTD_BUILD_SHARED OFF)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON) # it may become part of a shared ztensor::compiled
    ztensor_fetch(zstd https://github.com/facebook/zstd/releases/download/v1.5.7/zstd-1.5.7.tar.gz
                  eb33e51f49a15e023950cd7825ca74a4a2b43db8354825ac24fc1b7ee09e6fa3 SOURCE_SUBDIR build/cmake)
endfunction()

function(ztensor_fetch_json)
    ztensor_announce_download(nlohmann_json nlohmann-json3-dev nlohmann-json nlohmann_json/3.12.0)
    set(JSON_BuildTests OFF)
    set(JSON_Install ${ZTENSOR_INSTALL}) # our installed package looks for it
    ztensor_fetch(nlohmann_json https://github.com/nlohmann/json/releases/download/v3.12.0/json.tar.xz
                  42f6e95cad6ec532fd372391373363b62a14af6d771056dbfc86160e6dfff7aa)
endfunction()

function(ztensor_fetch_catch)
    ztensor_announce_download(Catch2 catch2 catch2 catch2/3.6.0)
    ztensor_fetch(Catch2 https://github.com/catchorg/Catch2/archive/v3.6.0.tar.gz
                  485932259a75c7c6b72d4b874242c489ea5155d17efa345eb8cc72159f49f356)
endfunction()

function(ztensor_fetch_cli11)
    ztensor_announce_download(CLI11 libcli11-dev cli11 cli11/2.5.0)
    set(CLI11_PRECOMPILED OFF)
    set(CLI11_INSTALL OFF)
    ztensor_fetch(CLI11 https://github.com/CLIUtils/CLI11/archive/v2.5.0.tar.gz
                  17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55)
endfunction()

set(ztensor_json_min_version 3.8) # the first that tells CBOR byte strings from arrays
set(ztensor_dependency_targets
    Threads::Threads nlohmann_json::nlohmann_json zstd::libzstd zstd::libzstd_shared zstd::libzstd_static zstd::zstd
    ztensor::zstd ztensor::json ztensor::zlib ZLIB::ZLIB ztensor::xxhash ztensor::hdf5 ztensor::http CURL::libcurl
    CURL::libcurl_shared CURL::libcurl_static ztensor::mpi MPI::MPI_CXX)
ztensor_list_missing_targets(ztensor_new_targets ${ztensor_dependency_targets})

find_package(Threads REQUIRED)

# Our own programs use it whatever the library passes on; for others it is downloaded only if they insist.
if(ZTENSOR_BUILD_TESTS OR ZTENSOR_BUILD_EXAMPLES OR ZTENSOR_BUILD_BENCHMARKS OR
   ZTENSOR_INSTALL_TOOL OR (ZTENSOR_JSON AND NOT ZTENSOR_JSON STREQUAL "AUTO"))
    set(ztensor_needs_json ON)
else()
    set(ztensor_needs_json OFF)
endif()
if(ztensor_needs_json OR ZTENSOR_JSON)
    if(NOT TARGET nlohmann_json::nlohmann_json)
        find_package(nlohmann_json ${ztensor_json_min_version} CONFIG QUIET)
    endif()
    if(NOT TARGET nlohmann_json::nlohmann_json AND ztensor_needs_json)
        ztensor_fetch_json()
    endif()
    if(TARGET nlohmann_json::nlohmann_json)
        add_library(ztensor::json INTERFACE IMPORTED)
        set_target_properties(ztensor::json PROPERTIES INTERFACE_LINK_LIBRARIES nlohmann_json::nlohmann_json)
    endif()
endif()
if(ZTENSOR_JSON AND TARGET ztensor::json)
    set(ztensor_has_json ON)
else()
    set(ztensor_has_json OFF)
endif()

include(cmake/ZtensorFindZstd.cmake)
if(NOT TARGET ztensor::zstd)
    ztensor_fetch_zstd()
    ztensor_wrap_zstd_target()
endif()
# An alias of the parent's may not be exported with us, as the library behind it is the parent's: the installed package
# links to what it finds itself. Written like this, CMake does not take that for the alias.
get_target_property(ztensor_zstd ztensor::zstd ALIASED_TARGET)
if(ztensor_zstd)
    set(ztensor_zstd $<BUILD_INTERFACE:${ztensor_zstd}> $<INSTALL_INTERFACE:$<1:ztensor>::zstd>)
else()
    set(ztensor_zstd ztensor::zstd)
endif()
include(cmake/ZtensorFindXxhash.cmake)
if(ZTENSOR_HDF5) # which the library itself never links to
    include(cmake/ZtensorFindHdf5.cmake)
endif()
if(ZTENSOR_HTTP) # likewise
    include(cmake/ZtensorFindCurl.cmake)
endif()
if(ZTENSOR_MPI) # likewise
    include(cmake/ZtensorFindMpi.cmake)
endif()

set(ZTENSOR_HAS_ZLIB OFF)
if(ZTENSOR_ZLIB)
    if(NOT TARGET ZLIB::ZLIB)
        find_package(ZLIB QUIET)
    endif()
    if(TARGET ZLIB::ZLIB)
        set(ZTENSOR_HAS_ZLIB ON)
        add_library(ztensor::zlib INTERFACE IMPORTED)
        set_target_properties(ztensor::zlib PROPERTIES INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
    else()
        message(STATUS "zlib was not found (Debian and Ubuntu: zlib1g-dev, vcpkg: zlib, conan: zlib): compressed .npz "
                       "and PyTorch files will be refused when they are read.")
    endif()
endif()

ztensor_make_global(${ztensor_new_targets})
