# SPDX-License-Identifier: MIT
#
# Runs the vcpkg port where there is no vcpkg: cmake -DPORT_DIR=… -DWORK_DIR=… -DFEATURES=… -P vcpkg_functions.cmake.
# Its functions do here what their documentation says, for a triplet that builds releases only. WORK_DIR/package then
# holds what vcpkg would install.
cmake_minimum_required(VERSION 3.14)

set(PORT ztensor)
set(CURRENT_PORT_DIR "${PORT_DIR}")
set(CURRENT_PACKAGES_DIR "${WORK_DIR}/package")
set(VCPKG_BUILD_TYPE release)

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "failed: ${ARGV}")
    endif()
endfunction()

function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    set(options "")
    while(arg_FEATURES)
        list(GET arg_FEATURES 0 feature)
        list(GET arg_FEATURES 1 option)
        list(REMOVE_AT arg_FEATURES 0 1)
        if(feature IN_LIST FEATURES)
            list(APPEND options -D${option}=ON)
        else()
            list(APPEND options -D${option}=OFF)
        endif()
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${WORK_DIR}/build" -DCMAKE_BUILD_TYPE=Release
        "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
    run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target install)
endfunction()

# Moves the CMake package to share/PORT, and tells it that the prefix is two folders up.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    set(from "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
    set(to "${CURRENT_PACKAGES_DIR}/share/${PORT}")
    if(NOT EXISTS "${from}")
        message(FATAL_ERROR "'${from}' does not exist.")
    endif()
    get_filename_component(parent "${from}" DIRECTORY)
    get_filename_component(share "${to}" DIRECTORY)
    file(MAKE_DIRECTORY "${share}")
    file(RENAME "${from}" "${to}")
    file(REMOVE_RECURSE "${parent}")
    file(GLOB files "${to}/*.cmake")
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        set(up "get_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\)\n")
        string(REGEX REPLACE "(${up})+" "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}/../..\" ABSOLUTE)\n"
               text "${text}")
        string(REPLACE "/../../../\" ABSOLUTE" "/../../\" ABSOLUTE" text "${text}")
        file(WRITE "${file}" "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/*.pc")
    if(NOT files)
        message(FATAL_ERROR "There is no pkg-config file to be corrected.")
    endif()
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    configure_file("${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${PORT_DIR}/portfile.cmake")

# What vcpkg itself looks at afterwards.
foreach(file IN ITEMS include/ztensor/ztensor.hpp share/${PORT}/copyright share/${PORT}/usage share/${PORT}/ztensorConfig.cmake)
    if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${file}")
        message(FATAL_ERROR "The port installs no ${file}.")
    endif()
endforeach()
foreach(folder IN ITEMS lib/cmake share/cmake share/licenses debug/include debug/share)
    if(EXISTS "${CURRENT_PACKAGES_DIR}/${folder}")
        message(FATAL_ERROR "The port leaves ${folder} behind.")
    endif()
endforeach()
file(GLOB_RECURSE libraries "${CURRENT_PACKAGES_DIR}/lib/*.a" "${CURRENT_PACKAGES_DIR}/lib/*.so*")
if(NOT libraries AND "compiled" IN_LIST FEATURES OR libraries AND NOT "compiled" IN_LIST FEATURES)
    message(FATAL_ERROR "With the features \"${FEATURES}\" these are the libraries: ${libraries}")
endif()
