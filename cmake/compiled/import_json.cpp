// SPDX-License-Identifier: MIT
//
// What is told in JSON: safetensors, and the indices of sets of files.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/import.hpp>
#include <ztensor/reader_set.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/import/reader_set_definitions.hpp>
#include <ztensor/detail/import/safetensors_definitions.hpp>
