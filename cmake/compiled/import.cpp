// SPDX-License-Identifier: MIT
//
// Files of other formats.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/import.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/import/import_definitions.hpp>
