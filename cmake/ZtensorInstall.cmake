# SPDX-License-Identifier: MIT
#
# Headers, the CMake package and ztensor.pc.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ztensor_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ztensor")

install(DIRECTORY include/ztensor DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(TARGETS ztensor EXPORT ztensorTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ztensorTargets NAMESPACE ztensor:: DESTINATION "${ztensor_package_dir}")

configure_package_config_file(cmake/ztensorConfig.cmake.in "${PROJECT_BINARY_DIR}/ztensorConfig.cmake"
                              INSTALL_DESTINATION "${ztensor_package_dir}")
# Before 1.0 a new minor version may break its users.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(ztensor_compatibility SameMinorVersion)
else()
    set(ztensor_compatibility SameMajorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ztensorConfigVersion.cmake"
                                 COMPATIBILITY ${ztensor_compatibility} ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/ztensorConfig.cmake" "${PROJECT_BINARY_DIR}/ztensorConfigVersion.cmake"
              cmake/ZtensorFindZstd.cmake
        DESTINATION "${ztensor_package_dir}")

# Relative to the .pc file itself, so that the installed tree may be moved.
file(RELATIVE_PATH ztensor_pc_includedir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/ztensor.pc.in "${PROJECT_BINARY_DIR}/ztensor.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ztensor.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
