# SPDX-License-Identifier: MIT
#
# ztensor::warnings: for the project's own tests and examples. Nothing that is exported links to it.
add_library(ztensor_warnings INTERFACE)
add_library(ztensor::warnings ALIAS ztensor_warnings)
if(MSVC)
    target_compile_options(ztensor_warnings INTERFACE /W4 /permissive- $<$<BOOL:${ZTENSOR_WARNINGS_AS_ERRORS}>:/WX>)
else()
    target_compile_options(ztensor_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                                     $<$<BOOL:${ZTENSOR_WARNINGS_AS_ERRORS}>:-Werror>)
endif()
