// SPDX-License-Identifier: MIT
//
// Going on with a file: adding to it, changing it, and what can be saved of a damaged one.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/write/edit_definitions.hpp>
