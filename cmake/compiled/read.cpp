// SPDX-License-Identifier: MIT
//
// Opening a file, and checking it as a whole.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/attributes.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/reader.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/read/lint_definitions.hpp>
#include <ztensor/detail/read/reader_definitions.hpp>
