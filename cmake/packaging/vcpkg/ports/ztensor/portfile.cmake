# An overlay port: vcpkg install ztensor --overlay-ports=cmake/packaging/vcpkg/ports
# It packages the checkout it stands in; a port in a registry replaces the next line by vcpkg_from_github().
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
    FEATURES
        compiled ZTENSOR_BUILD_COMPILED
        hdf5 ZTENSOR_HDF5
        http ZTENSOR_HTTP
        json ZTENSOR_JSON
        mpi ZTENSOR_MPI
        zlib ZTENSOR_ZLIB
)
if("compiled" IN_LIST FEATURES)
    set(config_path lib/cmake/ztensor)
else()
    set(VCPKG_BUILD_TYPE release) # header-only
    set(config_path share/cmake/ztensor)
endif()

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${feature_options}
        -DZTENSOR_BUILD_TESTS=OFF
        -DZTENSOR_BUILD_EXAMPLES=OFF
        -DZTENSOR_FETCH_DEPENDENCIES=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH ${config_path})
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
