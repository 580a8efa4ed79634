# SPDX-License-Identifier: MIT
#
# ztensor::compiled: the library's definitions, compiled once. Static or shared, as BUILD_SHARED_LIBS says. Unless
# ZTENSOR_BUILD_COMPILED says so it is built only where something links to it, and not installed.
# Several sources, of which none needs 500 MB of a compiler's memory, and which are compiled side by side. In one,
# cmake/ztensor.cpp, they take half of the processor's time, twice the memory, and on two processors as long.
set(ztensor_sources base read views write copy edit import import_archives import_json)
list(TRANSFORM ztensor_sources REPLACE "(.+)" "cmake/compiled/\\1.cpp")
if(ztensor_builds_compiled)
    add_library(ztensor_compiled ${ztensor_sources})
else()
    add_library(ztensor_compiled EXCLUDE_FROM_ALL ${ztensor_sources})
endif()
add_library(ztensor::compiled ALIAS ztensor_compiled)
target_compile_features(ztensor_compiled PUBLIC cxx_std_17)
target_compile_definitions(ztensor_compiled PUBLIC ZTENSOR_COMPILED)
target_include_directories(ztensor_compiled ${ztensor_system_include}
                           PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(ztensor_compiled PRIVATE ${ztensor_zstd} ztensor::xxhash Threads::Threads ${CMAKE_DL_LIBS})
if(ztensor_has_json) # for building what reads the headers of other formats; json.hpp is header-only in both modes
    target_link_libraries(ztensor_compiled PUBLIC ztensor::json)
else()
    target_compile_definitions(ztensor_compiled PRIVATE ZTENSOR_WITHOUT_JSON)
endif()
if(ZTENSOR_HAS_ZLIB)
    target_link_libraries(ztensor_compiled PRIVATE ztensor::zlib)
else()
    target_compile_definitions(ztensor_compiled PRIVATE ZTENSOR_WITHOUT_ZLIB)
endif()

# More sections than an object file holds by default: 65,279 for Microsoft's compiler, 32,767 for MinGW's assembler.
if(MSVC)
    set(ztensor_many_sections /bigobj)
elseif(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(ztensor_many_sections -Wa,-mbig-obj)
else()
    set(ztensor_many_sections "")
endif()
target_compile_options(ztensor_compiled PRIVATE ${ztensor_many_sections})
if(NOT MSVC) # so that a program which links statically keeps what it calls
    target_compile_options(ztensor_compiled PRIVATE -ffunction-sections -fdata-sections)
    # Without a build type, as a part of another project: unless flags say otherwise, which come behind.
    if(NOT ztensor_is_top_level AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
        target_compile_options(ztensor_compiled PRIVATE -O2)
        message(STATUS "ztensor: no CMAKE_BUILD_TYPE was given, so ztensor::compiled is built with -O2")
    endif()
endif()

# Before 1.0 a new minor version may break its users.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(ztensor_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
    set(ztensor_soversion ${PROJECT_VERSION_MAJOR})
endif()
set_target_properties(ztensor_compiled PROPERTIES
    EXPORT_NAME compiled
    OUTPUT_NAME ztensor
    VERSION ${PROJECT_VERSION}
    SOVERSION ${ztensor_soversion}
    POSITION_INDEPENDENT_CODE ON # a static one may become part of a parent's shared library
    WINDOWS_EXPORT_ALL_SYMBOLS ON)
if(NOT WIN32) # whatever a parent does with its own; the sources say what is exported: see cmake/compiled/export.hpp
    set_target_properties(ztensor_compiled PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endif()
