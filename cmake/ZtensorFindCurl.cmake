# SPDX-License-Identifier: MIT
#
# Defines the imported target ztensor::http, which is libcurl for users of <ztensor/http.hpp>: the package's own target
# (vcpkg, conan, curl's installation), else what CMake's FindCURL finds, as on Debian. Used in-tree and by the installed
# package.
if(TARGET ztensor::http)
    return()
endif()

set(ztensor_curl_min_version 7.68) # the first that can wake a waiting thread
if(NOT TARGET CURL::libcurl)
    find_package(CURL ${ztensor_curl_min_version} QUIET)
endif()
if(TARGET CURL::libcurl)
    add_library(ztensor::http INTERFACE IMPORTED)
    set_target_properties(ztensor::http PROPERTIES INTERFACE_LINK_LIBRARIES CURL::libcurl)
else()
    message(STATUS "libcurl ${ztensor_curl_min_version} was not found (Debian and Ubuntu: libcurl4-openssl-dev, vcpkg: curl, "
                   "conan: libcurl): <ztensor/http.hpp> can't be used")
endif()
