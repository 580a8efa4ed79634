# SPDX-License-Identifier: MIT
#
# Makes the target CLI11::CLI11, which examples and the tool take their options by.
# CLI11 is header-only, and packagers don't all ship its CMake package.
find_package(CLI11 CONFIG QUIET)
if(NOT TARGET CLI11::CLI11)
    find_path(ZTENSOR_CLI11_INCLUDE_DIR NAMES CLI/CLI.hpp)
    mark_as_advanced(ZTENSOR_CLI11_INCLUDE_DIR)
    if(ZTENSOR_CLI11_INCLUDE_DIR)
        add_library(CLI11::CLI11 INTERFACE IMPORTED)
        set_target_properties(CLI11::CLI11 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ZTENSOR_CLI11_INCLUDE_DIR}")
    else()
        ztensor_fetch_cli11()
    endif()
endif()
