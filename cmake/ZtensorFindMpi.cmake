# SPDX-License-Identifier: MIT
#
# Defines the imported target ztensor::mpi, which is an MPI library for users of <ztensor/mpi.hpp>: the one that CMake's
# FindMPI finds, through its C interface alone. Used in-tree and by the installed package.
if(TARGET ztensor::mpi)
    return()
endif()

if(NOT TARGET MPI::MPI_CXX)
    set(MPI_CXX_SKIP_MPICXX TRUE) # the C++ bindings, which left the standard with MPI-3
    find_package(MPI 3.0 QUIET COMPONENTS CXX)
endif()
if(TARGET MPI::MPI_CXX)
    add_library(ztensor::mpi INTERFACE IMPORTED)
    set_target_properties(ztensor::mpi PROPERTIES INTERFACE_LINK_LIBRARIES MPI::MPI_CXX)
else()
    message(STATUS "MPI 3.0 was not found (Debian and Ubuntu: libopenmpi-dev or libmpich-dev, vcpkg: mpi, conan: openmpi): "
                   "<ztensor/mpi.hpp> can't be used")
endif()
