// SPDX-License-Identifier: MIT
//
// What is told in JSON: safetensors, and the indices of sets of files.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/import.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/import/folder_definitions.hpp>
#include <ztensor/detail/import/safetensors_definitions.hpp>
