// SPDX-License-Identifier: MIT
//
// From file to file: copies, and files of other formats.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/sharded_writer.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/transfer/copy_definitions.hpp>
#include <ztensor/detail/transfer/export_definitions.hpp>
