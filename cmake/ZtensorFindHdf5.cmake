# SPDX-License-Identifier: MIT
#
# Defines the imported target ztensor::hdf5, which is libhdf5 for who includes <ztensor/hdf5.hpp>: the package's own target
# where there is one (vcpkg, conan, HDF5's installation), else header and library where Debian and others put them. CMake's
# FindHDF5 is not asked: it wants a compiler of C. Used in-tree and by the installed package.
if(TARGET ztensor::hdf5)
    return()
endif()

set(ztensor_hdf5_targets hdf5::hdf5-shared hdf5::hdf5-static hdf5-shared hdf5-static HDF5::C HDF5::HDF5 hdf5::hdf5)
find_package(hdf5 CONFIG QUIET)
if(NOT hdf5_FOUND)
    find_package(HDF5 CONFIG QUIET)
endif()
foreach(name IN LISTS ztensor_hdf5_targets)
    if(TARGET ${name})
        add_library(ztensor::hdf5 INTERFACE IMPORTED)
        set_target_properties(ztensor::hdf5 PROPERTIES INTERFACE_LINK_LIBRARIES ${name})
        return()
    endif()
endforeach()

find_package(PkgConfig QUIET)
set(ztensor_hdf5_places "")
if(PkgConfig_FOUND)
    pkg_check_modules(ztensor_hdf5_pc QUIET hdf5)
    set(ztensor_hdf5_places ${ztensor_hdf5_pc_INCLUDE_DIRS} ${ztensor_hdf5_pc_LIBRARY_DIRS})
    if("${ztensor_hdf5_places}" MATCHES "openmpi|mpich") # Debian's where one for MPI is installed, too: it needs mpi.h
        set(ztensor_hdf5_places "")
    endif()
endif()
find_path(ZTENSOR_HDF5_INCLUDE_DIR NAMES hdf5.h HINTS ${ztensor_hdf5_places} PATH_SUFFIXES hdf5/serial)
find_library(ZTENSOR_HDF5_LIBRARY NAMES hdf5 HINTS ${ztensor_hdf5_places} PATH_SUFFIXES hdf5/serial)
mark_as_advanced(ZTENSOR_HDF5_INCLUDE_DIR ZTENSOR_HDF5_LIBRARY)
if(ZTENSOR_HDF5_INCLUDE_DIR AND ZTENSOR_HDF5_LIBRARY)
    add_library(ztensor::hdf5 INTERFACE IMPORTED)
    set_target_properties(ztensor::hdf5 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ZTENSOR_HDF5_INCLUDE_DIR}"
                                                   INTERFACE_LINK_LIBRARIES "${ZTENSOR_HDF5_LIBRARY}")
else()
    message(STATUS "libhdf5 was not found (Debian and Ubuntu: libhdf5-dev, vcpkg: hdf5, conan: hdf5): "
                   "<ztensor/hdf5.hpp> can't be used, and zt refuses HDF5 files")
endif()
