# SPDX-License-Identifier: MIT
#
# The API reference: cmake --build build --target docs. Nothing else needs it.
find_program(ZTENSOR_DOXYGEN NAMES doxygen)
find_program(ZTENSOR_DOCS_PYTHON NAMES python3 python)
mark_as_advanced(ZTENSOR_DOXYGEN ZTENSOR_DOCS_PYTHON)

if(ZTENSOR_DOXYGEN AND ZTENSOR_DOCS_PYTHON)
    set(ztensor_docs_dir "${PROJECT_BINARY_DIR}/docs")
    set(ztensor_python "${ZTENSOR_DOCS_PYTHON}")
    configure_file(cmake/docs/Doxyfile.in "${ztensor_docs_dir}/Doxyfile" @ONLY)
    add_custom_target(docs
        COMMAND "${ZTENSOR_DOXYGEN}" "${ztensor_docs_dir}/Doxyfile"
        COMMAND "${CMAKE_COMMAND}" -E echo "Open ${ztensor_docs_dir}/html/index.html"
        VERBATIM)
else()
    add_custom_target(docs
        COMMAND "${CMAKE_COMMAND}" -E echo "The reference takes doxygen and python3 (Debian and Ubuntu: doxygen, python3)."
        COMMAND "${CMAKE_COMMAND}" -E false)
endif()
