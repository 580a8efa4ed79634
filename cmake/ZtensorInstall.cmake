# SPDX-License-Identifier: MIT
#
# Headers, the CMake package and the pkg-config files; as ZTENSOR_BUILD_COMPILED says the compiled library, too.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Headers are of every architecture, a library is of one: that decides where packages are described.
set(ztensor_installed_targets ztensor ztensor_import)
if(ztensor_builds_compiled)
    list(APPEND ztensor_installed_targets ztensor_compiled)
    set(ztensor_packages_dir "${CMAKE_INSTALL_LIBDIR}")
    set(ztensor_full_packages_dir "${CMAKE_INSTALL_FULL_LIBDIR}")
else()
    set(ztensor_packages_dir "${CMAKE_INSTALL_DATADIR}")
    set(ztensor_full_packages_dir "${CMAKE_INSTALL_FULL_DATADIR}")
endif()
set(ztensor_package_dir "${ztensor_packages_dir}/cmake/ztensor")

install(DIRECTORY include/ztensor DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/ztensor")
install(TARGETS ${ztensor_installed_targets} EXPORT ztensorTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ztensorTargets NAMESPACE ztensor:: DESTINATION "${ztensor_package_dir}")

configure_package_config_file(cmake/ztensorConfig.cmake.in "${PROJECT_BINARY_DIR}/ztensorConfig.cmake"
                              INSTALL_DESTINATION "${ztensor_package_dir}")
# Before 1.0 a new minor version may break its users.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(ztensor_compatibility SameMinorVersion)
else()
    set(ztensor_compatibility SameMajorVersion)
endif()
if(ztensor_builds_compiled)
    set(ztensor_architecture "") # the library is of one
else()
    set(ztensor_architecture ARCH_INDEPENDENT)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ztensorConfigVersion.cmake"
                                 COMPATIBILITY ${ztensor_compatibility} ${ztensor_architecture})
install(FILES "${PROJECT_BINARY_DIR}/ztensorConfig.cmake" "${PROJECT_BINARY_DIR}/ztensorConfigVersion.cmake"
              cmake/ZtensorFindZstd.cmake cmake/ZtensorFindXxhash.cmake cmake/ZtensorFindHdf5.cmake
              cmake/ZtensorFindCurl.cmake cmake/ZtensorFindMpi.cmake
        DESTINATION "${ztensor_package_dir}")

# Relative to the .pc file itself, so that the installed tree may be moved.
file(RELATIVE_PATH ztensor_pc_includedir "${ztensor_full_packages_dir}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
set(ztensor_pc_names ztensor)
set(ztensor_pc_json "")
if(ztensor_has_json)
    set(ztensor_pc_json ", nlohmann_json")
endif()
set(ztensor_pc_zlib "")
set(ztensor_pc_cflags "")
if(ZTENSOR_HAS_ZLIB)
    set(ztensor_pc_zlib ", zlib")
else()
    string(APPEND ztensor_pc_cflags " -DZTENSOR_WITHOUT_ZLIB")
endif()
if(NOT ztensor_has_json)
    string(APPEND ztensor_pc_cflags " -DZTENSOR_WITHOUT_JSON")
endif()
if(ztensor_builds_compiled)
    list(APPEND ztensor_pc_names ztensor-compiled)
    get_target_property(ztensor_compiled_type ztensor_compiled TYPE)
    if(ztensor_compiled_type STREQUAL "STATIC_LIBRARY")
        set(ztensor_pc_compiled_requires "libzstd${ztensor_pc_json}${ztensor_pc_zlib}")
        set(ztensor_pc_compiled_libs "-lztensor ${CMAKE_THREAD_LIBS_INIT}")
    else() # it names what it needs itself
        string(REGEX REPLACE "^, " "" ztensor_pc_compiled_requires "${ztensor_pc_json}")
        set(ztensor_pc_compiled_libs "-lztensor")
    endif()
endif()
foreach(name IN LISTS ztensor_pc_names)
    configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${ztensor_packages_dir}/pkgconfig")
endforeach()
